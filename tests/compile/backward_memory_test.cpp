// What compiled backward passes add up themselves (Note [Sums in the pass], src/compile/backward/sums.h), and what they
// make again (Note [Values made again], remade.h): the gradients, versions and errors of eager code, and where it is
// done. Runs also with SHUNT_COMPILE_CHECK set.
#include "src/compile/steps/quick_counts.h"
#include "tests/compile/plan_parts.h"
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <shunt/autograd/autograd.h>
#include <shunt/transforms/autocast.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace shunt::test {
namespace {

using compiled::quickCounts;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

Tensor leaf(IntArrayRef sizes, uint64_t seed = 7) { return numbers(sizes, seed).requires_grad_(); }
Tensors leaves(size_t n) {
  Tensors out;
  for (size_t i = 0; i < n; ++i) out.push_back(leaf({4, 3}, i + 1));
  return out;
}

using Fast = decltype(compile(std::declval<Function>()));
Fast recorded(const Function& f, size_t arguments) {
  Fast fast = compile(f);
  for (int i = 0; i < 3; ++i) std::ignore = fast(leaves(arguments));
  EXPECT_TRUE(isCompiled(fast(leaves(arguments)))) << fast.explain();
  return fast;
}

/// Passes that have added since `before`.
uint64_t sumsSince(uint64_t before) { return quickCounts().sums - before; }

/// Goes backward through both in the same way, until that is recorded; how many passes of the compiled one have added
/// then.
uint64_t compare(const Function& f, const Fast& fast, size_t arguments,
                 const std::function<void(const Function&, const Tensors&)>& use) {
  uint64_t sums = 0;
  for (int round = 0; round < 4; ++round) {
    const Tensors expected = leaves(arguments), got = leaves(arguments);
    use(f, expected);
    const uint64_t before = quickCounts().sums;
    use([&](const Tensors& t) { return fast(t); }, got);
    sums = sumsSince(before);
    for (size_t i = 0; i < arguments; ++i) {
      EXPECT_TRUE(same(got[i].grad(), expected[i].grad())) << i << fast.plan();
      if (!expected[i].grad().defined() || !got[i].grad().defined()) continue;
      EXPECT_EQ(got[i].grad()._version(), expected[i].grad()._version()) << i;
    }
  }
  return sums;
}

void withGradient(const Function& f, const Tensors& t) { f(t).backward(numbers({4, 3}, 9)); }

// Two ways to one tensor: both new; one that is the gradient itself; one that another argument gets, too.
TEST(CompiledBackwardSums, AreAddedInThePass) {
  const std::pair<Function, size_t> functions[] = {
      {[](const Tensors& t) { return t[0] * t[0].exp(); }, 1},
      {[](const Tensors& t) { return t[0].sin() + t[0].cos() * t[0].exp(); }, 1},
      {[](const Tensors& t) { return t[0] + t[0].sin(); }, 1},
      {[](const Tensors& t) { return t[0].sin() + t[0]; }, 1},
      {[](const Tensors& t) { return (t[0] + t[1]) * t[0].sin(); }, 2},
      {[](const Tensors& t) { return t[0].sin() * (t[0] + t[1]) + t[1].cos(); }, 2},
      {[](const Tensors& t) { return t[0].mm(t[1].t()).mm(t[0]) + t[1].sin(); }, 2},
      {[](const Tensors& t) { return t[0].mul(t[0]).add(t[0].sum(1, true)); }, 1},
      // Both parts are one tensor; a part is a sum that the engine has made; another tensor gets the first part, too.
      {[](const Tensors& t) { return (t[0] + t[0]).exp(); }, 1},
      {[](const Tensors& t) {
         const Tensor h = t[0] - t[0].sin();
         return h * h * h;
       },
       1},
      {[](const Tensors& t) { return t[0].sin() * (t[0] + t[1]); }, 2},
      {[](const Tensors& t) { return (t[1] + t[0]) * (t[0].sin() + t[1].exp() + t[0]); }, 2}};
  for (const auto& [f, arguments] : functions) {
    const Fast fast = recorded(f, arguments);
    EXPECT_EQ(compare(f, fast, arguments, withGradient), 1u) << fast.plan();
    EXPECT_GE(timesIn(partsOf(fast), "aten::add.Tensor"), 1u) << fast.plan();
  }
}

// What comes from elsewhere, before or after.
TEST(CompiledBackwardSums, AreTheEnginesBehindOtherGradients) {
  const Function f = [](const Tensors& t) { return t[0] * t[0].exp(); };
  const Fast fast = recorded(f, 1);
  const auto after = [](const Function& g, const Tensors& t) {
    const Tensor y = g(t);
    (y.sum() + (t[0] * 3).sum()).backward();  // recorded later, so that it comes first
  };
  EXPECT_EQ(compare(f, fast, 1, after), 0u);
  const auto before = [](const Function& g, const Tensors& t) {
    const Tensor other = (t[0] * 3).sum();
    (g(t).sum() + other).backward();
  };
  EXPECT_EQ(compare(f, fast, 1, before), 1u);
  const auto twice = [](const Function& g, const Tensors& t) { (g(t) * g(t)).sum().backward(); };
  EXPECT_EQ(compare(f, fast, 1, twice), 1u);
  const auto accumulated = [](const Function& g, const Tensors& t) {
    for (int i = 0; i < 2; ++i) g(t).sum().backward();
  };
  EXPECT_EQ(compare(f, fast, 1, accumulated), 2u);
  const auto of_another_graph = [](const Function& g, const Tensors& t) { g({t[0] * 2}).sum().backward(); };
  EXPECT_EQ(compare(f, fast, 1, of_another_graph), 1u);
  const auto asked_for = [](const Function& g, const Tensors& t) {
    t[0].mutable_grad() = autograd::grad({g(t).sum()}, {t[0]})[0];
  };
  EXPECT_EQ(compare(f, fast, 1, asked_for), 1u);
}

// The first part is a view, which no sum is: it lies as it was added, and what comes later is added to it in place.
TEST(CompiledBackwardSums, OfAViewAndMore) {
  const Function f = [](const Tensors& t) { return t[0].sin() + t[0].view({-1}).exp().view(t[0].sizes()); };
  const Fast fast = recorded(f, 1);
  const auto before = [](const Function& g, const Tensors& t) {
    const Tensor other = (t[0] * 3).sum();
    (g(t).sum() + other).backward();
  };
  EXPECT_EQ(compare(f, fast, 1, before), 1u);
  const Fast column = compile(f);
  for (int i = 0; i < 4; ++i) {
    const auto leafOfOne = [] { return numbers({1, 4}).t().requires_grad_(); };
    const Tensor expected = leafOfOne(), got = leafOfOne();
    f({expected}).backward(numbers({4, 1}, 9)), column(Tensors{got}).backward(numbers({4, 1}, 9));
    EXPECT_EQ(got.grad().strides(), expected.grad().strides()) << column.plan();
  }
}

// The engine adds what comes by way of another result: the sum that a part gives has no versions of that.
TEST(CompiledBackwardSums, OfPartsThatLeadToAnotherResult) {
  const Tensor factor = numbers({4, 3}, 5);
  const auto f = [&](const Tensors& t) -> Tensors {
    const Tensor h = (t[0] * factor).tanh();
    return {h, (h * t[0]).sin() * t[0] + t[0] * 0.5};
  };
  const auto fast = compile(std::function<Tensors(const Tensors&)>(f));
  for (int way = 0; way < 3; ++way)
    for (int i = 0; i < 4; ++i) {
      const Tensors expected = leaves(1), got = leaves(1);
      const uint64_t before = quickCounts().sums;
      for (const Tensors& y : {f(expected), fast(got)}) {
        if (way == 0) (y[0].sum() + y[1].sum()).backward();
        if (way > 0) y[1].sum().backward({}, way == 2);
        if (way == 2) y[0].sum().backward();
      }
      EXPECT_TRUE(same(got[0].grad(), expected[0].grad())) << fast.plan();
      EXPECT_EQ(got[0].grad()._version(), expected[0].grad()._version()) << fast.plan();
      if (i > 1) EXPECT_EQ(quickCounts().sums - before, 1u) << fast.plan();
    }
}

// Where a view has come first, nothing is added to that, nor to what others hold that comes then.
TEST(CompiledBackwardSums, LeaveAloneWhatOthersHold) {
  const auto f = [](const Tensors& t) -> Tensors {
    const Tensor h = t[0] + 1;
    return {h, h * 0.5 * (1 + (h + h * h * h * 0.045).tanh())};
  };
  const auto fast = compile(std::function<Tensors(const Tensors&)>(f));
  for (int i = 0; i < 4; ++i) {
    const Tensors expected = leaves(1), got = leaves(1);
    for (const Tensors& y : {f(expected), fast(got)}) (y[0].sum() + y[1].sum()).backward();
    EXPECT_TRUE(same(got[0].grad(), expected[0].grad())) << i;
    EXPECT_EQ(got[0].grad()._version(), expected[0].grad()._version()) << i;
  }
  EXPECT_GE(fast.counts().hits, 2u) << fast.explain();
}

// An argument that is passed twice gets what comes by both in one order.
TEST(CompiledBackwardSums, AreTheEnginesWhereTwoArgumentsAreOneTensor) {
  const Function f = [](const Tensors& t) { return t[1].exp() * t[1] * 0.3 + t[0].sin(); };
  const Fast fast = compile(f);
  for (int i = 0; i < 4; ++i) {
    const Tensor expected = leaf({400}, 3), got = leaf({400}, 3);
    f({expected, expected}).backward(numbers({400}, 9)), fast(Tensors{got, got}).backward(numbers({400}, 9));
    EXPECT_TRUE(same(got.grad(), expected.grad())) << fast.plan();
    EXPECT_EQ(got.grad()._version(), expected.grad()._version()) << fast.plan();
  }
}

TEST(CompiledBackwardSums, AreLeftToTheEngineWhereSomebodyLooks) {
  const Function f = [](const Tensors& t) { return t[0] * t[0].exp(); };
  const Fast fast = recorded(f, 1);
  size_t defined = 0;
  const auto hooked = [&](const Function& g, const Tensors& t) {
    const Tensor y = g(t);
    y.grad_fn()->add_post_hook([&](const Tensors& out, const Tensors&) {
      defined = static_cast<size_t>(std::ranges::count_if(out, [](const Tensor& o) { return o.defined(); }));
      return out;
    });
    y.sum().backward();
  };
  EXPECT_EQ(compare(f, fast, 1, hooked), 0u);
  EXPECT_EQ(defined, 2u);
  const auto on_leaf = [](const Function& g, const Tensors& t) {
    t[0].register_hook([](const Tensor& grad) { return grad * 2; });
    g(t).sum().backward();
  };
  EXPECT_EQ(compare(f, fast, 1, on_leaf), 1u);

  const uint64_t before = quickCounts().sums;
  const Tensor y = fast(leaves(1));
  Tensors parts = y.grad_fn()->apply({ones({4, 3})});  // by hand
  EXPECT_EQ(parts.size(), 2u);
  for (const Tensor& p : parts) EXPECT_TRUE(p.defined());
  EXPECT_EQ(sumsSince(before), 0u);
}

/// The names of the operators that a mode sees in a backward pass.
std::vector<std::string> seenBy(const std::function<void()>& backward) {
  struct Names final : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override {
      names.push_back(op.operator_name().str());
      op.callBoxed(*stack);
    }
    std::vector<std::string> names;
  } mode;
  const DispatchModeGuard on(mode);
  backward();
  return mode.names;
}

