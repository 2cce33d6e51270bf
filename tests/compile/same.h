// What the tests of compiled functions share: numbers, and comparing to the bit. Any thread.
#pragma once

#include "tests/support/same_bits.h"

#include <shunt/shunt.h>

#include <string>

namespace shunt::test {

/// Equal to the bit, and whether they require grad, too: tensors or lists of them.
template <class T>
testing::AssertionResult same(const T& expected, const T& actual) {
  return sameBits(expected, actual, {.requires_grad = true});
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
