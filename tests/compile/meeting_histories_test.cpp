// Compiled functions whose results' histories meet in what isn't returned (Note [Several results],
// src/compile/backward/parts.h): the gradients of eager code, to the bit, by whichever results they come.
#include "tests/compile/plan_parts.h"
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <shunt/autograd/autograd.h>
#include <shunt/transforms/autocast.h>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shunt::test {
namespace {

using Results = std::vector<Tensor>;

constexpr int kCalls = 6;

/// A network of two heads, which meet at what is below them, and that at a view.
struct Heads {
  Tensor trunk, first, second;
  Heads() {
    trunk = numbers({12, 4}, 3).requires_grad_();
    first = numbers({3, 6}, 4).requires_grad_();
    second = numbers({1, 6}, 5).requires_grad_();
  }
  std::vector<Tensor> leaves(const Tensor& x) const { return {trunk, first, second, x}; }
  Results forward(const Tensor& x) const {
    const Tensor hidden = linear(x, trunk).tanh().view({-1, 6}), both = hidden * hidden.sigmoid();
    return {linear(hidden, first), linear(both, second).squeeze(-1), both.exp().mean()};
  }
};

struct HeadUse {
  const char* name;
  std::function<void(const Results&, const Heads&, const Tensor& x)> of;
  bool runs_again = false;  // after which the function keeps its history
};

const std::vector<HeadUse>& headUses() {
  static const std::vector<HeadUse> all = {
      {"one", [](const Results& y, auto&, auto&) { y[0].pow(2).sum().backward(); }},
      {"another", [](const Results& y, auto&, auto&) { y[1].sum().backward(); }},
      {"all in one loss",
       [](const Results& y, auto&, const Tensor& x) { (y[0].sum() + y[1].pow(2).mean() + y[2] + x.sum()).backward(); }},
      {"as roots",
       [](const Results& y, auto&, auto&) {
         autograd::backward({y[0], y[1]}, {numbers(y[0].sizes(), 5), numbers(y[1].sizes(), 6)});
       }},
      {"one after the other",
       [](const Results& y, auto&, auto&) {
         y[2].backward({}, true);
         y[0].sum().backward({}, true);
         y[1].sum().backward();
       }},
      {"one after the other, where the first one frees what they share",
       [](const Results& y, auto&, auto&) {
         y[0].pow(2).sum().backward();
         y[1].sum().backward();
       }},
      {"hooks",
       [](const Results& y, auto&, auto&) {
         y[0].register_hook([](const Tensor& g) { return g * 3; });
         y[1].register_hook([](const Tensor& g) { return g + 1; });
         (y[0].sum() + y[1].sum()).backward();
       }},
      {"of some leaves only",
       [](const Results& y, const Heads& net, const Tensor& x) {
         x.mutable_grad() = autograd::grad({y[0].sum(), y[2]}, {net.trunk, x}, {}, {}, false, true)[1];
       }},
      {"of a leaf that the head doesn't read",
       [](const Results& y, const Heads& net, auto&) { autograd::grad({y[0].sum()}, {net.second}); }},
      {"under autocast",
       [](const Results& y, auto&, auto&) {
         const Tensor loss = y[0].sum() + y[1].sum();
         const AutocastGuard autocast(kCPU);
         loss.backward();
       },
       true},
      {"after a write",
       [](const Results& y, const Heads& net, auto&) {
         {
           const NoGradGuard no_grad;
           Tensor(net.second).mul_(2);
         }
         y[0].sum().backward({}, true);  // which doesn't read it
         y[1].sum().backward();
       }},
  };
  return all;
}

TEST(MeetingHistories, TwoHeadsOfOneNetwork) {
  for (const HeadUse& use : headUses()) {
    const Heads plain, other;
    auto fast = compile([&](const Tensor& x) { return other.forward(x); });
    for (int i = 0; i < kCalls; ++i) {
      const Tensor a = numbers({5, 4}, 10 + static_cast<uint64_t>(i)).requires_grad_(),
                   b = a.detach().clone().requires_grad_();
      for (const Heads* net : {&plain, &other})
        for (const Tensor& t : net->leaves(a)) Tensor(t).mutable_grad() = Tensor();
      const std::string expected = errorOf([&] { use.of(plain.forward(a), plain, a); });
      std::string got;
      {
        const Results y = fast(b);
        if (i >= 2 && !use.runs_again) EXPECT_TRUE(isCompiled(y[0])) << use.name << fast.explain();
        got = errorOf([&] { use.of(y, other, b); });
      }
      EXPECT_EQ(expected.substr(0, 60), got.substr(0, 60)) << use.name << i;
      for (size_t k = 0; k < 4; ++k)
        ASSERT_TRUE(same(plain.leaves(a)[k].grad(), other.leaves(b)[k].grad())) << use.name << ' ' << i << ' ' << k;
    }
    EXPECT_GE(fast.counts().hits, 3u) << fast.explain();
  }
}

TEST(MeetingHistories, WhereHeadsMeetTheirGradientsMeet) {
  const Heads net;
  auto fast = compile([&](const Tensor& x) { return net.forward(x); });
  for (int i = 0; i < 4; ++i) {
    const Results y = fast(numbers({5, 4}));
    (y[0].sum() + y[1].sum() + y[2]).backward();
    for (const Tensor& t : {net.trunk, net.first, net.second}) Tensor(t).mutable_grad() = Tensor();
  }
  // Each meeting has one of these passes: its gradient is a sum of two, in row-major order.
  const auto meets = [](const PlanDescription& d) {
    return d.of == "where histories of results meet, backward of a gradient with strides [6, 1]";
  };
  EXPECT_EQ(std::ranges::count_if(fast.plans(), meets), 2) << fast.plan();
  const Results y = fast(numbers({5, 4}));
  EXPECT_EQ(y.size(), 3u);
  int calls = 0;
  net.trunk.register_hook([&](const Tensor& g) { return ++calls, g; });
  (y[0].sum() + y[1].sum() + y[2]).backward();
  EXPECT_EQ(calls, 1);
}

/// Functions of x and two weights.
struct Network {
  const char* name;
  std::function<Results(const Tensor& x, const Tensor& w, const Tensor& v)> of;
};

const std::vector<Network>& networks() {
  static const std::vector<Network> all = {
      {"noise between a mean and a deviation",
       [](const Tensor& x, const Tensor& w, const Tensor& v) {
         const Tensor hidden = linear(x, w).tanh(), mean = linear(hidden, v), deviation = linear(hidden.sin(), v);
         return Results{linear(mean + randn_like(mean) * (deviation * 0.5).exp(), v.t()), mean, deviation};
       }},
      {"other numbers",
       [](const Tensor& x, const Tensor& w, const Tensor& v) {
         const Tensor hidden = dropout(linear(x, w), 0.5, true) + rand({6}) + rand_like(w.sum(1)) * randint(5, {6});
         return Results{linear(hidden, v), (hidden * randn({5, 6})).sum(1), hidden.cos() + randperm(6)};
       }},
      {"a cell of gates that lie in one tensor",
       [](const Tensor& x, const Tensor& w, const Tensor& v) {
         const Tensor gates = linear(x, w), kept = gates.narrow(1, 0, 3).sigmoid(),
                      given = gates.narrow(1, 3, 3).tanh();
         const Tensor cell = kept * x.narrow(1, 0, 3) + given * kept;
         return Results{cell, cell.tanh() * gates.narrow(1, 2, 3).sigmoid(), linear(gates, v)};
       }},
      {"a cell of gates that chunk() gives",
       [](const Tensor& x, const Tensor& w, const Tensor& v) {
         const std::vector<Tensor> gates = linear(x, w).chunk(3, 1);
         const Tensor cell = gates[0].sigmoid() * x.narrow(1, 0, 2) + gates[1].tanh() * gates[0];
         return Results{cell, cell.tanh() * gates[2].sigmoid(), linear(gates[1].exp(), v.narrow(1, 0, 2))};
       }},
      {"rows that unbind() gives",
       [](const Tensor& x, const Tensor& w, const Tensor& v) {
         const std::vector<Tensor> rows = linear(x, w).tanh().unbind(0), parts = (v * 2).split(1, 0);
         return Results{rows[0] * rows[1], (rows[2] + rows[0]).sin() * parts[0].squeeze(0), rows[1].exp() * rows[4],
                        parts[0] * parts[3]};
       }},
      {"activations in place",
       [](const Tensor& x, const Tensor& w, const Tensor& v) {
         const Tensor hidden = linear(x, w).relu_();
         return Results{linear(hidden, v), (hidden * 2).sigmoid_().sum(1), hidden.flatten() * 3};
       }},
      {"gradients in turns",
       [](const Tensor& x, const Tensor& w, const Tensor& v) {
         const Tensor y = linear(x, w).exp(), a = y * 2, b = y * 3, c = a.sin() * y, d = b.sin() * y;
         return Results{linear(y, v), c, d, y};
       }},
      {"what was made first is used last",
       [](const Tensor& x, const Tensor& w, const Tensor& v) {
         const Tensor early = linear(x, w) * 5, first = linear(x.exp(), w);
         return Results{first * early, first, linear(early, v)};
       }},
  };
  return all;
}

TEST(MeetingHistories, OfUsualNetworks) {
  const std::vector<std::function<void(const Results&, const Tensor& x)>> ways = {
      [](const Results& y, const Tensor&) {
        Tensor loss = y[0].sum();
        for (size_t i = 1; i < y.size(); ++i) loss = loss + y[i].pow(2).mean();
        loss.backward();
      },
      [](const Results& y, const Tensor&) { y[1].sum().backward(); },
      [](const Results& y, const Tensor& x) {
        (x.sum() + y[0].sin().sum()).backward({}, true);
        y.back().sum().backward();
      }};
  for (const Network& network : networks())
    for (size_t way = 0; way < ways.size(); ++way) {
      const auto leaves = [] {
        return std::vector<Tensor>{numbers({5, 4}, 1).requires_grad_(), numbers({6, 4}, 2).requires_grad_(),
                                   numbers({4, 6}, 3).requires_grad_()};
      };
      auto fast = compile(network.of);
      for (int i = 0; i < kCalls; ++i) {
        const std::vector<Tensor> a = leaves(), b = leaves();
        manual_seed(7);
        const Results expected = network.of(a[0], a[1], a[2]);
        ways[way](expected, a[0]);
        manual_seed(7);
        const Results got = fast(b[0], b[1], b[2]);
        if (i >= 2) EXPECT_TRUE(isCompiled(got[0])) << network.name << fast.explain();
        ways[way](got, b[0]);
        ASSERT_TRUE(same(expected, got)) << network.name << way;
        for (size_t k = 0; k < 3; ++k) ASSERT_TRUE(same(a[k].grad(), b[k].grad())) << network.name << way << k;
      }
      EXPECT_GE(fast.counts().hits, 4u) << network.name << fast.explain();
    }
}

// The graph runs again, with the numbers that it drew.
TEST(MeetingHistories, GradientsOfGradientsWithNoise) {
  const auto penalty = [](const auto& f, const Tensor& x, const Tensor& w, const Tensor& v) {
    manual_seed(7);
    const Results y = f(x, w, v);
    const std::vector<Tensor> g = autograd::grad({y[0].sum(), y[1].sum()}, {x, w}, {}, true, true);
    (g[0].pow(2).sum() + g[1].pow(2).sum()).backward();
    return rand({});
  };
  for (size_t which : {0, 1}) {
    const Network& network = networks()[which];
    auto fast = compile(network.of);
    for (int i = 0; i < kCalls; ++i) {
      std::vector<Tensor> sides[2];
      for (auto& leaves : sides)
        leaves = {numbers({5, 4}, 1).requires_grad_(), numbers({6, 4}, 2).requires_grad_(),
                  numbers({4, 6}, 3).requires_grad_()};
      const Tensor drawn = penalty(network.of, sides[0][0], sides[0][1], sides[0][2]);
      EXPECT_TRUE(same(drawn, penalty(fast, sides[1][0], sides[1][1], sides[1][2]))) << network.name << i;
      for (size_t k = 0; k < 3; ++k)
        EXPECT_TRUE(allclose(sides[0][k].grad(), sides[1][k].grad())) << network.name << i << k;
    }
  }
}

// What only says how many numbers are drawn is read no more when they are drawn again.
TEST(MeetingHistories, NumbersLikeAResultThatIsWrittenThen) {
  const auto f = [](const Tensor& w) -> Results {
    const Tensor y = w.exp();
    return {y, w * rand_like(y.detach())};
  };
  const auto fast = compile(f);
  for (int i = 0; i < 4; ++i) {
    const Tensor a = numbers({3, 4}, 2).requires_grad_(), b = numbers({3, 4}, 2).requires_grad_();
    for (const bool is_fast : {false, true}) {
      manual_seed(7);
      const Results y = is_fast ? fast(b) : f(a);
      {
        const NoGradGuard no_grad;
        Tensor(y[0]).mul_(2);
      }
      y[1].backward(numbers({4, 3}, 5).t());
    }
    EXPECT_TRUE(same(a.grad(), b.grad())) << i;
    EXPECT_TRUE(i < 2 || fast.counts().hits > 0) << fast.explain();
  }
}

// Under no_grad it keeps its history, and so do both that read it: of one tensor, but other elements.
TEST(MeetingHistories, InWhatIsWrittenBetweenItsReadersWithoutGradMode) {
  const auto f = [](const Tensor& w) -> Results {
    Tensor y = w * 2;
    const Tensor before = y * 3;
    {
      const NoGradGuard no_grad;
      y.add_(1);
    }
    return {y + before, before};
  };
  const auto fast = compile(f);
  for (int i = 0; i < 4; ++i) {
    const Tensor a = numbers({3, 4}, 2).requires_grad_(), b = numbers({3, 4}, 2).requires_grad_();
    for (const bool is_fast : {false, true}) {
      const Results y = is_fast ? fast(b) : f(a);
      y[0].backward(numbers({4, 3}, 5).t());
      y[1].backward(numbers({4, 3}, 6).t());
    }
    EXPECT_TRUE(same(a.grad(), b.grad())) << i;
  }
  EXPECT_GE(fast.counts().hits, 2u) << fast.explain();
}

int times_drawn = 0;  // by a program's kernels, which ask no generator
Tensor& countedUniform(Tensor& t, double, double, std::optional<Generator>) { return t.fill_(++times_drawn); }
Tensor& countedBernoulli(Tensor& t, double, std::optional<Generator>) { return t.fill_(++times_drawn); }
Tensor countedNoise(const Tensor& t, std::optional<ScalarType>, std::optional<Layout>, std::optional<Device>,
                    std::optional<bool>, std::optional<MemoryFormat>) {
  return full(t.sizes(), ++times_drawn);
}

// Its numbers are gone when it has run: no graph is run again for them.
TEST(MeetingHistories, NotWithNumbersThatAProgramsKernelDraws) {
  struct Case {
    const char* op;
    DispatchKey key;
    std::function<void(Library&)> add;
    std::function<Tensor(const Tensor&)> noise;
  };
  const std::vector<Case> cases = {
      {"rand's part", DispatchKey::CPU, [](Library& l) { l.impl("uniform_", &countedUniform); },
       [](const Tensor& t) { return rand(t.sizes()); }},
      {"dropout's part", DispatchKey::CPU, [](Library& l) { l.impl("bernoulli_.float", &countedBernoulli); },
       [](const Tensor& t) { return dropout(ones(t.sizes()), 0.5, true); }},
      {"randn_like", DispatchKey::AutogradCPU, [](Library& l) { l.impl("randn_like", &countedNoise); },
       [](const Tensor& t) { return randn_like(t); }}};
  for (const Case& c : cases)
    for (const int registered_at : {0, 2}) {
      const Tensor w = numbers({3, 4}, 2).requires_grad_();
      const auto fast = compile([&](const Tensor& x) { return (x * w * c.noise(w)).sin() * w; });
      std::optional<Library> library;
      for (int i = 0; i < 5; ++i) {
        if (i == registered_at) c.add(library.emplace(Library::Kind::kImpl, "aten", c.key));
        const Tensor y = fast(numbers({3, 4}, 9)).sum();
        const Tensor once = autograd::grad({y}, {w}, {}, true)[0],
                     again = autograd::grad({y}, {w}, {}, true, i >= registered_at)[0];
        EXPECT_TRUE(same(once, again.detach())) << c.op << i << fast.explain();
      }
    }
}

}  // namespace
}  // namespace shunt::test
