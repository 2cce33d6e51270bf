// copy_: from the CPU, to the CPU, and within the device.
#include "operands.h"

namespace opencl {
namespace {

using namespace shunt;

/// The elements as plain bits, so that one kernel serves every dtype of a size.
const char* bitsOf(int64_t itemsize) {
  return itemsize == 1 ? "uchar" : itemsize == 2 ? "ushort" : itemsize == 4 ? "uint" : "ulong";
}

void copyWithin(const Tensor& to, const Tensor& from) {
  const std::string source = kLayoutSource + "typedef " + bitsOf(to.itemsize()) + " T;" + R"(
__kernel void copy(Layout l, __global T* to, __global const T* from) {
  long i = get_global_id(0);
  to[at(&l, 0, i)] = from[at(&l, 1, i)];
})";
  Runtime::get().run(to.device(), source, "copy", {static_cast<size_t>(to.numel())}, layoutOf({to, from}), bufferOf(to),
                     bufferOf(from));
}

size_t byteOffset(const Tensor& t) { return static_cast<size_t>(t.storage_offset() * t.itemsize()); }

// Both contiguous, of one dtype and size.
void read(const Tensor& to, const Tensor& from) {
  check(clEnqueueReadBuffer(Runtime::get().queue(from.device()), bufferOf(from), CL_TRUE, byteOffset(from),
                            from.nbytes(), to.data_ptr(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
}
void write(const Tensor& to, const Tensor& from) {
  check(clEnqueueWriteBuffer(Runtime::get().queue(to.device()), bufferOf(to), CL_TRUE, byteOffset(to), to.nbytes(),
                             from.data_ptr(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
}

void copyBetween(const Tensor& to, const Tensor& from) {
  if (onDevice(to) && onDevice(from)) {
    if (to.dtype() == from.dtype() && to.device() == from.device()) return copyWithin(to, from);
    return copyBetween(to, from.cpu());  // casts, and other devices, by way of the host
  }
  if (onDevice(from)) {
    const Tensor dense = from.contiguous();
    const Tensor host = empty(from.sizes(), TensorOptions(from.dtype()));
    read(host, dense);
    Tensor(to).copy_(host);
    return;
  }
  const Tensor host = from.to(to.dtype()).expand(to.sizes()).contiguous();
  if (to.is_contiguous()) return write(to, host);
  const Tensor dense = empty(to.sizes(), TensorOptions(to.dtype()).device(to.device()));
  write(dense, host);
  copyWithin(to, dense);
}

/// Of a dense tensor's bytes in its storage: the first one, and the one after the last.
std::pair<size_t, size_t> rangeOf(const Tensor& dense) {
  return {byteOffset(dense), byteOffset(dense) + dense.nbytes()};
}

// As on the CPU: what has holes in it is not looked at.
bool overlapInPart(const Tensor& to, const Tensor& from) {
  if (!to.is_alias_of(from) || !to.is_non_overlapping_and_dense() || !from.is_non_overlapping_and_dense()) return false;
  const auto a = rangeOf(to), b = rangeOf(from);
  return a == b ? to.strides() != from.strides() : a.first < b.second && b.first < a.second;
}

bool overlapsItself(const Tensor& t) {
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) > 1 && t.stride(d) == 0) return true;
  return false;
}

// copy_ has no fallback to find these: a kernel that several work items write one element with leaves any of their
// values there.
void checkOverlap(const Tensor& to, const Tensor& from) {
  SHUNT_CHECK(!overlapsItself(to),
              "copy_(): unsupported operation: more than one element of the written-to tensor refers to a single "
              "memory location. "
              "Please clone() the tensor before performing the operation.");
  SHUNT_CHECK(
      !overlapInPart(to, from),
      "copy_(): unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
      "memory location. Please clone() the tensor before performing the operation.");
}

Tensor& copy_(Tensor& self, const Tensor& src, bool) {
  SHUNT_CHECK(self.dim() <= kMaxDims, "copy_: the opencl backend copies tensors of up to ", kMaxDims,
              " dimensions, got ", self.dim());
  const Tensor expanded = src.expand(self.sizes());
  if (self.numel() == 0 || self.is_same(src)) return self;
  checkOverlap(self, expanded);
  copyBetween(self, expanded);
  return self;
}

}  // namespace

SHUNT_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("copy_", &copy_); }

}  // namespace opencl
