// What the tests of operators along rows share: inputs, and running a function compiled and plain. Any thread.
#pragma once

#include "tests/compile/plan_parts.h"
#include "tests/compile/same.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace shunt::test {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

/// Runs the function compiled and plain; the plans.
inline std::vector<PlanDescription> expectSame(const Function& f, const std::function<Tensors(uint64_t)>& inputs) {
  auto fast = compile(f);
  for (uint64_t i = 0; i < 12; ++i) {
    const Tensors in = inputs(i), expected = f(in), got = fast(in);
    EXPECT_TRUE(same(expected, got)) << "call " << i;
    for (size_t k = 0; k < expected.size() && k < got.size(); ++k) EXPECT_EQ(expected[k]._version(), got[k]._version());
  }
  EXPECT_GE(fast.counts().hits, 10u) << fast.explain();
  return fast.plans();
}

/// x and y of these sizes, and two rows.
inline std::function<Tensors(uint64_t)> inputsOf(const std::vector<int64_t>& sizes, ScalarType dtype = kFloat) {
  return [=](uint64_t seed) {
    return Tensors{numbers(sizes, seed).to(dtype), numbers(sizes, seed + 100).to(dtype),
                   numbers({sizes.back()}, seed + 200).to(dtype), numbers({sizes.back()}, seed + 300).to(dtype)};
  };
}

inline Tensor normalised(const Tensor& x) { return layer_norm(x, {x.size(-1)}); }

/// NaNs' signs and payloads are not promised.
inline Tensor withoutNaN(const Tensor& t) { return t.where(t.eq(t), tensor(12345.0F)); }

}  // namespace shunt::test
