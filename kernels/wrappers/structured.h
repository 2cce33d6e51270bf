// Structured operators (`structured_delegate` in the dictionary): one shape function <name>_meta says what the result
// is and throws for bad arguments, one kernel <name>_impl writes a contiguous result of that shape; the functional,
// in-place and out= forms for CPU and Meta are generated from the two. Any thread.
#pragma once

#include "kernels/common/result.h"

#include <initializer_list>

namespace shunt::native {

/// What a structured operator's result is: contiguous, on the device of `like`. The sizes belong to an argument, or are
/// this object's own.
class ResultMeta {
 public:
  ResultMeta(const TensorImpl& like, IntArrayRef sizes, ScalarType dtype)
      : like_(&like), sizes_(sizes), dtype_(dtype) {}
  /// A vector of n elements.
  ResultMeta(const TensorImpl& like, int64_t n, ScalarType dtype)
      : like_(&like), own_(n), dtype_(dtype), is_vector_(true) {}

  const TensorImpl& like() const { return *like_; }
  IntArrayRef sizes() const { return is_vector_ ? IntArrayRef(&own_, 1) : sizes_; }
  ScalarType dtype() const { return dtype_; }

 private:
  const TensorImpl* like_;
  IntArrayRef sizes_;
  int64_t own_ = 0;
  ScalarType dtype_;
  bool is_vector_ = false;
};

}  // namespace shunt::native

namespace shunt::wrappers {

/// Checks `out` against the result by PyTorch's rules for out= (same device and dtype, no element twice in memory).
/// True when it has been resized and the kernel may write into it: contiguous, and no input's memory.
bool prepareStructuredOut(const char* op, const native::ResultMeta& meta, std::initializer_list<const Tensor*> inputs,
                          const Tensor& out);
/// The same for an in-place form's target, which keeps its shape.
void checkStructuredInplace(const char* op, const native::ResultMeta& meta, const Tensor& self);
/// Resizes where the shape differs.
void copyStructured(const Tensor& to, const Tensor& result);

/// `impl(result)` computes; it is not called on Meta.
template <class Impl>
SHUNT_ALWAYS_INLINE Tensor structured(const native::ResultMeta& meta, const Impl& impl) {
  Tensor result = native::newResult(meta.like(), meta.sizes(), meta.dtype());
  if (native::hasData(meta.like())) impl(result);
  return result;
}

template <class Impl>
Tensor& structuredOut(const char* op, const native::ResultMeta& meta, std::initializer_list<const Tensor*> inputs,
                      Tensor& out, const Impl& impl) {
  if (!prepareStructuredOut(op, meta, inputs, out))
    copyStructured(out, structured(meta, impl));
  else if (native::hasData(meta.like()))
    impl(out);
  return out;
}

template <class Impl>
Tensor& structuredInplace(const char* op, const native::ResultMeta& meta, Tensor& self, const Impl& impl) {
  checkStructuredInplace(op, meta, self);
  copyStructured(self, structured(meta, impl));  // a kernel reads its inputs while it writes
  return self;
}

}  // namespace shunt::wrappers
