// SideBySide: whether the tensors of a pointwise operator's call can make place for their values as they are: batches
// in front, shapes of one sample of as many dimensions, one dtype. Tensors without batch have no more dimensions.
#pragma once

#include "src/transforms/vmap/levels.h"

namespace shunt::levels {

class SideBySide {
 public:
  explicit SideBySide(const Level& level) : level_(level) {}

  /// False: not with this argument.
  SHUNT_ALWAYS_INLINE bool takes(const Tensor& t) {
    if (!t.defined()) return true;
    const TensorImpl& shown = *t.unsafeGetTensorImpl();
    if (first_ == nullptr) first_ = &shown;
    if (shown.dtype() != first_->dtype()) return false;
    if (!belongsTo(t, level_)) return shown.dim() <= first_->dim();
    any_batched_ = true;
    return storageOf(t).batch_dim == 0 && shown.dim() == first_->dim();
  }
  SHUNT_ALWAYS_INLINE bool takes(const std::optional<Tensor>& t) { return !t || takes(*t); }
  template <class T>
  SHUNT_ALWAYS_INLINE static bool takes(const T&) {
    return true;
  }
  /// Whether one of them belongs to the level.
  bool anyBatched() const { return any_batched_; }

 private:
  const Level& level_;
  const TensorImpl* first_ = nullptr;
  bool any_batched_ = false;
};

}  // namespace shunt::levels
