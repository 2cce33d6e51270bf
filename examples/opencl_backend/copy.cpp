// copy_: from the CPU, to the CPU, and within the device.
#include "operands.h"

namespace opencl {
namespace {

using namespace shunt;

/// The elements as plain bits, so that one kernel serves every dtype of a size.
const char* bitsOf(int64_t itemsize) { return itemsize == 1 ? "uchar" : itemsize == 2 ? "ushort" : itemsize == 4 ? "uint" : "ulong"; }

void copyWithin(const Tensor& to, const Tensor& from) {
  const std::string source = kLayoutSource + "typedef " + bitsOf(to.itemsize()) + " T;" + R"(
__kernel void copy(Layout l, __global T* to, __global const T* from) {
  long i = get_global_id(0);
  to[at(&l, 0, i)] = from[at(&l, 1, i)];
})";
  Runtime::get().run(to.device(), source, "copy", {static_cast<size_t>(to.numel())}, layoutOf({to, from}), bufferOf(to), bufferOf(from));
}

size_t byteOffset(const Tensor& t) { return static_cast<size_t>(t.storage_offset() * t.itemsize()); }

// Both contiguous, of one dtype and size.
void read(const Tensor& to, const Tensor& from) {
  check(clEnqueueReadBuffer(Runtime::get().queue(from.device()), bufferOf(from), CL_TRUE, byteOffset(from), from.nbytes(), to.data_ptr(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
}
void write(const Tensor& to, const Tensor& from) {
  check(clEnqueueWriteBuffer(Runtime::get().queue(to.device()), bufferOf(to), CL_TRUE, byteOffset(to), to.nbytes(), from.data_ptr(), 0, nullptr, nullptr),
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

Tensor& copy_(Tensor& self, const Tensor& src, bool) {
  SHUNT_CHECK(self.dim() <= kMaxDims, "copy_: the opencl backend copies tensors of up to ", kMaxDims, " dimensions, got ", self.dim());
  const Tensor expanded = src.expand(self.sizes());
  if (self.numel() != 0 && !self.is_same(src)) copyBetween(self, expanded);
  return self;
}

}  // namespace

SHUNT_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("copy_", &copy_); }

}  // namespace opencl