TEST(CompiledBackwardSums, AModeSeesTheEnginesAdditions) {
  const Function f = [](const Tensors& t) { return t[0] * (t[0] * 2 + 1) * t[0]; };
  const Fast fast = recorded(f, 1);
  compare(f, fast, 1, withGradient);
  const Tensors expected = leaves(1), got = leaves(1);
  const Tensor a = f(expected), b = fast(got), gradient = numbers({4, 3}, 9);
  const uint64_t before = quickCounts().sums;
  const auto seen = seenBy([&] { b.backward(gradient); }), plain = seenBy([&] { a.backward(gradient); });
  EXPECT_EQ(sumsSince(before), 0u);
  EXPECT_TRUE(same(got[0].grad(), expected[0].grad()));
  EXPECT_THAT(seen, Contains("aten::add_.Tensor"));
  if (std::getenv("SHUNT_COMPILE_CHECK") != nullptr) return;  // which calls all of them, to compare
  // Neither are the operators seen that are run again, in a pass without a mode, for what the function had made.
  EXPECT_THAT(seen, Not(Contains("aten::add.Scalar")));
  EXPECT_EQ(std::ranges::count(seen, "aten::mul.Tensor"), std::ranges::count(plain, "aten::mul.Tensor"));
  EXPECT_EQ(std::ranges::count(seen, "aten::add_.Tensor"), std::ranges::count(plain, "aten::add_.Tensor"));
}

