// What the tests of Functionalize share.
#pragma once

#include "tests/support/error_of.h"

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

/// Same dtype, sizes and bits.
inline bool identical(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && (a.numel() == 0 || a.eq(b).all().item<bool>());
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
  ASSERT_EQ(expected.size(), got.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_FALSE(is_functional(got[i]));
    EXPECT_TRUE(identical(expected[i], got[i])) << "result " << i << '\n' << expected[i] << '\n' << got[i];
    EXPECT_EQ(expected[i].strides(), got[i].strides()) << "result " << i;
  }
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(identical(plain[i], functional[i])) << "input " << i << '\n' << plain[i] << '\n' << functional[i];
    EXPECT_EQ(plain[i].strides(), functional[i].strides()) << "input " << i;
  }
}

}  // namespace shunt::test
