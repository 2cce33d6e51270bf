// Operators along rows with pointwise ones around them, by blocks of rows: when they are, and that the bits are
// eager's. Run with the interpreter's loops around the rows, and with native ones.
#include "tests/compile/rows.h"
#include "src/compile/program/plan.h"
#include "tests/compile/plan_parts.h"

#include <shunt/core/library.h>
#include <shunt/jit/jit.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace shunt::test {
namespace {

TEST(CompileRows, OfEachOperatorWithWhatIsAroundIt) {
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&, const Tensors&)>>> operators = {
      {"softmax", [](const Tensor& x, const Tensors&) { return softmax(x, -1); }},
      {"log_softmax", [](const Tensor& x, const Tensors&) { return log_softmax(x, x.dim() - 1); }},
      {"layer_norm", [](const Tensor& x, const Tensors&) { return normalised(x); }},
      {"layer_norm with weight", [](const Tensor& x, const Tensors& t) { return layer_norm(x, {x.size(-1)}, t[2]); }},
      {"layer_norm with both",
       [](const Tensor& x, const Tensors& t) { return layer_norm(x, {x.size(-1)}, t[2], t[3], 0.5); }}};
  const std::vector<std::vector<int64_t>> shapes = {{64, 256}, {3, 5, 128}, {1, 64}, {7, 1000}, {300, 300}, {2, 1500}};
  for (const auto& [name, op] : operators)
    for (const auto& sizes : shapes)
      for (const ScalarType dtype : {kFloat, kDouble}) {
        SCOPED_TRACE(detail::str(name, IntArrayRef(sizes), dtype));
        const auto in = inputsOf(sizes, dtype);
        const auto before = [&](const Tensors& t) { return Tensors{op(t[0] / 8 + t[1], t)}; };
        EXPECT_EQ(rowsOf(expectSame(before, in), 3, sizes).size(), 1u);
        const auto after = [&](const Tensors& t) { return Tensors{op(t[0], t) * t[2] + t[3]}; };
        EXPECT_EQ(rowsOf(expectSame(after, in), 3, sizes).size(), 1u);
        const auto both = [&](const Tensors& t) { return Tensors{op(t[0] + t[1], t) * t[2] + t[3]}; };
        EXPECT_EQ(rowsOf(expectSame(both, in), 4, sizes).size(), 1u);
      }
}

// What is read again after the rows, or leaves the graph from between: it is in memory then, or in a buffer of its own.
TEST(CompileRows, WhatLiesBetweenIsReadAgain) {
  const std::vector<int64_t> sizes = {40, 192};
  const auto residual = [](const Tensors& t) {
    const Tensor x = t[0] * 2 + t[1];
    return Tensors{x + normalised(x).relu()};
  };
  const auto loop = [&](const Function& f) { return rowsOf(expectSame(f, inputsOf(sizes)), {}, sizes).at(0); };
  const PlanPart one = loop(residual);
  EXPECT_EQ(one.operators.size(), 5u) << one.text();
  EXPECT_EQ(one.inputs, 2u);
  EXPECT_EQ(one.outputs, 1u);
  EXPECT_EQ(one.buffers, 2u);
  const auto all = [](const Tensors& t) {
    const Tensor x = t[0] + t[1], y = softmax(x, -1), z = y * t[2];
    return Tensors{x, y, z, x - z};
  };
  const PlanPart whole = loop(all);
  EXPECT_EQ(whole.operators.size(), 4u) << whole.text();
  EXPECT_EQ(whole.inputs, 3u);
  EXPECT_EQ(whole.outputs, 4u);
  EXPECT_EQ(whole.buffers, 0u);
  const auto masks = [](const Tensors& t) {  // elements of other sizes in the buffers
    const Tensor x = t[0] + t[1], low = x.lt(0);
    return Tensors{softmax(x, -1).masked_fill(low, 0)};
  };
  EXPECT_EQ(rowsOf(expectSame(masks, inputsOf(sizes))).size(), 1u);
  const auto columns = [](const Tensors& t) { return Tensors{softmax(t[0] - t[1], -1) * t[2]}; };
  const auto with_column = [](uint64_t seed) {
    return Tensors{numbers({40, 192}, seed), numbers({40, 1}, seed + 1), numbers({}, seed + 2)};
  };
  EXPECT_EQ(rowsOf(expectSame(columns, with_column), 3, sizes).size(), 1u);
}

