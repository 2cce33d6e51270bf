#include <shunt/tensor/tensor.h>

#include "src/tensor/active_trace.h"
#include "src/tensor/printing.h"

#include <shunt/core/tls.h>
#include <shunt/tensor/device_guard.h>
#include <shunt/tensor/wrapper_kind.h>

namespace shunt {

void Tensor::throwUndefined() {
  throw Error("the tensor is undefined: it was default-constructed or moved from, and has no sizes, dtype or data");
}

int64_t Tensor::size(int64_t d) const {
  const int64_t n = dim();
  SHUNT_CHECK_INDEX(n != 0, "Dimension specified as ", d, " but tensor has no dimensions");
  SHUNT_CHECK_INDEX(d >= -n && d < n, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
                    "], but got ", d, ")");
  return sizes()[static_cast<size_t>(d < 0 ? d + n : d)];
}

int64_t Tensor::stride(int64_t d) const {
  const int64_t n = dim();
  SHUNT_CHECK_INDEX(n != 0, "Dimension specified as ", d, " but tensor has no dimensions");
  SHUNT_CHECK_INDEX(d >= -n && d < n, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
                    "], but got ", d, ")");
  return strides()[static_cast<size_t>(d < 0 ? d + n : d)];
}

namespace {

/// Channels lie closest together and the other dimensions in order, gaps allowed.
bool isChannelsLastLike(const TensorImpl& t) {
  const auto ndim = static_cast<size_t>(t.dim());
  const IntArrayRef sizes = t.sizes(), strides = t.strides();
  if (strides[1] == 0) return false;  // expanded channels have no order
  int64_t least = 0;
  const auto fits = [&](size_t d) {
    if (sizes[d] == 0 || strides[d] < least) return false;
    // N11 and 1C11 of either order of strides look the same: those are contiguous.
    if (d == 0 && least == strides[1]) return false;
    least = strides[d] * std::max<int64_t>(sizes[d], 1);
    return true;
  };
  if (!fits(1)) return false;
  for (size_t d = ndim - 1; d > 1; --d)
    if (!fits(d)) return false;
  return fits(0);
}

}  // namespace

MemoryFormat Tensor::suggest_memory_format() const {
  const TensorImpl& t = impl();
  if ((t.dim() != 4 && t.dim() != 5) || !isChannelsLastLike(t)) return MemoryFormat::Contiguous;
  return t.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

const char* whyNoData(const Tensor& t) {
  if (!t.defined()) return "an undefined tensor: it has no sizes, dtype or data";
  switch (wrapperKind(t.key_set())) {
    case WrapperKind::kSubclass:
      return "a wrapper tensor (a TensorSubclass): it has no data of its own; unwrap it and ask the inner tensor";
    case WrapperKind::kFunctional:
      return "a functional tensor: it has no data of its own; from_functional(t) gives the value";
    case WrapperKind::kBatched:
      return "a tensor inside vmap or grad: it has no data of its own; it stands for a sample, or for a value that is "
             "differentiated";
    case WrapperKind::kTraced:
      return "a traced tensor: it stands for a value of the graph that is being recorded";
    case WrapperKind::kFake:
    case WrapperKind::kNone:
      break;
  }
  if (t.key_set().has(Functionality::PythonKernel) && !t.key_set().has(Functionality::Dense))
    return "a tensor of a KernelClass: it has no data of its own; its class knows what it holds";
  if (t.is_meta()) return "a tensor on the meta device: it has a shape but no data";
  return wrapperKind(t.key_set()) == WrapperKind::kFake ? "a fake tensor: it has a shape but no data" : nullptr;
}

void* Tensor::data_ptr() const {
  const TensorImpl& t = impl();
  SHUNT_CHECK(t.has_storage(), "the tensor has no storage");
  if (const char* why = whyNoData(*this)) [[unlikely]] {
    if (wrapperKind(*this) == WrapperKind::kBatched)
      if (const Tensor* value = detail::constantBehind(*this)) return value->data_ptr();
    if (wrapperKind(*this) == WrapperKind::kTraced)
      if (ActiveTrace* trace = traceAround()) trace->readsElements(*this);  // throws, and says where
    throw Error(detail::str("cannot access data pointer of ", why));
  }
  if (ActiveTrace* trace = traceAround()) [[unlikely]]
    trace->readsElements(*this);
  return t.numel() == 0 && t.storage()->data() == nullptr ? nullptr : t.data();
}

void Tensor::checkDimensions(size_t wanted) const {
  SHUNT_CHECK(dim() == static_cast<int64_t>(wanted), "TensorAccessor expected ", wanted, " dims but tensor has ",
              dim());
}

void Tensor::checkDataType(ScalarType wanted) const {
  SHUNT_CHECK(dtype() == wanted, "expected scalar type ", wanted, " but found ", dtype(),
              ": data_ptr(), accessor() and packed_accessor() read elements of the tensor's dtype only; to() converts "
              "a tensor");
}

namespace {

Tensor blobTensor(DataPtr data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  const ScalarType dtype = options.dtype();
  SHUNT_CHECK(isSupportedType(dtype), "from_blob: dtype ", dtype, " is not supported",
              isComplexType(dtype) ? ": there are no complex numbers in Shunt" : "");
  SHUNT_CHECK(options.layout() == kStrided, "from_blob: only the strided layout is supported, got ", options.layout());
  const int64_t nbytes = detail::storageBytes("from_blob", sizes, strides, elementSize(dtype));
  const Device device = ensure_has_index(options.device());
  SHUNT_CHECK(!device.is_meta() || data.data == nullptr,
              "from_blob: a tensor on the meta device has no data, but a pointer to data was given. Name the device "
              "whose memory "
              "it is, or make the tensor with empty().");
  SHUNT_CHECK(nbytes == 0 || data.data != nullptr || device.is_meta(), "from_blob: the data pointer is null");
  if (ActiveTrace* trace = traceAround()) [[unlikely]]
    trace->borrowsMemory(sizes);
  auto storage = make_intrusive<StorageImpl>(data, static_cast<size_t>(nbytes), device, nullptr, false);
  auto impl = make_intrusive<TensorImpl>(std::move(storage), keySetFor(device), dtype);
  if (strides.empty())
    impl->set_sizes_contiguous(sizes);
  else
    impl->set_sizes_and_strides(sizes, strides, 0);
  Tensor out(std::move(impl));
  if (options.requires_grad()) out.set_requires_grad(true);
  return out;
}

struct BlobOwner {
  void* data;
  std::function<void(void*)> deleter;
};

}  // namespace

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  return from_blob(data, sizes, IntArrayRef(), options);
}

Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  return blobTensor({data, nullptr, nullptr}, sizes, strides, options);
}

Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options) {
  return from_blob(data, sizes, IntArrayRef(), std::move(deleter), options);
}

Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                 const TensorOptions& options) {
  auto owner = std::make_unique<BlobOwner>(BlobOwner{data, std::move(deleter)});
  // Checked before ownership passes: when this throws, the caller still owns the memory.
  blobTensor({data, nullptr, nullptr}, sizes, strides, TensorOptions(options).requires_grad(false));
  DataPtr owned{data, owner.release(), [](void* p) {
                  std::unique_ptr<BlobOwner> o(static_cast<BlobOwner*>(p));
                  if (o->deleter) o->deleter(o->data);
                }};
  return blobTensor(owned, sizes, strides, options);
}

Tensor scalar_to_tensor(const Scalar& value, Device device) {
  if (!device.is_cpu() && !device.is_meta()) return scalar_to_tensor(value).to(TensorOptions(device));
  Tensor out(detail::makeTensor({}, {}, value.type(), device));
  if (device.is_meta()) return out;
  void* p = out.unsafeGetTensorImpl()->data();
  if (value.isFloatingPoint())
    *static_cast<double*>(p) = value.toDouble();
  else if (value.isBoolean())
    *static_cast<bool*>(p) = value.toBool();
  else
    *static_cast<int64_t*>(p) = value.toLong();
  return out;
}

Tensor wrapped_scalar_tensor(const Scalar& value, Device device) {
  Tensor out = scalar_to_tensor(value, device);
  out.unsafeGetTensorImpl()->set_wrapped_number(true);
  return out;
}

}  // namespace shunt
