// mul and add by rows behind layer_norm, which its loop does as its weight and bias: when it does, and that the bits
// are eager's. Run with the interpreter's loops around the rows, and with native ones.
#include "tests/compile/plan_parts.h"
#include "tests/compile/rows.h"

#include <shunt/core/library.h>

#include <gtest/gtest.h>

namespace shunt::test {
namespace {

const std::vector<int64_t> kSizes = {40, 192};

template <class T>
size_t foldedIn(const T& planned) {
  size_t n = 0;
  for (const PlanPart& p : rowsOf(planned)) n += p.parameters;
  return n;
}

/// How many nodes layer_norm's loop does as its weight and bias. The bits are checked.
size_t folded(const Function& f, const std::function<Tensors(uint64_t)>& inputs = inputsOf(kSizes)) {
  const std::vector<PlanDescription> plans = expectSame(f, inputs);
  EXPECT_EQ(rowsOf(plans).size(), 1u) << textOf(plans);
  return foldedIn(plans);
}

TEST(CompileRowParameters, MulAndAddOfRows) {
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const std::vector<int64_t>& sizes :
         {std::vector<int64_t>{64, 256}, {3, 5, 100}, {1, 64}, {300, 300}, {2, 1500}}) {
      SCOPED_TRACE(detail::str(IntArrayRef(sizes), dtype));
      const auto in = inputsOf(sizes, dtype);
      EXPECT_EQ(folded([](const Tensors& t) { return Tensors{normalised(t[0]) * t[2] + t[3]}; }, in), 2);
      EXPECT_EQ(folded([](const Tensors& t) { return Tensors{normalised(t[0] - t[1]) * t[2] + t[3]}; }, in), 2);
      EXPECT_EQ(folded([](const Tensors& t) { return Tensors{(normalised(t[0]) * t[2] + t[3]).relu() - t[1]}; }, in),
                2);
      EXPECT_EQ(folded([](const Tensors& t) { return Tensors{normalised(t[0] - t[1]) * t[2]}; }, in), 1);
      EXPECT_EQ(folded([](const Tensors& t) { return Tensors{normalised(t[0] - t[1]) + t[3]}; }, in), 1);
      EXPECT_EQ(folded([](const Tensors& t) { return Tensors{normalised(t[0] - t[1]).add(t[3], 1.0)}; }, in), 1);
      EXPECT_EQ(folded([](const Tensors& t) { return Tensors{normalised(t[0]) * t[2] + t[2]}; }, in), 2);
    }
}

TEST(CompileRowParameters, OverSeveralDimensionsAndBesideItsOwnParameters) {
  const auto over = [](uint64_t seed) {
    return Tensors{numbers({6, 4, 32}, seed), numbers({4, 32}, seed + 1), numbers({1, 4, 32}, seed + 2)};
  };
  EXPECT_EQ(folded([](const Tensors& t) { return Tensors{layer_norm(t[0], {4, 32}) * t[1] + t[2]}; }, over), 2);
  EXPECT_EQ(folded([](const Tensors& t) { return Tensors{layer_norm(t[0], {192}, t[2]) + t[3]}; }), 1);
  EXPECT_EQ(folded([](const Tensors& t) { return Tensors{layer_norm(t[0], {192}, t[2]) * t[2] + t[3]}; }), 0);
  EXPECT_EQ(folded([](const Tensors& t) { return Tensors{layer_norm(t[0], {192}, {}, t[2]) + t[3]}; }), 0);
  EXPECT_EQ(folded([](const Tensors& t) { return Tensors{layer_norm(t[0], {192}, {}, t[2]) * t[3]}; }), 0);
  EXPECT_EQ(folded([](const Tensors& t) { return Tensors{layer_norm(t[0], {192}, t[2], t[3]) * t[2] + t[3]}; }), 0);
}

// A weight isn't folded behind a bias, nor a second one.
TEST(CompileRowParameters, InTheirOrderAndOnce) {
  EXPECT_EQ(folded([](const Tensors& t) { return Tensors{(normalised(t[0]) + t[3]) * t[2]}; }), 1);
  EXPECT_EQ(folded([](const Tensors& t) { return Tensors{normalised(t[0]) * t[2] * t[3]}; }), 1);
  EXPECT_EQ(folded([](const Tensors& t) { return Tensors{normalised(t[0]) + t[2] + t[3]}; }), 1);
}

TEST(CompileRowParameters, WhatLiesBetweenIsReadAgain) {
  EXPECT_EQ(folded([](const Tensors& t) {
              const Tensor y = normalised(t[0] + t[1]);
              return Tensors{y * t[2] + t[3], y};
            }),
            0);
  EXPECT_EQ(folded([](const Tensors& t) {
              const Tensor y = normalised(t[0] + t[1]);
              return Tensors{y * t[2] + y};
            }),
            0);
  EXPECT_EQ(folded([](const Tensors& t) {
              const Tensor y = normalised(t[0] + t[1]);
              return Tensors{y * y + t[3]};
            }),
            0);
  EXPECT_EQ(folded([](const Tensors& t) {
              const Tensor y = normalised(t[0] + t[1]) * t[2];
              return Tensors{y + t[3], y};
            }),
            1);
  EXPECT_EQ(folded([](const Tensors& t) {
              const Tensor y = normalised(t[0] + t[1]) * t[2];
              return Tensors{y + t[3] - y};
            }),
            1);
  EXPECT_EQ(folded([](const Tensors& t) {  // of the region before the rows
              const Tensor x = t[0] + t[1];
              return Tensors{(normalised(x) * t[2] + t[3]) + x, x};
            }),
            2);
}

// Nodes that nobody needs stay where one of them may refuse elements. The last one runs by itself.
TEST(CompileRowParameters, OfResultsThatNobodyReads) {
  const auto in = [](uint64_t seed) {
    Tensors t = inputsOf({300, 300})(seed);
    t.push_back(arange(1, 9).to(kLong));
    return t;
  };
  const auto f = [](const Tensors& t) {
    const Tensor unread = normalised(t[0]) * t[2] + t[3];
    t[4].div(t[4], "floor");
    return Tensors{t[1] + 1};
  };
  EXPECT_EQ(folded(f, in), 1u);
}

TEST(CompileRowParameters, OtherOperatorsAndOperands) {
  const auto expectNone = [](const Function& f, const std::function<Tensors(uint64_t)>& inputs = inputsOf(kSizes)) {
    EXPECT_EQ(folded(f, inputs), 0u);
  };
  expectNone([](const Tensors& t) { return Tensors{softmax(t[0], -1) * t[2] + t[3]}; });
  expectNone([](const Tensors& t) { return Tensors{normalised(t[0] + t[1]) - t[3]}; });
  expectNone([](const Tensors& t) { return Tensors{normalised(t[0] + t[1]) / t[2]}; });
  expectNone([](const Tensors& t) { return Tensors{normalised(t[0] + t[1]).add(t[3], 2)}; });
  expectNone([](const Tensors& t) { return Tensors{normalised(t[0] + t[1]).add(t[3], -1)}; });
  expectNone([](const Tensors& t) { return Tensors{normalised(t[0] + t[1]) * 2 + 1}; });
  expectNone([](const Tensors& t) { return Tensors{normalised(t[0]) * t[1]}; });
  // The rows as the second operand: a NaN's payload would be another's.
  expectNone([](const Tensors& t) { return Tensors{t[3] + t[2] * normalised(t[0] + t[1])}; });
  EXPECT_EQ(folded([](const Tensors& t) { return Tensors{(normalised(t[0]) * t[2]).add(t[3], 3)}; }), 1);
  const auto others = [](uint64_t seed) {
    return Tensors{numbers({40, 192}, seed), numbers({40, 1}, seed + 1), numbers({1}, seed + 2),
                   numbers({192}, seed + 3).to(kBFloat16), numbers({192}, seed + 4).gt(0)};
  };
  for (size_t k = 1; k < 5; ++k) {
    SCOPED_TRACE(k);
    for (const bool mul : {false, true}) {
      const auto f = [=](const Tensors& t) { return Tensors{mul ? normalised(t[0]) * t[k] : normalised(t[0]) + t[k]}; };
      EXPECT_EQ(foldedIn(expectSame(f, others)), 0u);
    }
  }
  // Rows of n elements for the sum, but not for the norm.
  const auto over = [](uint64_t seed) { return Tensors{numbers({6, 4, 96}, seed), numbers({96}, seed + 1)}; };
  EXPECT_EQ(foldedIn(expectSame([](const Tensors& t) { return Tensors{layer_norm(t[0], {4, 96}) * t[1]}; }, over)), 0);
  // In place, which isn't joined at all.
  const auto in_place = [](const Tensors& t) { return Tensors{normalised(t[0] + t[1]).mul_(t[2]).add_(t[3])}; };
  EXPECT_EQ(foldedIn(expectSame(in_place, inputsOf(kSizes))), 0u);
}

// Zeros have their signs; a NaN is one, whatever its payload.
TEST(CompileRowParameters, SpecialValues) {
  const auto f = [](const Tensors& t) {
    const Tensor x = t[0] * 2;
    return Tensors{normalised(x) * t[2] + t[3]};
  };
  const auto in = [](uint64_t seed) {
    Tensors t = inputsOf({12, 128})(seed);
    const Tensor special = tensor({0.0F, -0.0F, INFINITY, -INFINITY, NAN, 1e38F, -1e38F, 1e-42F});
    for (int64_t i = 0; i < 4; ++i) t[0].select(0, i).narrow(0, 3 * i, 8).copy_(special);
    t[0].select(0, 5).fill_(1);  // gives zeros, with the weight's signs
    for (const size_t k : {2, 3}) t[k].narrow(0, 40 + static_cast<int64_t>(k), 8).copy_(special);
    t[3].narrow(0, 60, 68).fill_(-0.0F);
    for (const int64_t i : {20, 41, 42, 100}) {
      const uint32_t bits = 0x7fc00000U | (i % 2 == 0 ? 0x80000000U : 0U) | static_cast<uint32_t>(i);
      for (const size_t k : {0, 2, 3}) std::memcpy(t[k].data_ptr<float>() + i, &bits, sizeof bits);
    }
    return t;
  };
  auto fast = compile(f);
  for (uint64_t i = 0; i < 6; ++i) {
    const Tensors t = in(i);
    const Tensor expected = f(t)[0], got = fast(t)[0];
    EXPECT_TRUE(same(withoutNaN(got), withoutNaN(expected))) << i;
    EXPECT_TRUE(same(got.isnan(), expected.isnan())) << i;
    EXPECT_GT(expected.eq(0).sum().item<int64_t>(), 0);
  }
  EXPECT_EQ(foldedIn(fast), 2u) << fast.plan();
}

// A result may be differentiated later, and a backward inside reads what lies between.
TEST(CompileRowParameters, OfParametersWithGradients) {
  const auto leaves = [] { return Tensors{numbers({96}).requires_grad_(), numbers({96}, 1).requires_grad_()}; };
  for (const bool inside : {false, true}) {
    const Tensors plain = leaves(), other = leaves();
    const auto step = [inside](const Tensors& w, const Tensor& x) {
      for (const Tensor& p : w) Tensor(p).mutable_grad() = Tensor();
      Tensor y = normalised(x * 2 + x) * w[0] + w[1];
      if (inside) y.sum().backward();
      return inside ? y.detach() : y;
    };
    auto fast = compile([&](const Tensor& x) { return step(other, x); });
    for (uint64_t i = 0; i < 8; ++i) {
      const Tensor x = numbers({20, 96}, i), expected = step(plain, x), got = fast(x);
      EXPECT_TRUE(same(expected, got)) << fast.plan();
      if (!inside) expected.sum().backward();
      if (!inside) got.sum().backward();
      for (size_t k = 0; k < 2; ++k) EXPECT_TRUE(same(plain[k].grad(), other[k].grad())) << fast.plan();
    }
  }
}

Tensor sumInstead(const Tensor& self, const Tensor& other) { return self.add(other); }

TEST(CompileRowParameters, AnotherKernelOfMulIsObeyed) {
  const Function f = [](const Tensors& t) { return Tensors{normalised(t[0]) * t[2] + t[3]}; };
  const Tensors in = inputsOf({16, 128})(1);
  auto later = compile(f);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(same(later(in)[0], f(in)[0]));
  EXPECT_EQ(foldedIn(later), 2u);
  {
    Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    m.impl("mul.Tensor", &sumInstead);
    const Tensor expected = normalised(in[0]) + in[2] + in[3];
    auto before = compile(f);
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(same(later(in)[0], expected)) << later.explain();
      EXPECT_TRUE(same(before(in)[0], expected)) << before.plan();
    }
  }
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(same(later(in)[0], f(in)[0])) << later.explain();
}

}  // namespace
}  // namespace shunt::test
