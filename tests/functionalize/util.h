// What the tests of Functionalize share.
#pragma once

#include "tests/support/error_of.h"
#include "tests/support/same_bits.h"

#include <shunt/shunt.h>
#include <shunt/transforms/functionalize.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test {

inline Tensor iota(std::vector<int64_t> sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return arange(n, TensorOptions(kFloat)).view(sizes);
}

/// Dtype, sizes and bits, of what functional tensors hold. Not strides: a function's results have those of its views.
inline testing::AssertionResult identical(const Tensor& expected, const Tensor& actual) {
  const auto held = [](const Tensor& t) { return t.defined() && is_functional(t) ? from_functional(t) : t; };
  return sameBits(held(expected), held(actual), kButStrides);
}

/// Runs `f` on clones of `inputs`, plain and functionalized with every call below checked, and compares the results,
/// what became of the inputs, and the inputs' geometry.
template <class F>
void expectSameProgram(const std::vector<Tensor>& inputs, F f) {
  std::vector<Tensor> plain, functional;
  for (const Tensor& t : inputs) plain.push_back(t.clone()), functional.push_back(t.clone());
  const std::vector<Tensor> expected = f(plain);
  const FunctionalizeCheckGuard check;
  const std::vector<Tensor> got = functionalize([&](const std::vector<Tensor>& in) { return f(in); })(functional);
  EXPECT_GT(check.calls(), 0);
  for (const Tensor& t : got) EXPECT_FALSE(is_functional(t));
  EXPECT_TRUE(sameBits(expected, got)) << "of the results";
  EXPECT_TRUE(sameBits(plain, functional)) << "of the inputs";
}

}  // namespace shunt::test
