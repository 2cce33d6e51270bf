// Losses of plans that are done without their operators: that the bits are the operators', and when the operators are
// called.
#include "src/compile/program/plan.h"
#include "src/compile/steps/quick_counts.h"
#include "tests/compile/same.h"

#include <shunt/core/library.h>
#include <shunt/trace/trace.h>

#include <gtest/gtest.h>

#include <functional>

namespace shunt::test {
namespace {

using compiled::Plan;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

/// How many losses and gradients of them a later run does quickly. Compares all results with the operators'.
uint64_t quickLosses(const Plan& plan, const Function& f, const Tensors& in) {
  plan.run(in);
  const uint64_t before = compiled::quickCounts().losses;
  const Tensors got = plan.run(in), expected = f(in);
  EXPECT_TRUE(same(expected, got)) << "\n" << plan.describe();
  return compiled::quickCounts().losses - before;
}
uint64_t quickLosses(const Function& f, const Tensors& in) { return quickLosses(Plan(trace(f, in)), f, in); }

/// Log-probabilities, targets, a gradient.
Tensors inputs(int64_t samples, int64_t classes, ScalarType dtype = kFloat) {
  return {log_softmax(numbers({samples, classes}), -1).to(dtype), arange(samples).to(kLong).remainder(classes),
          numbers({}, 1).to(dtype)};
}

/// The loss, and its gradient.
Function lossOf(int64_t reduction, int64_t ignore_index = -100) {
  return [=](const Tensors& t) {
    const auto [loss, weight] = nll_loss_forward(t[0], t[1], {}, reduction, ignore_index);
    return Tensors{loss, weight, nll_loss_backward(t[2], t[0], t[1], {}, reduction, ignore_index, weight)};
  };
}

TEST(CompileQuickLoss, OfAllSamples) {
  const NoGradGuard no_grad;
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const auto& [samples, classes] : {std::pair<int64_t, int64_t>{1, 10}, {8, 10}, {33, 1}, {5000, 4}})
      for (const int64_t reduction : {1, 2})
        for (const int64_t ignored : {-100, 0, 3}) {
          SCOPED_TRACE(detail::str(dtype, samples, " ", classes, " ", reduction, " ", ignored));
          EXPECT_EQ(quickLosses(lossOf(reduction, ignored), inputs(samples, classes, dtype)), 2u);
        }
  Tensors others = inputs(6, 4);  // strides and dimensions that the graph was recorded with
  others[0] = others[0].t().contiguous().t();
  others[1] = numbers({12}).gt(0).to(kLong).as_strided({6}, {2});
  others[2] = others[2].reshape({1});
  EXPECT_EQ(quickLosses(lossOf(1), others), 2u);
  const Function alone = [](const Tensors& t) { return Tensors{std::get<0>(nll_loss_forward(t[0], t[1], {}, 1, 0))}; };
  EXPECT_EQ(quickLosses(alone, inputs(6, 4)), 1u);
}

TEST(CompileQuickLoss, LeftToTheirOperators) {
  const NoGradGuard no_grad;
  Tensors in = inputs(6, 4);
  in[2] = numbers({6});
  EXPECT_EQ(quickLosses(lossOf(0), in), 0u);
  const auto with = [](size_t i, const Tensor& t) {
    Tensors out = inputs(6, 4);
    out[i] = t;
    return out;
  };
  EXPECT_EQ(quickLosses(lossOf(1), with(1, in[1].to(kByte))), 0u);
  EXPECT_EQ(quickLosses(lossOf(1), {in[0].to(kBFloat16), in[1], numbers({}).to(kBFloat16)}), 0u);
  EXPECT_EQ(quickLosses(lossOf(1), {in[0].select(0, 0), in[1].select(0, 0), numbers({})}), 0u);
  const Function weighed = [](const Tensors& t) {
    const auto [loss, weight] = nll_loss_forward(t[0], t[1], t[3], 1, 0);
    return Tensors{loss, nll_loss_backward(t[2], t[0], t[1], t[3], 1, 0, weight)};
  };
  EXPECT_EQ(quickLosses(weighed, {in[0], in[1], numbers({}), numbers({4})}), 0u);
  // Tensors of the recorded sizes that lie in another way.
  const Plan plan(trace(lossOf(1), inputs(6, 4)));
  EXPECT_EQ(quickLosses(plan, lossOf(1), inputs(6, 4)), 2u);
  EXPECT_EQ(quickLosses(plan, lossOf(1), with(0, inputs(6, 4)[0].t().contiguous().t())), 0u);
  EXPECT_EQ(quickLosses(plan, lossOf(1), with(1, zeros({12}).to(kLong).as_strided({6}, {2}))), 0u);
  const InferenceMode inference;
  EXPECT_EQ(quickLosses(plan, lossOf(1), inputs(6, 4)), 1u);  // the call of the first sets the modes of both
}

// Whatever is left to the operators: no samples, none that counts, one, weights, weights of 0, nothing reduced.
TEST(CompileQuickLoss, BitsAreTheOperatorsForEverySort) {
  const NoGradGuard no_grad;
  for (const ScalarType dtype : {kFloat, kDouble, kBFloat16})
    for (const int64_t samples : {0, 1, 7})
      for (const int64_t reduction : {0, 1, 2})
        for (const char* which : {"each", "one", "some at -100"})
          for (const int64_t ignored : {-100, 1})
            for (const char* weights : {"no", "some", "zero"}) {
              SCOPED_TRACE(detail::str(dtype, samples, " reduction ", reduction, " classes ", which, " ignoring ",
                                       ignored, " weights ", weights));
              if (which[0] == 's' && ignored != -100) continue;
              Tensors in = inputs(samples, 3, dtype);
              if (which[0] == 'o') in[1].fill_(1);
              if (which[0] == 's') in[1].masked_fill_(in[1].eq(2), -100);
              if (reduction == 0) in[2] = numbers({samples}, 1).to(dtype);
              if (weights[0] != 'n') in.push_back(numbers({3}, 2).to(dtype));
              if (weights[0] == 'z') in[3].narrow(0, 0, 2).zero_();
              const Function f = [=](const Tensors& t) {
                const std::optional<Tensor> weight = t.size() > 3 ? std::optional(t[3]) : std::nullopt;
                const auto [loss, total] = nll_loss_forward(t[0], t[1], weight, reduction, ignored);
                return Tensors{loss, total, nll_loss_backward(t[2], t[0], t[1], weight, reduction, ignored, total)};
              };
              quickLosses(f, in);
            }
}

TEST(CompileQuickLoss, SquaresOfAllElements) {
  const NoGradGuard no_grad;
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const int64_t rows : {1, 3, 17, 64, 300})
      for (const int64_t columns : {2, 5, 31})
        for (const int64_t reduction : {0, 1, 2}) {
          const Function f = [=](const Tensors& t) { return Tensors{mse_loss(t[0], t[1], reduction)}; };
          const Tensors in = {numbers({rows, columns}, 1).to(dtype), numbers({rows, columns}, 2).to(dtype)};
          const Plan plan(trace(f, in));
          const bool is_small = rows * columns * elementSize(dtype) <= 8 << 10;
          EXPECT_EQ(quickLosses(plan, f, in), is_small && reduction != 0 ? 1u : 0u) << plan.describe();
          if (rows > 1) EXPECT_EQ(quickLosses(plan, f, {numbers({columns, rows}, 3).to(dtype).t(), in[1]}), 0u);
        }
  // Operands that are no like.
  for (const Tensors& in :
       {Tensors{numbers({4, 6}), numbers({6})}, Tensors{numbers({4, 6}), numbers({4, 6}).to(kDouble)},
        Tensors{numbers({4, 6}).to(kHalf), numbers({4, 6}).to(kHalf)}, Tensors{numbers({0, 6}), numbers({0, 6})}}) {
    const Function f = [](const Tensors& t) { return Tensors{mse_loss(t[0], t[1])}; };
    EXPECT_EQ(quickLosses(Plan(trace(f, in)), f, in), 0u);
  }
}

