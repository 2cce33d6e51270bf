// Making dense tensors: the block allocation of CPU tensors, and the general way for other devices. With bitcode, so
// that thunks allocate inline.
#include "src/tensor/free_lists.h"
#include "src/tensor/tensor_block.h"

#include <shunt/core/annotate.h>
#include <shunt/core/tls.h>
#include <shunt/tensor/device_guard.h>

#include <array>

namespace shunt {
namespace {

// One entry per backend: the keys of a normal tensor.
constexpr std::array<DispatchKeySet, kNumBackends> makeBackendKeys() {
  std::array<DispatchKeySet, kNumBackends> out{};
  for (int b = 0; b < kNumBackends; ++b) {
    const auto backend = static_cast<BackendComponent>(b);
    DispatchKeySet ks = DispatchKeySet(toRuntimeKey(Functionality::Dense, backend)).add(DispatchKey::ADInplaceOrView);
    const DispatchKey autocast = autocastKeyOf(backend);
    if (autocast != DispatchKey::Undefined) ks = ks.add(autocast);
    out[static_cast<size_t>(b)] = ks;
  }
  return out;
}
constexpr auto kBackendKeys = makeBackendKeys();

}  // namespace

SHUNT_ALWAYS_INLINE static DispatchKeySet keySetForBackend(BackendComponent backend) {
  const DispatchKeySet ks = kBackendKeys[static_cast<size_t>(backend)];
  return InferenceMode::is_enabled() ? ks.remove(DispatchKey::ADInplaceOrView) : ks;
}

SHUNT_ANNOTATE("allocation") DispatchKeySet keySetFor(Device device) {
  return keySetForBackend(backendOf(device.type()));
}

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

// Whatever may throw stands before the block is there, so that nothing has to be undone.
SHUNT_ALWAYS_INLINE intrusive_ptr<TensorImpl> makeInBlock(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype) {
  const DispatchKeySet keys = keySetForBackend(BackendComponent::CPU);
  const auto nbytes = static_cast<size_t>(bytesFor(sizes, strides, dtype));
  const size_t bytes = TensorBlock::dataOffset() + nbytes;
  auto* block = new (bytes <= kFineLimit ? allocateInline(bytes) : allocateOfAnySize(bytes)) TensorBlock(bytes);
  DataPtr data;
  data.data = nbytes == 0 ? nullptr : block->inlineData();
  new (&block->storage) StorageImpl(data, nbytes, Device(kCPU), cpu_allocator, true);
  TensorBlock::markInBlock(block->storage);
  auto storage = Storage::reclaim(&block->storage);
  new (&block->tensor) TensorImpl(TensorImpl::InBlock{}, std::move(storage), keys, dtype);
  setGeometry(block->tensor, sizes, strides);
  return intrusive_ptr<TensorImpl>::reclaim(&block->tensor);
}

}  // namespace

SHUNT_ANNOTATE("allocation") void* allocateBlock(size_t nbytes) { return allocateInline(nbytes); }

// A function of its own, so that thunks, into which makeCpuTensor is inlined, have nothing of it.
SHUNT_NOINLINE intrusive_ptr<TensorImpl> makeCpuTensorOfAnyShape(IntArrayRef sizes, IntArrayRef strides,
                                                                 ScalarType dtype);
intrusive_ptr<TensorImpl> makeCpuTensorOfAnyShape(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype) {
  return makeInBlock(sizes, strides, dtype);
}

SHUNT_ANNOTATE("allocation")
intrusive_ptr<TensorImpl> makeCpuTensor(IntArrayRef sizes, IntArrayRef strides, ScalarType dtype) {
  if (sizes.size() > SizesAndStrides::kInline || !strides.empty()) [[unlikely]]
    return makeCpuTensorOfAnyShape(sizes, strides, dtype);
  return makeInBlock(sizes, {}, dtype);
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