TEST(CompiledBackwardSums, AKernelForAdditionsIsCalled) {
  const Function f = [](const Tensors& t) { return t[0] * t[0].exp(); };
  for (const char* name : {"add_.Tensor", "add.Tensor"}) {
    const Fast fast = recorded(f, 1);
    EXPECT_EQ(compare(f, fast, 1, withGradient), 1u);
    const Tensors expected = leaves(1), got = leaves(1);
    const Tensor a = f(expected), b = fast(got);
    int calls = 0;
    Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    if (std::string(name) == "add_.Tensor")
      m.impl(name, [&](Tensor& self, const Tensor& other, const Scalar&) -> Tensor& {
        ++calls;
        return self.copy_(self * 10 + other);
      });
    else
      m.impl(name, [&](const Tensor& self, const Tensor& other, const Scalar&) {
        ++calls;
        return self * 10 + other * 1;
      });
    const uint64_t before = quickCounts().sums;
    b.backward(ones({4, 3}));
    EXPECT_EQ(sumsSince(before), 0u) << name;
    const int of_compiled = std::exchange(calls, 0);
    a.backward(ones({4, 3}));
    EXPECT_EQ(of_compiled, calls) << name;
    EXPECT_TRUE(same(got[0].grad(), expected[0].grad())) << name;
  }
}