TEST(CompileRows, InTurnsAndInATrainingStep) {
  const auto block = [](const Tensors& t) {
    const Tensor x = normalised(t[0] + t[1]) * t[2] + t[3];
    return Tensors{softmax(gelu(x) * 0.125, -1) + x};
  };
  EXPECT_EQ(rowsOf(expectSame(block, inputsOf({33, 320}))).size(), 2u);
  const auto leaves = [] { return Tensors{numbers({96}).requires_grad_(), numbers({96}, 1).requires_grad_()}; };
  const Tensors plain = leaves(), other = leaves();
  const auto step = [](const Tensors& w, const Tensor& x) {
    for (const Tensor& p : w) Tensor(p).mutable_grad() = Tensor();
    const Tensor y = layer_norm(x * 2 + x, {96}, w[0], w[1]).relu();
    y.sum().backward();
    return y.detach();
  };
  auto fast = compile([&](const Tensor& x) { return step(other, x); });
  for (uint64_t i = 0; i < 8; ++i) {
    const Tensor x = numbers({20, 96}, i);
    EXPECT_TRUE(same(step(plain, x), fast(x))) << fast.plan();
    for (size_t k = 0; k < 2; ++k) EXPECT_TRUE(same(plain[k].grad(), other[k].grad())) << fast.plan();
  }
}

// The graph has backward's nodes and _softmax itself, whose result they read.
TEST(CompileRows, OfSoftmaxThatIsDifferentiatedInside) {
  for (const bool log : {false, true}) {
    const Tensor plain = numbers({24, 128}).requires_grad_(), other = plain.detach().clone().requires_grad_();
    const auto step = [log](const Tensor& w, const Tensor& x) {
      Tensor(w).mutable_grad() = Tensor();
      const Tensor scores = w * x / 8 + x, y = log ? log_softmax(scores, -1) : softmax(scores, -1);
      (y * x).sum().backward();
      return y.detach();
    };
    auto fast = compile([&](const Tensor& x) { return step(other, x); });
    for (uint64_t i = 0; i < 8; ++i) {
      const Tensor x = numbers({24, 128}, i);
      EXPECT_TRUE(same(step(plain, x), fast(x))) << fast.plan();
      EXPECT_TRUE(same(plain.grad(), other.grad())) << fast.plan();
      EXPECT_EQ(plain.grad()._version(), other.grad()._version());
    }
    EXPECT_EQ(rowsOf(fast).size(), 1u) << fast.plan();
  }
}

// Dimensions other than the last ones, short rows, 16-bit types, writes, and rows that others read as they lie.
TEST(CompileRows, WhatStaysByItself) {
  const auto expectApart = [](const Function& f, const std::function<Tensors(uint64_t)>& inputs) {
    EXPECT_EQ(rowsOf(expectSame(f, inputs)).size(), 0u);
  };
  const auto norm = [](const Tensors& t) { return Tensors{normalised(t[0] + t[1]) * 2}; };
  expectApart(norm, inputsOf({50, 20}));
  expectApart(norm, inputsOf({8, 128}, kBFloat16));
  expectApart(norm, inputsOf({2, 20000}));
  expectApart([](const Tensors& t) { return Tensors{softmax(t[0] + t[1], 0) * 2}; }, inputsOf({80, 128}));
  expectApart([](const Tensors& t) { return Tensors{normalised(t[0])}; }, inputsOf({80, 128}));
  expectApart(
      [](const Tensors& t) {
        Tensor x = t[0].add(t[1]);
        x.mul_(2);
        return Tensors{normalised(x), x.add_(1)};
      },
      inputsOf({80, 128}));
  expectApart([](const Tensors& t) { return Tensors{softmax(t[0].mm(t[1]), -1).mm(t[0])}; }, inputsOf({80, 80}));
}

