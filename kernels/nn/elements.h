// Operands in the type that a kernel computes in: float for the 16-bit types, else the elements' own. Any thread.
#pragma once

#include "kernels/nn/dense.h"
#include "kernels/rows/loop_table.h"

#include <memory>

namespace shunt::nn {

/// A tensor's elements, dense and row-major: its own memory, or a copy.
template <class A>
class Elements {
 public:
  /// Of an undefined tensor null.
  explicit Elements(const Tensor& t) {
    if (!t.defined()) return;
    dense_ = dense(t);
    const TensorImpl& impl = *dense_.unsafeGetTensorImpl();
    data_ = reinterpret_cast<const A*>(impl.data());
    if (impl.dtype() != kHalf && impl.dtype() != kBFloat16) return;
    if constexpr (std::is_same_v<A, float>) {
      wide_ = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(impl.numel()));
      reduce::convertLoops<float>().load[static_cast<size_t>(impl.dtype())](wide_.get(), impl.data(), 1, impl.numel());
      data_ = wide_.get();
    }
  }
  const A* data() const { return data_; }

 private:
  Tensor dense_;
  std::unique_ptr<A[]> wide_;
  const A* data_ = nullptr;
};

/// Room for a dense tensor's elements, stored when all are written.
template <class A>
class Written {
 public:
  explicit Written(const Tensor& t) : impl_(t.unsafeGetTensorImpl()), data_(reinterpret_cast<A*>(impl_->data())) {
    if (impl_->dtype() != kHalf && impl_->dtype() != kBFloat16) return;
    wide_ = std::make_unique_for_overwrite<A[]>(static_cast<size_t>(impl_->numel()));
    data_ = wide_.get();
  }
  A* data() { return data_; }
  void store() {
    if constexpr (std::is_same_v<A, float>)
      if (wide_ != nullptr)
        reduce::convertLoops<float>().store[static_cast<size_t>(impl_->dtype())](impl_->data(), wide_.get(), 1,
                                                                                 impl_->numel());
  }

 private:
  const TensorImpl* impl_;
  std::unique_ptr<A[]> wide_;
  A* data_;
};

/// The result in the memory format that `like` suggests, as PyTorch's layers of images have it.
inline Tensor inFormatOf(const Tensor& like, Tensor result) {
  if (like.suggest_memory_format() != MemoryFormat::ChannelsLast || result.dim() != 4) [[likely]]
    return result;
  return ops::contiguous::call(result, MemoryFormat::ChannelsLast);
}

}  // namespace shunt::nn
