// Making dense tensors: the block allocation of CPU tensors, and the general way for other devices.
#include "src/tensor/free_lists.h"
#include "src/tensor/tensor_block.h"

#include <shunt/core/tls.h>
#include <shunt/tensor/device_guard.h>

#include <array>

namespace shunt {
namespace {

// One entry per backend: the keys of a normal tensor.
constexpr std::array<DispatchKeySet, kNumBackends> makeBackendKeys() {
  std::array<DispatchKeySet, kNumBackends> out{};
  for (int b = 0; b < kNumBackends; ++b) out[static_cast<size_t>(b)] = ordinaryKeys(static_cast<BackendComponent>(b));
  return out;
}
constexpr auto kBackendKeys = makeBackendKeys();

}  // namespace

SHUNT_ALWAYS_INLINE static DispatchKeySet keySetForBackend(BackendComponent backend) {
  const DispatchKeySet ks = kBackendKeys[static_cast<size_t>(backend)];
  return InferenceMode::is_enabled() ? ks.remove(DispatchKey::ADInplaceOrView) : ks;
}

DispatchKeySet keySetFor(Device device) { return keySetForBackend(backendOf(device.type())); }

namespace detail {
namespace {

SHUNT_ALWAYS_INLINE void setGeometry(TensorImpl& t, IntArrayRef sizes, IntArrayRef strides) {
  if (strides.empty())
    TensorBlock::setSizesContiguous(t, sizes);
  else
    t.set_sizes_and_strides(sizes, strides, 0);
}

SHUNT_ALWAYS_INLINE int64_t bytesFor(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype) {
  const int64_t itemsize = elementSize(dtype);
  if (itemsize == 0) [[unlikely]]
    throw NotImplementedError(
        str("cannot make a tensor of dtype ", dtype,
            isComplexType(dtype) ? ": complex numbers are not supported by Shunt" : ": there are no kernels for it"));
  if (sizes.size() == 1 && strides.empty() && sizes[0] >= 0 && sizes[0] < (int64_t{1} << 48)) [[likely]]
    return sizes[0] * itemsize;
  return storageBytes("empty", sizes, strides, itemsize);
}

SHUNT_ALWAYS_INLINE TensorImpl* makeIn(void* memory, size_t bytes, size_t nbytes, IntArrayRef sizes,
                                       IntArrayRef strides, ScalarType dtype) {
  auto* block = new (memory) TensorBlock(bytes);
  DataPtr data;
  data.data = nbytes == 0 ? nullptr : block->inlineData();
  new (&block->storage) StorageImpl(data, nbytes, Device(kCPU), cpu_allocator, true);
  TensorBlock::markInBlock(block->storage);
  auto storage = Storage::reclaim(&block->storage);
  new (&block->tensor)
      TensorImpl(TensorImpl::InBlock{}, std::move(storage), keySetForBackend(BackendComponent::CPU), dtype);
  setGeometry(block->tensor, sizes, strides);
  return &block->tensor;
}

// What a call of the one below does for some tensors, with its frame.
SHUNT_NOINLINE TensorImpl* newLikeAny(const TensorImpl& like, ScalarType dtype) {
  constexpr int64_t kMany = int64_t{1} << 48;  // their bytes are checked
  if (like.dim() > static_cast<int64_t>(SizesAndStrides::kInline) || like.numel() >= kMany)
    return makeCpuTensor(like.sizes(), {}, dtype).release();
  const auto nbytes = static_cast<size_t>(like.numel() * elementSize(dtype));
  const size_t bytes = TensorBlock::dataOffset() + nbytes;
  return makeIn(allocateOfAnySize(bytes), bytes, nbytes, like.sizes(), {}, dtype);
}

}  // namespace

void* allocateBlock(size_t nbytes) {
  if (isFine(nbytes)) [[likely]]
    if (void* block = takeFine(nbytes)) [[likely]]
      return block;
  return allocateOfAnySize(nbytes);
}

// Whatever may throw stands before the block is there, so that nothing has to be undone.
intrusive_ptr<TensorImpl> makeCpuTensor(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype) {
  const auto nbytes = static_cast<size_t>(bytesFor(sizes, strides, dtype));
  const size_t bytes = TensorBlock::dataOffset() + nbytes;
  void* memory = bytes <= kFineLimit ? allocateInline(bytes) : allocateOfAnySize(bytes);
  return intrusive_ptr<TensorImpl>::reclaim(makeIn(memory, bytes, nbytes, sizes, strides, dtype));
}

TensorImpl* newCpuTensorLike(const TensorImpl& like, ScalarType dtype) {
  const IntArrayRef sizes = like.sizes();
  if (sizes.size() > SizesAndStrides::kInline || like.numel() > static_cast<int64_t>(kFineLimit)) [[unlikely]]
    return newLikeAny(like, dtype);
  const auto nbytes = static_cast<size_t>(like.numel() * elementSize(dtype));
  const size_t bytes = TensorBlock::dataOffset() + nbytes;
  void* memory = bytes <= kFineLimit ? takeFine(bytes) : nullptr;
  if (memory == nullptr) [[unlikely]]
    return newLikeAny(like, dtype);
  if (sizes.size() > SizesAndStrides::kInline) __builtin_unreachable();  // known, but not behind the stores
  return makeIn(memory, bytes, nbytes, sizes, {}, dtype);
}

intrusive_ptr<TensorImpl> makeTensor(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype, Device device) {
  if (device.is_cpu()) return makeCpuTensor(sizes, strides, dtype);
  device = ensure_has_index(device);
  const auto nbytes = static_cast<size_t>(bytesFor(sizes, strides, dtype));
  Allocator* allocator = device.is_meta() ? nullptr : &allocatorOf(device.type());
  DataPtr data = allocator != nullptr ? allocator->allocate(nbytes, device) : DataPtr{};
  auto storage = make_intrusive<StorageImpl>(data, nbytes, device, allocator, true);
  auto impl = make_intrusive<TensorImpl>(std::move(storage), keySetFor(device), dtype);
  setGeometry(*impl, sizes, strides);
  return impl;
}

}  // namespace detail
}  // namespace shunt
