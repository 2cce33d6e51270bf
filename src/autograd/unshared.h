// Whether a gradient may be changed, or kept, without a copy.
//
// Note [Gradients nobody else sees]
// The memory of a tensor can be reached only through something that holds a reference, and every holder is counted:
//   - handles of the tensor (a user's or a hook's, another slot of the engine's buffers, what a run captures, an input
//     that a node saved, a DLPack export) on the tensor;
//   - other tensors with the same memory (views, detached aliases, an output that a node saved) on the storage;
//   - a view's metadata holds the tensor it is a view of, which counts on that one and, through it, on the storage.
// So a tensor with one reference, the caller's, whose storage has no holder but this tensor is out of everyone's reach;
// and so is a view whose base has one reference, the view's, when the storage has no holder but these two. The latter
// is what formulas leave behind: the result of a product, transposed, or a sum over a broadcast dimension, reshaped.
// Both need one look: a reference can only be made from another one, so a count of one that is ours stays one, whatever
// other threads do. Memory that came from elsewhere (from_blob) has an owner who isn't counted, and no allocator.
#pragma once

#include <shunt/autograd/autograd_meta.h>

#include "src/tensor/active_trace.h"
#include "src/tensor/tensor_block.h"

namespace shunt::autograd {

/// A trace has weak references to all tensors, by which it knows them but never reaches them.
inline bool isAlone(const TensorImpl& t) {
  return IntrusiveAccess::alone(t) || (isTracing() && IntrusiveAccess::hasOneOwner(t));
}

/// Whether nothing of ours but `t`, a reference that the caller owns, leads to its memory.
inline bool hasOneHolder(const Tensor& t) {
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (!isAlone(impl) || !impl.has_storage()) return false;
  size_t holders = 1;
  if (const DifferentiableViewMeta* view = get_view_autograd_meta(t)) {
    const TensorImpl& base = *view->base_.unsafeGetTensorImpl();
    if (!isAlone(base)) return false;
    if (base.has_storage() && base.storage() == impl.storage()) ++holders;
  }
  return impl.storage().use_count() == holders;
}

/// The same of memory of ours.
inline bool isUnshared(const Tensor& t) {
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  return impl.has_storage() && impl.storage()->allocator() != nullptr && hasOneHolder(t);
}

/// Whether the engine may add another gradient to this one in place. Views are left alone even where nobody else sees
/// them: such a sum would have other strides than one by add().
inline bool canAddInPlace(const Tensor& t) {
  return isUnshared(t) && get_view_autograd_meta(t) == nullptr && t.is_non_overlapping_and_dense() &&
         !t.requires_grad();
}

}  // namespace shunt::autograd