Tensor copied(const Tensor& self, int64_t, bool) { return self.clone(); }

TEST(CompileRows, AKernelOfTheOperatorBelowPutsThemOutOfUse) {
  const Function f = [](const Tensors& t) { return Tensors{softmax(t[0] + t[1], -1) * t[2]}; };
  const Tensors in = inputsOf({16, 128})(1);
  auto fast = compile(f);
  const compiled::Plan plan(trace(f, in));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(same(fast(in)[0], f(in)[0]));
  for (int i = 0; i < 2; ++i) plan.run(in);
  EXPECT_EQ(rowsOf(plan, 3).size(), 1u) << plan.describe();
  {
    Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    m.impl("_softmax", &copied);
    const Tensor expected = (in[0] + in[1]) * in[2];
    EXPECT_FALSE(plan.holds());
    EXPECT_TRUE(same(plan.run(in)[0], expected));
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(same(fast(in)[0], expected)) << fast.explain();
    EXPECT_EQ(fast.counts().invalidated, 1u);
    EXPECT_EQ(rowsOf(fast).size(), 0u);
  }
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(same(fast(in)[0], f(in)[0])) << fast.explain();
}

TEST(CompileRows, SpecialValues) {
  const auto in = [](uint64_t seed) {
    Tensors t = inputsOf({12, 128})(seed);
    const Tensor special = tensor({0.0F, -0.0F, INFINITY, -INFINITY, NAN, 1e38F, -1e38F, 1e-42F});
    for (int64_t i = 0; i < 8; ++i)
      t[0].select(0, i).narrow(0, 3 * i, 8).copy_((i % 2 == 0 ? special : special.flip({0})));
    return t;
  };
  auto fast =
      compile([](const Tensors& t) { return Tensors{softmax(t[0] + t[1], -1) * t[2], normalised(t[0] * 2) + t[3]}; });
  for (uint64_t i = 0; i < 6; ++i) {
    const Tensors t = in(i), got = fast(t);
    const Tensor expected[] = {softmax(t[0] + t[1], -1) * t[2], normalised(t[0] * 2) + t[3]};
    for (size_t k = 0; k < 2; ++k) EXPECT_TRUE(same(withoutNaN(got[k]), withoutNaN(expected[k]))) << k;
  }
  EXPECT_EQ(rowsOf(fast).size(), 2u) << fast.plan();
}

// Registered before, on a tensor for which both kernels give the same; and later. softmax reaches it through the
// dispatcher.
Tensor halfOfOthers(const Tensor& self, int64_t dim, bool) {
  const Tensor e = (self * 2).exp();
  return e / e.sum(IntArrayRef{dim}, true);
}

TEST(CompileRows, AnotherKernelOfTheOperatorBelowIsObeyed) {
  const NoGradGuard no_grad;
  for (const bool autocast : {false, true}) {
    const auto f = [=](const Tensor& x) {
      std::optional<AutocastGuard> guard;
      if (autocast) guard.emplace(kCPU, kBFloat16);
      return softmax(x * 2, -1) + 1;
    };
    const Tensor zero = zeros({20, 128}), x = numbers({20, 128});
    for (const DispatchKey key : {DispatchKey::CPU, DispatchKey::BackendSelect, DispatchKey::AutocastCPU}) {
      SCOPED_TRACE(detail::str(key, autocast));
      auto later = compile(f);
      for (int i = 0; i < 4; ++i) later(x);
      EXPECT_EQ(rowsOf(later, 3).size(), 1u);
      const Tensor plain = f(x);
      Library m(Library::Kind::kImpl, "aten", key);
      m.impl("_softmax", &halfOfOthers);
      if (autocast || key != DispatchKey::AutocastCPU) ASSERT_FALSE(same(plain, f(x)));
      EXPECT_TRUE(same(f(x), later(x)));
      auto before = compile(f);
      for (int i = 0; i < 4; ++i) before(zero);
      EXPECT_TRUE(same(f(x), before(x))) << before.plan();
    }
  }
}

}  // namespace
}  // namespace shunt::test
