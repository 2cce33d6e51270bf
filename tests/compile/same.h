// What the tests of compiled functions share: numbers, and comparing to the bit. Any thread.
#pragma once

#include <shunt/shunt.h>

#include <cstring>
#include <string>

namespace shunt::test {

/// Shapes, dtypes and bits.
inline bool same(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  const NoGradGuard no_grad;
  const Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  return x.dtype() == y.dtype() && x.sizes() == y.sizes() && a.strides() == b.strides() &&
         a.requires_grad() == b.requires_grad() &&
         (x.numel() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0);
}

/// How often the part stands in a text, as that of a plan.
inline int64_t count(const std::string& text, const std::string& part) {
  int64_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// Whether the backward pass of a compiled function's result is compiled.
inline bool isCompiled(const Tensor& t) { return t.grad_fn() && t.grad_fn()->name() == "CompiledFunctionBackward"; }

inline Tensor numbers(IntArrayRef sizes, uint64_t seed = 7) {
  manual_seed(seed);
  return randn(sizes);
}

}  // namespace shunt::test
