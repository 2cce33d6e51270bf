// native_layer_norm and its gradient in plans, without the operators: the bits, and what is left to them.
#include "src/compile/program/plan.h"
#include "src/compile/steps/quick_counts.h"
#include "tests/compile/same.h"

#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace shunt::test {
namespace {

using compiled::Plan;
using compiled::quickCounts;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

/// Of one run of the plan, whose first one records.
uint64_t quickNorms(const Plan& plan, const Function& f, const Tensors& in) {
  plan.run(in);
  const uint64_t before = quickCounts().rows;
  const Tensors expected = f(in), got = plan.run(in);
  EXPECT_EQ(expected.size(), got.size());
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_TRUE(same(expected[k], got[k])) << k << "\n" << plan.describe();
  return quickCounts().rows - before;
}
uint64_t quickNorms(const Function& f, const Tensors& in) { return quickNorms(Plan(trace(f, in)), f, in); }

Function normOf(std::vector<int64_t> shape, bool weight, bool bias, std::array<bool, 3> mask) {
  return [=](const Tensors& t) {
    const std::optional<Tensor> w = weight ? std::optional(t[2]) : std::nullopt,
                                b = bias ? std::optional(t[3]) : std::nullopt;
    const auto [out, mean, rstd] = native_layer_norm(t[0], shape, w, b, 1e-5);
    const auto [x, dw, db] = native_layer_norm_backward(t[1], t[0], shape, mean, rstd, w, b, mask);
    Tensors all = {out, mean, rstd, x, dw, db};
    std::erase_if(all, [](const Tensor& made) { return !made.defined(); });
    return all;
  };
}

TEST(CompileQuickNorm, ForwardAndBackward) {
  const NoGradGuard no_grad;
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const int64_t rows : {1, 3, 16, 40})
      for (const int64_t n : {1, 5, 16, 100, 400})
        for (const int parameters : {0, 1, 2, 3}) {
          const bool weight = (parameters & 1) != 0, bias = (parameters & 2) != 0;
          const Tensors in = {numbers({rows, n}, 1).to(dtype), numbers({rows, n}, 2).to(dtype),
                              numbers({n}, 3).to(dtype), numbers({n}, 4).to(dtype)};
          EXPECT_EQ(quickNorms(normOf({n}, weight, bias, {true, weight, bias}), in), 2u)
              << dtype << rows << "x" << n << " " << parameters;
        }
}

TEST(CompileQuickNorm, SeveralDimensionsAndPartsOfTheGradient) {
  const NoGradGuard no_grad;
  const Tensors in = {numbers({2, 3, 4, 5}, 1), numbers({2, 3, 4, 5}, 2), numbers({4, 5}, 3), numbers({4, 5}, 4)};
  EXPECT_EQ(quickNorms(normOf({4, 5}, true, true, {true, true, true}), in), 2u);
  EXPECT_EQ(quickNorms(normOf({4, 5}, true, true, {true, false, true}), in), 2u);
  EXPECT_EQ(quickNorms(normOf({4, 5}, true, true, {false, true, true}), in), 1u) << "its first result is none";
}

TEST(CompileQuickNorm, LeftToTheOperators) {
  const NoGradGuard no_grad;
  const Function f = normOf({6}, true, true, {true, true, true});
  const auto inputs = [](ScalarType dtype, int64_t rows) {
    return Tensors{numbers({rows, 6}, 1).to(dtype), numbers({rows, 6}, 2).to(dtype), numbers({6}, 3).to(dtype),
                   numbers({6}, 4).to(dtype)};
  };
  EXPECT_EQ(quickNorms(f, inputs(kHalf, 4)), 0u);
  EXPECT_EQ(quickNorms(f, inputs(kFloat, 0)), 0u);
  EXPECT_EQ(quickNorms(f, inputs(kFloat, 20'000)), 0u) << "for several threads";
  Tensors mixed = inputs(kBFloat16, 4);
  mixed[2] = mixed[2].to(kFloat);
  mixed[3] = mixed[3].to(kFloat);
  EXPECT_EQ(quickNorms(f, mixed), 0u);
  Tensors turned = inputs(kFloat, 4);
  turned[0] = numbers({6, 4}, 5).t();
  EXPECT_EQ(quickNorms(Plan(trace(f, inputs(kFloat, 4))), f, turned), 0u);
}

TEST(CompileQuickNorm, ATrainingStep) {
  const auto leaf = [](IntArrayRef sizes, uint64_t seed) { return numbers(sizes, seed).requires_grad_(); };
  const auto step = [](const Tensor& x, const Tensor& w, const Tensor& g, const Tensor& b) {
    for (const Tensor& t : {w, g, b}) Tensor(t).mutable_grad() = Tensor();
    const Tensor loss = mse_loss(layer_norm(x.mm(w), {8}, g, b).relu(), x.mm(w));
    loss.backward();
    return loss.detach();
  };
  const Tensor x = numbers({5, 6}, 9);
  const Tensors eager = {leaf({6, 8}, 1), leaf({8}, 2), leaf({8}, 3)},
                own = {leaf({6, 8}, 1), leaf({8}, 2), leaf({8}, 3)};
  auto fast = compile([&](const Tensor& t) { return step(t, own[0], own[1], own[2]); });
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = quickCounts().rows;
    ASSERT_TRUE(same(step(x, eager[0], eager[1], eager[2]), fast(x))) << i;
    for (size_t k = 0; k < 3; ++k) ASSERT_TRUE(same(eager[k].grad(), own[k].grad())) << i << k;
    if (i > 3) EXPECT_EQ(quickCounts().rows - before, 2u) << fast.plan();
  }
}

Tensor tripled(const Tensor& x) { return x * 3; }

TEST(CompileQuickNorm, AnotherKernelIsCalled) {
  const NoGradGuard no_grad;
  const Function f = normOf({6}, true, true, {true, true, true});
  const Tensors in = {numbers({4, 6}, 1), numbers({4, 6}, 2), numbers({6}, 3), numbers({6}, 4)};
  const Plan plan(trace(f, in));
  EXPECT_EQ(quickNorms(plan, f, in), 2u);
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("native_layer_norm",
         [](const Tensor& x, IntArrayRef, const std::optional<Tensor>&, const std::optional<Tensor>&, double) {
           const Tensor mean = x.mean(IntArrayRef{1}, true);
           return std::tuple(tripled(x), mean, mean + 1);
         });
  const uint64_t before = quickCounts().rows;
  const Tensors expected = f(in), got = plan.run(in);
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_TRUE(same(expected[k], got[k])) << k;
  EXPECT_TRUE(same(got[0], tripled(in[0])));
  EXPECT_EQ(quickCounts().rows, before);
}

}  // namespace
}  // namespace shunt::test
