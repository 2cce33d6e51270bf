// Grads in compiled functions: when leaves are given theirs, and what they keep of it.
#include "tests/compile/plan_parts.h"
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <shunt/shunt.h>

#include <gtest/gtest.h>

namespace shunt::test {
namespace {

// What a leaf keeps, and what it copies, is as in the function: the gradient of c is that of a * b, too.
TEST(CompileGrads, BackwardOfAChainIsOneLoop) {
  const auto leaves = [] {
    return std::vector<Tensor>{numbers({300}).requires_grad_(), numbers({300}, 1).requires_grad_(),
                               numbers({300}, 2).requires_grad_()};
  };
  const std::vector<Tensor> plain = leaves(), other = leaves();
  const auto step = [](const std::vector<Tensor>& w, bool zero, const Tensor& seed) {
    if (zero)
      for (const Tensor& p : w) Tensor(p).mutable_grad() = Tensor();
    (w[0] * w[1] + w[2]).relu().sigmoid().backward(seed);
  };
  const Tensor seed = numbers({300}, 3);
  for (const bool zero : {true, false}) {
    auto fast = compile([&](const Tensor& s) { step(other, zero, s); });
    for (int i = 0; i < 6; ++i) {
      step(plain, zero, seed);
      fast(seed);
      for (size_t k = 0; k < 3; ++k) {
        const Tensor &expected = plain[k].grad(), &got = other[k].grad();
        ASSERT_TRUE(same(expected, got)) << k;
        ASSERT_EQ(expected._version(), got._version()) << k << fast.plan();
        ASSERT_EQ(expected.is_alias_of(plain[2].grad()), got.is_alias_of(other[2].grad())) << k;
      }
    }
    EXPECT_EQ(regionsOf(fast, 8, {{300}}).size(), 1u) << fast.plan();
    EXPECT_EQ(callsOf(fast, "trace::accumulate_grad_", PlanCall::kDirectWithoutCopy), 1u) << fast.plan();
  }
}

// Grads that are the like at each call but not the one before: kept, added to, strided, of a leaf that is, shared.
TEST(CompileGrads, EachWayToAGradIsTheFunctions) {
  const Tensor plain = numbers({6, 4}).requires_grad_(), other = plain.detach().clone().requires_grad_();
  const Tensor twisted = numbers({4, 6}).t().requires_grad_(), others = twisted.detach().clone().requires_grad_();
  const auto step = [](const Tensor& w, const Tensor& v, const Tensor& x) {
    ((w * x) * v).backward(x);
    const Tensor g = w.grad() + v.grad();
    return g;
  };
  auto fast = compile([&](const Tensor& x) { return step(other, others, x); });
  const auto forget = [](const Tensor& t) { Tensor(t).mutable_grad() = Tensor(); };
  for (int i = 0; i < 24; ++i) {
    const Tensor x = numbers({6, 4}, 5 + static_cast<uint64_t>(i));
    for (const Tensor* t : {&plain, &other, &twisted, &others})
      if (i % 4 < 2) forget(*t);
    const Tensor held = i % 3 == 0 ? other.grad() : Tensor(), held_plain = i % 3 == 0 ? plain.grad() : Tensor();
    ASSERT_TRUE(same(step(plain, twisted, x), fast(x))) << i << fast.plan();
    ASSERT_TRUE(same(plain.grad(), other.grad()) && same(twisted.grad(), others.grad())) << i << fast.plan();
    ASSERT_EQ(plain.grad()._version(), other.grad()._version()) << i << fast.plan();
    ASSERT_EQ(twisted.grad()._version(), others.grad()._version()) << i << fast.plan();
    ASSERT_EQ(held.defined() && held.is_same(other.grad()), held_plain.defined() && held_plain.is_same(plain.grad()));
  }
  EXPECT_GE(fast.counts().hits, 6u) << fast.explain();
}

// Where a backward() fails half-way, what it has made for the nodes behind is of no use to anybody, but held the
// gradient when the leaf got it: so that is a copy.
TEST(CompileGrads, DeadCodeHoldsAGradient) {
  const auto step = [](const Tensor& w, const Tensor& v, const Tensor& x) {
    Tensor divisor = v * 2, quotient = x / divisor;
    divisor.zero_();
    quotient.uniform_(-1, 1);
    Tensor t = quotient - x;
    t.add_(w);
    Tensor view = t.squeeze(-2);
    view.uniform_(-1, 1);
    EXPECT_NE(errorOf([&] { view.sum().backward(); }), "no error");
    return t.detach();
  };
  const auto leaf = [](uint64_t seed) { return numbers({3, 2}, seed).requires_grad_(); };
  const Tensor w = leaf(1), v = leaf(2), w2 = leaf(1), v2 = leaf(2), x = numbers({3, 2}, 5);
  auto fast = compile([&](const Tensor& t) { return step(w2, v2, t); });
  for (int i = 0; i < 4; ++i) {
    Tensor(w).mutable_grad() = Tensor(), Tensor(w2).mutable_grad() = Tensor();
    manual_seed(3);
    step(w, v, x);
    manual_seed(3);
    fast(x);
    EXPECT_TRUE(same(w.grad(), w2.grad()));
    EXPECT_EQ(w.grad()._version(), w2.grad()._version()) << i << fast.plan();
  }
  EXPECT_EQ(fast.counts().hits, 2u) << "and f runs twice, as it catches an error: " << fast.explain();
}

// Who holds the gradient that a leaf is given, the graph doesn't show, but the node says it.
TEST(CompileGrads, AVariableHoldsAGradient) {
  const auto step = [](const Tensor& w, const Tensor& v, const Tensor& x, int holds) {
    Tensor(w).mutable_grad() = Tensor(), Tensor(v).mutable_grad() = Tensor();
    Tensor g = x * 3;
    if (holds == 0) return (w + v).backward(std::move(g));
    const Tensor view = holds == 1 ? g : g.view({3, 2});
    if (holds == 2) g = Tensor();
    (w + v).backward(holds == 2 ? view.view({2, 3}) : g);
  };
  for (int holds = 0; holds < 4; ++holds) {
    const auto leaf = [](uint64_t seed) { return numbers({2, 3}, seed).requires_grad_(); };
    const Tensor w = leaf(1), v = leaf(2), w2 = leaf(1), v2 = leaf(2), x = numbers({2, 3}, 5);
    auto fast = compile([&](const Tensor& t) { step(w2, v2, t, holds); });
    for (int i = 0; i < 5; ++i) {
      step(w, v, x, holds);
      fast(x);
      EXPECT_TRUE(same(w.grad(), w2.grad()) && same(v.grad(), v2.grad())) << holds;
      EXPECT_EQ(w.grad()._version(), w2.grad()._version()) << holds << ", call " << i << fast.plan();
      EXPECT_EQ(v.grad()._version(), v2.grad()._version()) << holds << ", call " << i << fast.plan();
      EXPECT_FALSE(w2.grad().is_alias_of(v2.grad()));
    }
    EXPECT_GE(fast.counts().hits, 3u);
  }
}

// Where the engine adds to the gradient that comes to the function's node, it counts on from that one's version.
TEST(CompileGrads, SumsCountOnFromTheGradientTheyBeginWith) {
  using Function = Tensor (*)(const Tensor&);
  const Function functions[] = {
      [](const Tensor& z) { return z + z.tanh(); },           [](const Tensor& z) { return z - z * 2; },
      [](const Tensor& z) { return z.tanh() + z; },           [](const Tensor& z) { return z + z; },
      [](const Tensor& z) { return z + z.tanh() + z.exp(); }, [](const Tensor& z) { return z * z + z.tanh() + z; },
      [](const Tensor& z) { return z.view({2}) + z.tanh(); }};
  using Use = void (*)(const Tensor&);
  const Use uses[] = {[](const Tensor& y) { y.sum().backward(); },
                      [](const Tensor& y) { (y * y).sum().backward(); },
                      [](const Tensor& y) { (y * y * y).sum().backward(); },
                      [](const Tensor& y) {
                        const Tensor view = y.view({1, 2});
                        (view * view).sum().backward();
                      },
                      [](const Tensor& y) {
                        const Tensor wide = y.unsqueeze(1).expand({2, 3}).t();
                        (wide * wide).sum().backward();
                      },
                      [](const Tensor& y) {
                        const Tensor part = y.narrow(0, 0, 1);
                        (part * part).sum().backward();
                      },
                      [](const Tensor& y) {
                        const Tensor held = ones({2}).add_(1);
                        y.backward(held);
                      }};
  for (size_t f = 0; f < std::size(functions); ++f) {
    auto fast = compile(functions[f]);
    for (size_t u = 0; u < std::size(uses); ++u)
      for (int i = 0; i < 3; ++i) {
        const Tensor w = numbers({2}).requires_grad_(), v = numbers({2}).requires_grad_();
        uses[u](functions[f](w));
        uses[u](fast(v));
        EXPECT_TRUE(same(w.grad(), v.grad()));
        EXPECT_EQ(w.grad()._version(), v.grad()._version()) << "function " << f << ", use " << u << ", call " << i;
      }
    EXPECT_GE(fast.counts().hits, 3u);
  }
}

TEST(CompileGrads, OfEmptyLeavesLieAsThese) {
  const auto leaf = [] { return empty({0, 3}).requires_grad_(); };
  const Tensor plain = leaf(), other = leaf();
  const auto step = [](const Tensor& w, const Tensor& x) {
    Tensor(w).mutable_grad() = Tensor();
    (w * x).t().mean({-1}, true).sum().backward();
  };
  auto fast = compile([&](const Tensor& x) { step(other, x); });
  for (int i = 0; i < 4; ++i) {
    step(plain, ones({}));
    fast(ones({}));
    EXPECT_EQ(plain.grad().strides(), other.grad().strides()) << i;
  }
  EXPECT_EQ(other.grad().strides(), IntArrayRef({3, 1}));
}

// A leaf's copy of a gradient that is read later on has the leaf's strides, those of dimensions of size 1, too, and
// memory of its own size.
TEST(CompileGrads, CopiesLieAsTheirLeaves) {
  const auto leaf = [] { return numbers({8, 1}).t().detach().requires_grad_(); };
  const Tensor plain = leaf(), other = leaf();
  ASSERT_EQ(plain.strides(), IntArrayRef({1, 1}));
  const auto step = [](const Tensor& w, const Tensor& x) {
    Tensor(w).mutable_grad() = Tensor();
    const Tensor u = (x * 1).detach().requires_grad_();
    ((w + u * 2) * x).backward(x);
    return u.grad();
  };
  auto fast = compile([&](const Tensor& x) { return step(other, x); });
  for (int i = 0; i < 6; ++i) {
    const Tensor x = numbers({1, 8}, 5 + static_cast<uint64_t>(i));
    const Tensor expected = step(plain, x), got = fast(x);
    ASSERT_TRUE(same(expected, got) && same(plain.grad(), other.grad())) << i << fast.plan();
    ASSERT_EQ(expected.strides(), got.strides()) << i << fast.plan();
    ASSERT_EQ(plain.grad().strides(), other.grad().strides()) << i << fast.plan();
    ASSERT_EQ(plain.grad().storage().nbytes(), other.grad().storage().nbytes()) << i << fast.plan();
    ASSERT_EQ(plain.grad()._version(), other.grad()._version()) << i << fast.plan();
  }
  EXPECT_GE(fast.counts().hits, 3u) << fast.explain();
}

// The grads' memory is read between the additions to them: those wait for nothing then.
TEST(CompileGrads, GradsThatAreReadBetweenAreAddedToInTime) {
  const Tensor plain = numbers({40}).requires_grad_(), other = plain.detach().clone().requires_grad_();
  const auto step = [](const Tensor& w, const Tensor& x) {
    Tensor(w).mutable_grad() = Tensor();
    (w * x).backward(x);
    const Tensor before = w.grad().mul(2);
    (w.mul(3) * x).backward(x);
    const Tensor after = w.grad().mul(2), detached = w.grad().detach();
    (w * w).backward(x);
    return std::vector<Tensor>{before, after, detached.mul(3), w.grad().mul(5)};
  };
  auto fast = compile([&](const Tensor& x) { return step(other, x); });
  for (int i = 0; i < 6; ++i) {
    const Tensor x = numbers({40}, 5 + static_cast<uint64_t>(i));
    const std::vector<Tensor> expected = step(plain, x), got = fast(x);
    ASSERT_TRUE(same(expected, got)) << fast.plan();
    ASSERT_TRUE(same(plain.grad(), other.grad())) << fast.plan();
    ASSERT_EQ(plain.grad()._version(), other.grad()._version()) << fast.plan();
  }
}

TEST(CompileGrads, AnArgumentThatIsAGradIsReadAfterTheAddition) {
  const Tensor plain = numbers({40}).requires_grad_(), other = plain.detach().clone().requires_grad_();
  const auto step = [](const Tensor& w, const Tensor& x, const Tensor& seed) {
    Tensor(w).mutable_grad() = x;
    (w * seed).backward(seed);
    const Tensor seen = x.mul(2).add(seed);
    Tensor(w).mutable_grad() = Tensor();
    return seen;
  };
  auto fast = compile([&](const Tensor& x, const Tensor& seed) { return step(other, x, seed); });
  const Tensor seed = numbers({40}, 1);
  for (int i = 0; i < 6; ++i) {
    const Tensor x = numbers({40}, 5 + static_cast<uint64_t>(i)), y = x.clone();
    ASSERT_TRUE(same(step(plain, x, seed), fast(y, seed))) << fast.plan();
    ASSERT_TRUE(same(x, y) && x._version() == y._version()) << fast.plan();
  }
  EXPECT_GE(fast.counts().hits, 3u) << fast.explain();
}

// A frozen parameter keeps its grad: functions read it, put it away and use it as before.
TEST(CompileGrads, OfATensorThatRequiresNoneAnyMore) {
  const auto make = [] { return numbers({4}).requires_grad_(); };
  const Tensor plain = make(), other = make();
  const auto step = [](const Tensor& w, const Tensor& x) {
    const Tensor scale = w.grad().defined() ? w.grad() * 2 : zeros({4}) - 1;
    w.mutable_grad() = Tensor();
    const Tensor y = (w * x).sum();
    if (y.requires_grad()) y.backward();
    return y.detach() * scale;
  };
  auto fast = compile([&](const Tensor& x) { return step(other, x); });
  for (int i = 0; i < 40; ++i) {
    for (const Tensor* w : {&plain, &other}) {
      w->set_requires_grad(i % 5 < 2);
      if (i % 7 == 3) w->mutable_grad() = full({4}, i);
    }
    const Tensor x = numbers({4}, 5 + static_cast<uint64_t>(i));
    ASSERT_TRUE(same(step(plain, x), fast(x))) << i << fast.explain();
    ASSERT_EQ(plain.grad().defined(), other.grad().defined()) << i << fast.explain();
    if (plain.grad().defined()) ASSERT_TRUE(same(plain.grad(), other.grad())) << i;
  }
  EXPECT_GE(fast.counts().hits, 10u) << fast.explain();
}

// What comes to a leaf by several ways is added in place, in the region that makes it: a leaf's grad is no memory of
// the leaf, which that reads, too, and writes in the end.
TEST(CompileGrads, SeveralWaysToALeafAreOneLoop) {
  const Tensor plain = numbers({40}).requires_grad_(), other = plain.detach().clone().requires_grad_();
  const auto step = [](const Tensor& w, const Tensor& seed) {
    Tensor(w).mutable_grad() = Tensor();
    ((w * w + w) * (w - 1)).backward(seed);
    const NoGradGuard no_grad;
    Tensor(w).sub_(w.grad(), 0.01);
  };
  auto fast = compile([&](const Tensor& seed) { step(other, seed); });
  for (int i = 0; i < 6; ++i) {
    const Tensor seed = numbers({40}, 5 + static_cast<uint64_t>(i));
    step(plain, seed), fast(seed);
    ASSERT_TRUE(same(plain, other) && same(plain.grad(), other.grad())) << fast.plan();
    ASSERT_EQ(plain.grad()._version(), other.grad()._version()) << fast.plan();
    ASSERT_EQ(plain._version(), other._version()) << fast.plan();
  }
  EXPECT_EQ(regionsOf(fast).size(), 2u) << fast.plan();  // all but the update, which is behind the grad's
  std::vector<PlanPart> before = partsOf(fast);
  before.erase(
      std::ranges::find_if(before, [](const PlanPart& p) { return p.operators[0] == "trace::accumulate_grad_"; }),
      before.end());
  EXPECT_GE(timesIn(before, "aten::add_.Tensor"), 2u) << fast.plan();
}

}  // namespace
}  // namespace shunt::test
