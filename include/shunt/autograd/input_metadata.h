// InputMetadata: shape, dtype and device of the tensor that a node's input is the gradient of. The engine makes every
// gradient fit it. A value, written once when the node is made; shapes up to four dimensions take no allocation.
#pragma once

#include <shunt/tensor/tensor.h>

#include <cstring>

namespace shunt::autograd {

class InputMetadata {
 public:
  /// Of an undefined output: any gradient is accepted.
  InputMetadata() noexcept {}
  InputMetadata(InputMetadata&& o) noexcept { takeFrom(o); }
  InputMetadata& operator=(InputMetadata&& o) noexcept {
    freeHeap();
    takeFrom(o);
    return *this;
  }
  ~InputMetadata() { freeHeap(); }
  explicit InputMetadata(const Tensor& t) { describe(t); }
  /// Of `t` from now on; for one that describes nothing yet.
  void describe(const Tensor& t) {
    const TensorImpl& impl = *t.unsafeGetTensorImpl();
    const IntArrayRef sizes = impl.sizes();
    if (sizes.size() > kInline) [[unlikely]]
      return describeMany(impl);
    // One by one: they have just been written so, and a wider load would wait until they are in the cache.
    static_assert(kInline == 4);
    if (sizes.size() > 0) inline_[0] = sizes[0];
    if (sizes.size() > 1) inline_[1] = sizes[1];
    if (sizes.size() > 2) inline_[2] = sizes[2];
    if (sizes.size() > 3) inline_[3] = sizes[3];
    describeRest(impl, sizes.size());
  }

  bool is_undefined() const { return undefined_; }
  IntArrayRef sizes() const { return {dim_ > kInline ? heap_ : inline_, dim_}; }
  ScalarType dtype() const { return dtype_; }
  Device device() const { return device_; }
  TensorOptions options() const { return TensorOptions(dtype_).device(device_); }
  /// A gradient of this shape that is all zeros.
  SHUNT_API Tensor zeros() const;

 private:
  static constexpr uint32_t kInline = 4;
  void describeRest(const TensorImpl& t, size_t dim) {
    dtype_ = t.dtype();
    device_ = t.device();
    undefined_ = false;
    dim_ = static_cast<uint32_t>(dim);
  }
  SHUNT_API SHUNT_NOINLINE void describeMany(const TensorImpl& t);
  void freeHeap() {
    if (dim_ > kInline) [[unlikely]]
      delete[] heap_;
  }
  /// This one owns nothing.
  void takeFrom(InputMetadata& o) {
    std::memcpy(static_cast<void*>(this), &o, sizeof o);
    o.dim_ = 0;
    o.undefined_ = true;
  }

  ScalarType dtype_ = kFloat;
  Device device_{kCPU};
  bool undefined_ = true;
  uint32_t dim_ = 0;
  union {
    int64_t inline_[kInline];
    int64_t* heap_;  // of more dimensions; owned
  };
};

}  // namespace shunt::autograd