/// How many results the function's region gives.
size_t outputsOf(const Fast& fast) { return regionsOf(fast).at(0).outputs; }

// A polynomial keeps its argument, whatever eager code saves of it; what is costly is saved as ever.
TEST(CompiledBackwardRemade, WhatIsCheapOfWhatIsSaved) {
  struct Case {
    Function f;
    size_t arguments;
    size_t outputs;
  };
  const Case cases[] = {
      {[](const Tensors& t) { return (t[0] * t[0] + t[0]) * (t[0] - 1) * (t[0] + 2); }, 1, 1},
      {[](const Tensors& t) { return t[0] * 0.5 * (1 + (t[0] * t[0] * t[0] * 0.04 + t[0]).tanh()); }, 1, 2},
      {[](const Tensors& t) { return t[0] * t[0].sigmoid(); }, 1, 2},
      // What is added isn't saved, so that nothing can be made of it.
      {[](const Tensors& t) { return (t[0] * t[1] + t[2]).relu() * t[0]; }, 3, 2},
      {[](const Tensors& t) { return where(t[0] * t[1] > 0, t[0] * t[1], t[1] * t[1]) * t[0]; }, 2, 1},
      // More operators than a value is worth.
      {[](const Tensors& t) { return (((((t[0] + 1) * t[0] + 2) - 3) / 4 - 5) * 6).relu() * t[0].sin(); }, 1, 3}};
  for (const Case& c : cases) {
    const Fast fast = recorded(c.f, c.arguments);
    compare(c.f, fast, c.arguments, withGradient);
    EXPECT_EQ(outputsOf(fast), c.outputs) << fast.plan();
  }
}

// In memory anyway: a result, and what a product reads.
TEST(CompiledBackwardRemade, NotWhatTheFunctionNeedsInMemory) {
  auto results = compile([](const Tensors& t) {
    const Tensor a = t[0] * 2 + 1;
    return Tensors{a.detach(), a * a * t[0]};
  });
  for (int i = 0; i < 4; ++i) results(leaves(1))[1].backward(ones({4, 3}));
  EXPECT_EQ(timesIn(partsOf(results), "aten::add.Scalar"), 1u) << results.plan();
  const Function product = [](const Tensors& t) {
    const Tensor a = t[0] * t[0];
    return a.mm(t[1].t()).mm(a);
  };
  const Fast fast = recorded(product, 2);
  compare(product, fast, 2, withGradient);
  EXPECT_GE(timesIn(fast.plans().at(0).parts, "aten::mul.Tensor"), 1u) << fast.plan();
}

