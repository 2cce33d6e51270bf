// How a fake tensor is made: the part of Note [Fake tensors] (shunt/transforms/fake_tensor.h) that the converter and
// the fallback share. Pure functions; any thread.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt::fake {

/// The device as tensors have it: there is one cpu and one meta, and others have an index, but for privateuseone
/// without a device guard. Throws for a device type whose tensors no backend key stands for.
Device normalized(Device device);

/// A storage of `nbytes` bytes on `device` that holds nothing.
Storage makeStorage(size_t nbytes, Device device);
/// Sets its size, as a resize of a real one would.
void resizeStorage(StorageImpl& storage, size_t nbytes);

/// A fake tensor on `storage`, with dtype, geometry, wrapped-number flag and inference-ness of `like`.
Tensor makeTensor(Storage storage, const TensorImpl& like);

/// What is not asked where fake tensors stand for others and nothing of the program is computed.
inline constexpr DispatchKeySet kModesAndWrappers{DispatchKey::Python, DispatchKey::Functionalize, DispatchKey::Batched,
                                                  DispatchKey::Tracer, DispatchKey::PythonKernel};

/// Whether the version counter, which only normal tensors have, is there: those have the key ADInplaceOrView.
inline DispatchKeySet withViewKey(DispatchKeySet keys, bool on) {
  return on ? keys.add(DispatchKey::ADInplaceOrView) : keys.remove(DispatchKey::ADInplaceOrView);
}

}  // namespace shunt::fake
