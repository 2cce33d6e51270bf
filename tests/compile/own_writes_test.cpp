// Functions that write running statistics, counters and averages of parameters: written as often as in eager code,
// also by operators whose schemas don't say that they write, and no bar to a compiled backward pass.
#include "tests/compile/same.h"

#include <shunt/autograd/autograd.h>
#include <shunt/transforms/autocast.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace shunt::test {
namespace {

using testing::HasSubstr;
using Loss = std::function<Tensor(const Tensor&)>;

constexpr int kCalls = 6;

struct Layer {
  Tensor weight, bias, mean = zeros({3}), var = ones({3}), count = zeros({}, TensorOptions(kLong));
  Layer() {
    weight = numbers({3}, 1).requires_grad_();
    bias = numbers({3}, 2).requires_grad_();
  }
  Tensor norm(const Tensor& x) const { return batch_norm(x, weight, bias, mean, var, true, 0.1, 1e-5, false); }
  Tensor forward(const Tensor& x) const {
    Tensor(count).add_(1);
    return norm(x * 2).relu();
  }
  std::vector<Tensor> state() const { return {mean, var, count, weight.grad(), bias.grad()}; }
};

void expectSame(const Layer& got, const Layer& expected, const std::string& what) {
  for (size_t i = 0; i < expected.state().size(); ++i) {
    ASSERT_TRUE(same(got.state()[i], expected.state()[i])) << what << ", tensor " << i;
    if (i < 3) EXPECT_EQ(got.state()[i]._version(), expected.state()[i]._version()) << what << ", tensor " << i;
  }
}

struct Use {
  const char* name;
  std::function<void(const Loss&, const Tensor&)> run;
};

const std::vector<Use>& uses() {
  static const std::vector<Use> all = {
      {"a loss", [](const Loss& f, const Tensor& x) { f(x).pow(2).sum().backward(); }},
      {"nothing", [](const Loss& f, const Tensor& x) { std::ignore = f(x); }},
      {"two calls before backward()",
       [](const Loss& f, const Tensor& x) {
         const Tensor y = f(x), z = f(x * 3);
         (y * z).sum().backward();
       }},
      {"backward() twice",
       [](const Loss& f, const Tensor& x) {
         const Tensor y = f(x);
         y.sum().backward({}, true);
         y.mean().backward();
       }},
      // The function's graph runs again in these, which must not write again.
      {"backward() under autocast",
       [](const Loss& f, const Tensor& x) {
         const Tensor loss = f(x).sum();
         const AutocastGuard autocast(kCPU);
         loss.backward();
       }},
      {"a gradient's gradient",
       [](const Loss& f, const Tensor& x) {
         autograd::grad({f(x).pow(2).sum()}, {x}, {}, true, true)[0].pow(2).sum().backward();
       }},
  };
  return all;
}

TEST(OwnWrites, StatisticsAndCountersAreWrittenOnceACall) {
  for (const Use& use : uses()) {
    const Layer plain, other;
    auto fast = compile([&](const Tensor& x) { return other.forward(x); });
    int compiled = 0;
    for (int i = 0; i < kCalls; ++i) {
      const Tensor x = numbers({5, 3}, 10 + static_cast<uint64_t>(i)), y = x.clone();
      const auto f = [&](const Tensor& t) {
        const Tensor out = fast(t);
        compiled += isCompiled(out);
        return out;
      };
      use.run([&](const Tensor& t) { return plain.forward(t); }, Tensor(x).requires_grad_());
      use.run(f, Tensor(y).requires_grad_());
      expectSame(other, plain, detail::str(use.name, ", call ", i));
      ASSERT_TRUE(same(x.grad(), y.grad())) << use.name << ", call " << i;
    }
    EXPECT_GE(compiled, 1) << use.name << fast.explain();
    EXPECT_GE(fast.counts().hits, kCalls - 2u) << use.name << fast.explain();
  }
}

TEST(OwnWrites, OfArgumentsAndOfAverages) {
  const auto f = [](const Tensor& x, const Tensor& w, const Tensor& average, const Tensor& count) {
    {
      const NoGradGuard no_grad;
      Tensor(average).view(-1).mul_(0.9).add_(w.detach(), 0.1);
      Tensor(count).add_(1);
    }
    return (x * w).sigmoid();
  };
  auto fast = compile(f);
  int compiled = 0;
  Tensor in[2][4];
  for (auto& t : in) {
    t[0] = numbers({4}, 3).requires_grad_(), t[1] = numbers({4}, 4).requires_grad_();
    t[2] = zeros({4}), t[3] = zeros({}, TensorOptions(kLong));
  }
  for (int i = 0; i < kCalls; ++i) {
    const Tensor y = f(in[0][0], in[0][1], in[0][2], in[0][3]), z = fast(in[1][0], in[1][1], in[1][2], in[1][3]);
    compiled += isCompiled(z);
    const bool again = i == kCalls - 1;  // its graph runs again, after more was written to what it writes alone
    if (again) {
      f(in[0][0], in[0][1], in[0][2], in[0][3]), fast(in[1][0], in[1][1], in[1][2], in[1][3]);
      autograd::grad({y.sum()}, {in[0][0]}, {}, true, true)[0].sum().backward();
      autograd::grad({z.sum()}, {in[1][0]}, {}, true, true)[0].sum().backward();
    } else {
      y.sum().backward(), z.sum().backward();
    }
    for (size_t k = 0; k < 4; ++k) {
      ASSERT_TRUE(same(in[0][k], in[1][k])) << i << ' ' << k;
      ASSERT_TRUE(same(in[0][k].grad(), in[1][k].grad())) << i << ' ' << k;
      EXPECT_EQ(in[0][k]._version(), in[1][k]._version()) << i << ' ' << k;
    }
  }
  EXPECT_GE(compiled, kCalls - 2) << fast.explain();
}

TEST(OwnWrites, WhatIsReadOrSeenKeepsTheHistory) {
  const auto why = [](const auto& f) {
    auto fast = compile(f);
    for (int i = 0; i < 3; ++i) std::ignore = fast(numbers({5, 3}).requires_grad_());
    const std::string text = fast.explain();
    const size_t at = text.find("not compiled: ");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  const Layer layer;
  EXPECT_EQ(why([&](const Tensor& x) { return layer.forward(x); }), "");
  EXPECT_THAT(why([&](const Tensor& x) { return layer.norm(x) * layer.mean; }),
              HasSubstr("reads a tensor that it was given and writes"));
  EXPECT_THAT(why([&](const Tensor& x) {
                Tensor(layer.mean).add_(1);
                return x * layer.mean.view({1, 3});
              }),
              HasSubstr("reads a tensor that it was given and writes"));
  EXPECT_THAT(why([&](const Tensor& x) { return std::pair{layer.norm(x), layer.mean}; }),
              HasSubstr("returns a tensor that it was given and writes"));
  EXPECT_THAT(why([&](const Tensor& x) {
                Tensor(layer.count).random_(0, 5);
                return x * 2;
              }),
              HasSubstr("random numbers"));
}

// Statistics that one call leaves are what the next one finds, whatever else the graph can do without.
TEST(OwnWrites, BatchNormIsNeitherDeadNorTheSameTwiceNorMoved) {
  using Function = Tensor (*)(const Layer&, const Tensor&);
  const Function functions[] = {
      [](const Layer& l, const Tensor& x) {
        l.norm(x);
        return x * 2;
      },
      [](const Layer& l, const Tensor& x) { return l.norm(x) + l.norm(x); },
      [](const Layer& l, const Tensor& x) {
        const Tensor before = l.mean + 1;
        l.norm(x);
        return before + (l.mean + 1) + x.sum();
      },
  };
  for (const bool grad : {false, true})
    for (const Function f : functions) {
      const AutoGradMode mode(grad);
      const Layer plain, other;
      auto fast = compile([&](const Tensor& x) { return f(other, x); });
      for (int i = 0; i < kCalls; ++i) {
        const Tensor x = numbers({5, 3}, 20 + static_cast<uint64_t>(i));
        ASSERT_TRUE(same(fast(x), f(plain, x))) << i;
        expectSame(other, plain, detail::str("call ", i));
      }
      EXPECT_GE(fast.counts().hits, kCalls - 1u) << fast.explain();
    }
}

}  // namespace
}  // namespace shunt::test
