#include <shunt/tensor/dlpack.h>

#include <shunt/core/error.h>
#include <shunt/tensor/storage_pin.h>
#include <shunt/tensor/wrapper_kind.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace shunt {
namespace {

using dlpack::DLDataType;
using dlpack::DLManagedTensor;
using dlpack::DLTensor;

static_assert(sizeof(DLTensor) == 48 && sizeof(DLManagedTensor) == 64, "the layout of DLPack's ABI on 64-bit machines");

constexpr int32_t kMaxDims = 64;

/// DLPack's code for each dtype; bits follow from the element's size.
constexpr uint8_t codeOf(ScalarType t) {
  if (t == kBool) return dlpack::kDLBool;
  if (t == kBFloat16) return dlpack::kDLBfloat;
  if (t == kByte) return dlpack::kDLUInt;
  return isFloatingType(t) ? dlpack::kDLFloat : dlpack::kDLInt;
}

DLDataType dataTypeOf(ScalarType t) { return {codeOf(t), static_cast<uint8_t>(elementSize(t) * 8), 1}; }

ScalarType scalarTypeOf(DLDataType d) {
  SHUNT_CHECK(d.lanes == 1, "fromDLPack: vector types are not supported: the tensor has ", d.lanes,
              " lanes, expected 1");
#define SHUNT_DTYPE(type, name, number, text) \
  if (const DLDataType t = dataTypeOf(k##name); t.code == d.code && t.bits == d.bits) return k##name;
  SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
  SHUNT_CHECK(d.code != dlpack::kDLComplex, "fromDLPack: complex tensors are not supported");
  throw Error(detail::str("fromDLPack: unsupported dtype: code ", int{d.code}, " with ", int{d.bits}, " bits"));
}

/// What an exported tensor keeps alive.
struct Exported {
  DLManagedTensor managed{};
  Tensor tensor;
  StoragePin pin;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

void deleteExported(DLManagedTensor* managed) { delete static_cast<Exported*>(managed->manager_ctx); }

void checkFields(const DLManagedTensor* managed) {
  SHUNT_CHECK(managed != nullptr, "fromDLPack: the pointer is null");
  const DLTensor& t = managed->dl_tensor;
  SHUNT_CHECK(t.device.device_type == dlpack::kDLCPU, "fromDLPack: unsupported device type ", t.device.device_type,
              " (device ", t.device.device_id, "): only CPU memory (type ", int{dlpack::kDLCPU}, ") can be shared");
  SHUNT_CHECK(t.ndim >= 0 && t.ndim <= kMaxDims, "fromDLPack: the number of dimensions must be between 0 and ",
              kMaxDims, ", but got ", t.ndim);
  SHUNT_CHECK(t.ndim == 0 || t.shape != nullptr, "fromDLPack: a tensor of ", t.ndim, " dimensions has no shape");
}

void checkMemory(const DLTensor& t, IntArrayRef sizes, IntArrayRef strides, ScalarType dtype) {
  for (int64_t s : strides)
    SHUNT_CHECK(s >= 0, "fromDLPack: negative strides are not supported, got strides ", strides);
  const int64_t bytes = detail::storageBytes("fromDLPack", sizes, strides, elementSize(dtype));
  SHUNT_CHECK(bytes == 0 || t.data != nullptr, "fromDLPack: a tensor of size ", sizes, " has no data");
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  SHUNT_CHECK(t.byte_offset <= kMax - static_cast<uint64_t>(bytes) &&
                  reinterpret_cast<uintptr_t>(t.data) <=
                      std::numeric_limits<uintptr_t>::max() - t.byte_offset - static_cast<uint64_t>(bytes),
              "fromDLPack: byte_offset ", t.byte_offset, " with ", bytes, " bytes of data leaves the address space");
  const uintptr_t address = reinterpret_cast<uintptr_t>(t.data) + t.byte_offset;
  SHUNT_CHECK(bytes == 0 || address % static_cast<uintptr_t>(elementSize(dtype)) == 0,
              "fromDLPack: the data at byte_offset ", t.byte_offset, " is not aligned for dtype ", dtype);
}

}  // namespace

dlpack::DLManagedTensor* toDLPack(const Tensor& tensor) {
  SHUNT_CHECK(tensor.defined(), "toDLPack: the tensor is undefined");
  SHUNT_CHECK(tensor.is_cpu(), "toDLPack: only CPU tensors can be exported, but the tensor is on device ",
              tensor.device());
  if (const char* why = whyNoData(tensor)) throw Error(detail::str("toDLPack: cannot access data pointer of ", why));
  SHUNT_CHECK(!tensor.requires_grad(), "Can't export tensors that require gradient, use tensor.detach()");
  auto owner = std::make_unique<Exported>();
  owner->tensor = tensor;
  owner->pin = StoragePin(tensor.storage());
  owner->shape = tensor.sizes().vec();
  owner->strides = tensor.strides().vec();
  // Some consumers take any stride of a one-element dimension at its word.
  for (size_t d = 0; d < owner->shape.size(); ++d)
    if (owner->shape[d] < 2) owner->strides[d] = 1;
  DLManagedTensor& managed = owner->managed;
  managed.dl_tensor = {tensor.data_ptr(),
                       {dlpack::kDLCPU, 0},
                       static_cast<int32_t>(tensor.dim()),
                       dataTypeOf(tensor.dtype()),
                       owner->shape.data(),
                       owner->strides.data(),
                       0};
  managed.manager_ctx = owner.get();
  managed.deleter = deleteExported;
  return &owner.release()->managed;
}

Tensor fromDLPack(dlpack::DLManagedTensor* managed) {
  checkFields(managed);
  const DLTensor& t = managed->dl_tensor;
  const ScalarType dtype = scalarTypeOf(t.dtype);
  const IntArrayRef sizes(t.shape, static_cast<size_t>(t.ndim));
  for (int64_t s : sizes) SHUNT_CHECK(s >= 0, "fromDLPack: negative dimension ", s, " in shape ", sizes);
  const IntArrayRef strides =
      t.strides != nullptr ? IntArrayRef(t.strides, static_cast<size_t>(t.ndim)) : IntArrayRef();
  checkMemory(t, sizes, strides, dtype);
  void* data = t.data == nullptr ? nullptr : static_cast<std::byte*>(t.data) + t.byte_offset;
  const auto release = [managed](void*) {
    if (managed->deleter != nullptr) managed->deleter(managed);
  };
  return from_blob(data, sizes, strides, release, TensorOptions(dtype));
}

}  // namespace shunt