std::string errorOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

TEST(CompileQuickLoss, TargetsThatAreNoClasses) {
  const NoGradGuard no_grad;
  const Function backward = [](const Tensors& t) {
    return Tensors{nll_loss_backward(t[2], t[0], t[1], {}, 1, 0, t[2])};
  };
  for (const Function& f : {lossOf(1, 0), backward}) {
    const Tensors good = inputs(6, 4);
    const Plan plan(trace(f, good));
    EXPECT_GE(quickLosses(plan, f, good), 1u);
    for (const int64_t target : {4, -1}) {
      Tensors bad = inputs(6, 4);
      bad[1].select(0, 5).fill_(target);
      const std::string expected = errorOf([&] { f(bad); });
      EXPECT_NE(expected, "");
      EXPECT_EQ(errorOf([&] { plan.run(bad); }), expected);
    }
    EXPECT_GE(quickLosses(plan, f, good), 1u);
  }
}

std::tuple<Tensor, Tensor> otherLoss(const Tensor& x, const Tensor&, const std::optional<Tensor>&, int64_t, int64_t) {
  return {x.sum() + 1, x.sum()};
}

TEST(CompileQuickLoss, AnotherKernelIsCalled) {
  const NoGradGuard no_grad;
  const Tensors in = inputs(6, 4);
  const Plan before(trace(lossOf(1), in));
  EXPECT_EQ(quickLosses(before, lossOf(1), in), 2u);
  {
    Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    m.impl("nll_loss_forward", &otherLoss);
    const Plan now(trace(lossOf(1), in));
    EXPECT_EQ(quickLosses(before, lossOf(1), in), 0u);
    EXPECT_EQ(quickLosses(now, lossOf(1), in), 1u);
    EXPECT_TRUE(same(now.run(in)[0], in[0].sum() + 1));
  }
  EXPECT_EQ(quickLosses(Plan(trace(lossOf(1), in)), lossOf(1), in), 2u);
}

}  // namespace
}  // namespace shunt::test
