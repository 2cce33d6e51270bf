// InputMetadata: shape, dtype and device of the tensor that a node's input is the gradient of. The engine makes every
// gradient fit it. A value, written once when the node is made; shapes up to four dimensions take no allocation.
#pragma once

#include <shunt/tensor/tensor.h>

#include <algorithm>
#include <memory>

namespace shunt::autograd {

class InputMetadata {
 public:
  /// Of an undefined output: any gradient is accepted.
  InputMetadata() = default;
  explicit InputMetadata(const Tensor& t) { describe(t); }
  /// Of `t` from now on.
  void describe(const Tensor& t) {
    const TensorImpl& impl = *t.unsafeGetTensorImpl();
    const IntArrayRef sizes = impl.sizes();
    dtype_ = impl.dtype();
    device_ = impl.device();
    undefined_ = false;
    dim_ = static_cast<uint32_t>(sizes.size());
    if (dim_ > kInline) [[unlikely]]
      heap_ = std::make_unique<int64_t[]>(dim_);
    std::copy_n(sizes.data(), dim_, data());
  }

  bool is_undefined() const { return undefined_; }
  IntArrayRef sizes() const { return {dim_ > kInline ? heap_.get() : inline_, dim_}; }
  ScalarType dtype() const { return dtype_; }
  Device device() const { return device_; }
  TensorOptions options() const { return TensorOptions(dtype_).device(device_); }
  /// A gradient of this shape that is all zeros.
  SHUNT_API Tensor zeros() const;

 private:
  static constexpr uint32_t kInline = 4;
  int64_t* data() { return dim_ > kInline ? heap_.get() : inline_; }

  ScalarType dtype_ = kFloat;
  Device device_{kCPU};
  bool undefined_ = true;
  uint32_t dim_ = 0;
  int64_t inline_[kInline];
  std::unique_ptr<int64_t[]> heap_;
};

}  // namespace shunt::autograd
