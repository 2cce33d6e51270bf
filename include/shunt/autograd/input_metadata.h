// InputMetadata: shape, dtype and device of one input of a node. The engine makes every gradient fit them.
//
// A move-only value, written once when the node is built. Shapes of up to four dimensions need no allocation.
#pragma once

#include <shunt/tensor/tensor.h>

#include <cstring>

namespace shunt::autograd {

class InputMetadata {
 public:
  /// The metadata of an undefined output, which accepts any gradient.
  InputMetadata() noexcept {}
  InputMetadata(InputMetadata&& o) noexcept { takeFrom(o); }
  InputMetadata& operator=(InputMetadata&& o) noexcept {
    freeHeap();
    takeFrom(o);
    return *this;
  }
  ~InputMetadata() { freeHeap(); }
  explicit InputMetadata(const Tensor& t) { describe(t); }
  /// Describes `t`. The object must be undefined before.
  void describe(const Tensor& t) {
    const TensorImpl& impl = *t.unsafeGetTensorImpl();
    const IntArrayRef sizes = impl.sizes();
    if (sizes.size() > kInline) [[unlikely]]
      return describeMany(impl);
    // Copied one by one, as they were just written. A wider load would wait until the stores reach the cache.
    static_assert(kInline == 4);
    if (sizes.size() > 0) inline_[0] = sizes[0];
    if (sizes.size() > 1) inline_[1] = sizes[1];
    if (sizes.size() > 2) inline_[2] = sizes[2];
    if (sizes.size() > 3) inline_[3] = sizes[3];
    describeRest(impl, sizes.size());
  }

  /// Whether any gradient is accepted; the getters below then mean nothing. Sizes are borrowed from this object.
  bool is_undefined() const { return undefined_; }
  IntArrayRef sizes() const { return {dim_ > kInline ? heap_ : inline_, dim_}; }
  ScalarType dtype() const { return dtype_; }
  Device device() const { return device_; }
  TensorOptions options() const { return TensorOptions(dtype_).device(device_); }
  /// A gradient of zeros with this shape, dtype and device.
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
  /// Requires that this object owns no heap memory.
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
    int64_t* heap_;  // when there are more dimensions; owned
  };
};

}  // namespace shunt::autograd