TEST(CompiledBackwardRemade, WhatWasChangedSinceIsAnErrorAsInEagerCode) {
  const Function f = [](const Tensors& t) { return (t[0] * t[1] + t[0]) * (t[1] - 1) + t[2]; };
  const Fast fast = recorded(f, 3);
  compare(f, fast, 3, withGradient);
  for (size_t which = 0; which < 3; ++which) {
    const auto errorWith = [&](const Function& g) {
      const Tensors t = leaves(3);
      const Tensor y = g(t);
      {
        const NoGradGuard no_grad;
        Tensor(t[which]).mul_(2);
      }
      return errorOf([&] { y.sum().backward(); });
    };
    const char* expected = which == 2 ? "no error" : "modified by an inplace operation";
    EXPECT_THAT(errorWith(f), HasSubstr(expected));
    EXPECT_THAT(errorWith([&](const Tensors& t) { return fast(t); }), HasSubstr(expected)) << which;
  }
  const Tensors t = leaves(3);
  const Tensor y = fast(t);
  y.sum().backward();
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), HasSubstr("has freed what it saved"));
}

// The function has called the kernels that there were.
TEST(CompiledBackwardRemade, OfTheKernelsThatTheFunctionCalled) {
  const Function f = [](const Tensors& t) { return (t[0] - 1) * (t[0] - 2) * t[0]; };
  const Fast fast = recorded(f, 1);
  compare(f, fast, 1, withGradient);
  EXPECT_EQ(outputsOf(fast), 1) << fast.plan();
  const Tensors expected = leaves(1), got = leaves(1);
  const Tensor a = f(expected), b = fast(got);
  {
    Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    m.impl("sub.Scalar", [](const Tensor& self, const Scalar&, const Scalar&) { return self * 100; });
    a.backward(ones({4, 3}));
    b.backward(ones({4, 3}));
  }
  EXPECT_TRUE(same(got[0].grad(), expected[0].grad()));
  compare(f, fast, 1, withGradient);
}

// The default dtype is the function's, whatever it is when the backward pass runs.
TEST(CompiledBackwardRemade, NotWhatTheDefaultDtypeMakes) {
  const Function f = [](const Tensors& t) { return t[0] * t[0] + t[0] * ((t[0] > 0) * 0.3); };
  const Fast fast = compile(f);
  for (int i = 0; i < 4; ++i) {
    const Tensors expected = leaves(1), got = leaves(1);
    const Tensor a = f(expected), b = fast(got);
    if (i == 1) set_default_dtype(kDouble);
    a.backward(numbers({4, 3}, 9)), b.backward(numbers({4, 3}, 9));
    set_default_dtype(kFloat);
    EXPECT_TRUE(same(got[0].grad(), expected[0].grad())) << fast.plan();
  }
}

TEST(CompiledBackwardRemade, UnderAutocastWithCreateGraphAndForOtherGradients) {
  const Function f = [](const Tensors& t) { return (t[0] * t[1] + t[0]) * (t[1] - 1); };
  const auto uses = std::to_array<std::function<void(const Function&, const Tensors&)>>(
      {[](const Function& g, const Tensors& t) {
         const Tensor y = g(t);
         const AutocastGuard on(kCPU);
         y.sum().backward();
       },
       [](const Function& g, const Tensors& t) { g(t).backward(numbers({3, 4}, 9).t()); },
       [](const Function& g, const Tensors& t) { g(t).backward(numbers({3}, 9).expand({4, 3})); },
       [](const Function& g, const Tensors& t) {
         const InferenceMode on(false);
         g(t).sum().backward();
       },
       [](const Function& g, const Tensors& t) {
         const Tensor grad = autograd::grad({g(t).sum()}, {t[0]}, {}, true, true)[0];
         grad.sum().backward();
       }});
  for (const auto& use : uses) {
    const Fast fast = recorded(f, 2);
    compare(f, fast, 2, use);
  }
}

}  // namespace
}  // namespace shunt::test
