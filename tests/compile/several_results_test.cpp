// Compiled functions several of whose results require grad, as a loss and what it is made of: the gradients of eager
// code, to the bit, wherever these are differentiated, hooked or changed.
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <shunt/autograd/autograd.h>
#include <shunt/transforms/autocast.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace shunt::test {
namespace {

using testing::HasSubstr;
using Results = std::vector<Tensor>;

constexpr int kCalls = 6;

struct Net {
  Tensor w1, w2;
  Net() {
    w1 = numbers({8, 4}, 3).requires_grad_();
    w2 = numbers({3, 8}, 4).requires_grad_();
  }
  /// The loss, the logits, what is below these.
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const Tensor& y) const {
    const Tensor hidden = linear(x, w1).tanh(), logits = linear(hidden, w2);
    return {cross_entropy_loss(logits, y), logits, hidden};
  }
  void forget() const {
    for (const Tensor& t : {w1, w2}) Tensor(t).mutable_grad() = Tensor();
  }
};

struct Use {
  const char* name;
  std::function<void(const Tensor& loss, const Tensor& logits, const Tensor& hidden, const Tensor& x)> of;
  bool is_exact = true;  // also where the graph runs again
};

const std::vector<Use>& uses() {
  static const std::vector<Use> all = {
      {"the loss", [](const Tensor& loss, auto&, auto&, auto&) { loss.backward(); }},
      {"the logits", [](auto&, const Tensor& logits, auto&, auto&) { logits.sum().backward(); }},
      {"what is below", [](auto&, auto&, const Tensor& hidden, auto&) { hidden.pow(2).sum().backward(); }},
      {"all in one loss",
       [](const Tensor& loss, const Tensor& logits, const Tensor& hidden, const Tensor& x) {
         (loss * 2 + logits.pow(2).mean() + hidden.sum() + x.sum()).backward();
       }},
      {"one after the other",
       [](const Tensor& loss, const Tensor& logits, const Tensor& hidden, auto&) {
         loss.backward({}, true);
         logits.sigmoid().sum().backward({}, true);
         hidden.exp().sum().backward();
       }},
      {"both as roots", [](const Tensor& loss, const Tensor& logits, auto&,
                           auto&) { autograd::backward({loss, logits}, {ones({}), numbers(logits.sizes(), 5)}); }},
      {"the gradient at the logits",
       [](const Tensor& loss, const Tensor& logits, const Tensor& hidden, const Tensor& x) {
         const std::vector<Tensor> g = autograd::grad({loss}, {logits, hidden}, {}, true);
         x.mutable_grad() = (g[0].sum() + g[1].sum()).detach().expand(x.sizes()).contiguous();
       }},
      {"hooks",
       [](const Tensor& loss, const Tensor& logits, const Tensor& hidden, auto&) {
         logits.register_hook([](const Tensor& g) { return g * 3; });
         hidden.register_hook([](const Tensor& g) { return g + 1; });
         (loss + logits.sum()).backward();
       }},
      {"retained grads",
       [](const Tensor& loss, const Tensor& logits, auto&, const Tensor& x) {
         logits.retain_grad();
         loss.backward();
         x.mutable_grad() = x.grad() + logits.grad().sum();
       }},
      {"logits written afterwards",
       [](const Tensor& loss, const Tensor& logits, auto&, auto&) {
         const Tensor before = loss.detach();
         Tensor(logits).mul_(2);
         logits.sum().backward();
       }},
      {"under autocast",
       [](const Tensor& loss, const Tensor& logits, auto&, auto&) {
         const Tensor both = loss + logits.sum();
         const AutocastGuard autocast(kCPU);
         both.backward();
       }},
      {"a gradient's gradient, by the logits too",
       [](const Tensor& loss, const Tensor& logits, auto&, const Tensor& x) {
         const std::vector<Tensor> g = autograd::grad({loss}, {logits, x}, {}, true, true);
         (g[0].pow(2).sum() + g[1].pow(2).sum()).backward();
       },
       false},
  };
  return all;
}

void expectSame(const Net& got, const Net& expected, const Tensor& x, const Tensor& y, const std::string& what) {
  ASSERT_TRUE(same(got.w1.grad(), expected.w1.grad())) << what;
  ASSERT_TRUE(same(got.w2.grad(), expected.w2.grad())) << what;
  ASSERT_TRUE(same(x.grad(), y.grad())) << what;
}

TEST(SeveralResults, GiveTheGradsOfEagerCode) {
  const Tensor labels = arange(5).to(kLong).remainder(3);
  for (const Use& use : uses()) {
    const Net plain, other;
    auto fast = compile([&](const Tensor& x) { return other.forward(x, labels); });
    int compiled = 0;
    for (int i = 0; i < kCalls; ++i) {
      const Tensor x = numbers({5, 4}, 10 + static_cast<uint64_t>(i)).requires_grad_(), z = x.detach().clone();
      z.requires_grad_();
      plain.forget(), other.forget();
      const auto [loss, logits, hidden] = plain.forward(x, labels);
      const auto [its_loss, its_logits, its_hidden] = fast(z);
      ASSERT_TRUE(same(its_loss, loss) && same(its_logits, logits) && same(its_hidden, hidden)) << use.name;
      const bool all = isCompiled(its_loss) && isCompiled(its_logits) && isCompiled(its_hidden);
      compiled += all;
      use.of(loss, logits, hidden, x), use.of(its_loss, its_logits, its_hidden, z);
      if (use.is_exact || !all)
        expectSame(other, plain, z, x, detail::str(use.name, ", call ", i, '\n', fast.explain()));
      else
        ASSERT_TRUE(allclose(z.grad(), x.grad())) << use.name;
    }
    EXPECT_GE(compiled, 1) << use.name << fast.explain();
    EXPECT_GE(fast.counts().hits, kCalls - 3u) << use.name << fast.explain();
  }
}

TEST(SeveralResults, ErrorsAreEagerCodes) {
  const Tensor labels = arange(5).to(kLong).remainder(3);
  const Net net;
  const auto f = [&](const Tensor& x) { return net.forward(x, labels); };
  auto fast = compile(f);
  for (int i = 0; i < 3; ++i) std::ignore = fast(numbers({5, 4}).requires_grad_());
  const auto errorsOf = [](const auto& results) {
    const auto& [loss, logits, hidden] = results;
    std::string out;
    const auto note = [&](const Tensor& t, bool retain) {
      const std::string error = errorOf([&] { t.sum().backward({}, retain); });
      out += error == "no error" ? "none. " : error.find("freed") != std::string::npos ? "freed. " : error;
    };
    note(logits, false);  // frees what is below
    note(loss, true);
    note(hidden, true);
    return out;
  };
  const auto expected = errorsOf(f(numbers({5, 4}).requires_grad_()));
  EXPECT_EQ(errorsOf(fast(numbers({5, 4}).requires_grad_())), expected);
  EXPECT_THAT(expected, HasSubstr("freed"));
}

TEST(SeveralResults, ViewsStatisticsAndRandomNumbers) {
  const Tensor w = numbers({3, 4}, 3).requires_grad_(), mean = zeros({3}), var = ones({3}), mean_too = zeros({3}),
               var_too = ones({3});
  const auto f = [&](const Tensor& x, const Tensor& m, const Tensor& v) {
    const Tensor logits = batch_norm(linear(x, w), {}, {}, m, v, true, 0.1, 1e-5, false);
    return std::pair{(dropout(logits, 0.5, true) * 2).sum(1), x.exp().view({4, 5})};
  };
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = numbers({5, 4}, 30 + static_cast<uint64_t>(i)).requires_grad_(), z = x.detach().clone();
    z.requires_grad_();
    manual_seed(5);
    const auto [a, b] = f(x, mean, var);
    manual_seed(5);
    const auto [c, d] = fast(z, mean_too, var_too);
    ASSERT_TRUE(same(a, c) && same(b, d));
    EXPECT_EQ(isCompiled(c), i > 0) << fast.explain();
    EXPECT_EQ(d.grad_fn()->name(), b.grad_fn()->name());
    (a.sum() + b.pow(2).sum()).backward(), (c.sum() + d.pow(2).sum()).backward();
    ASSERT_TRUE(same(x.grad(), z.grad())) << i;
    ASSERT_TRUE(same(mean, mean_too) && same(var, var_too)) << i;
  }
}

// Gradients come to one tensor from two results, and from elsewhere.
TEST(SeveralResults, SumsHaveEagerCodesOrder) {
  const auto f = [](const Tensor& x, const Tensor& w) {
    const Tensor first = (x * w).exp();
    return std::pair{(first * w).sin(), first};
  };
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i) {
    Tensor x[2], w[2];
    for (int k = 0; k < 2; ++k) {
      x[k] = numbers({64}, 40).requires_grad_();
      w[k] = numbers({64}, 41).requires_grad_();
      const auto [last, first] = k == 0 ? f(x[k], w[k]) : fast(x[k], w[k]);
      if (k == 1 && i > 0) EXPECT_TRUE(isCompiled(last) && isCompiled(first)) << fast.explain();
      (last * numbers({64}, 42) + first * numbers({64}, 43) + w[k] * numbers({64}, 44)).sum().backward();
    }
    ASSERT_TRUE(same(x[0].grad(), x[1].grad())) << i;
    ASSERT_TRUE(same(w[0].grad(), w[1].grad())) << i;
  }
}

// Two leaves of the graph, and one of the history.
TEST(SeveralResults, OneTensorAsTwoArguments) {
  const auto f = [](const Tensor& x, const Tensor& y) {
    const Tensor a = y.sin(), b = x.exp(), c = a * 2, d = x.cos();
    return std::tuple{c, b, d};
  };
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i) {
    Tensor grads[2];
    for (int k = 0; k < 2; ++k) {
      const Tensor x = numbers({64}, 50).requires_grad_();
      const auto [a, b, c] = k == 0 ? f(x, x) : fast(x, x);
      (a * numbers({64}, 51) + b * numbers({64}, 52) + c * numbers({64}, 53)).sum().backward();
      grads[k] = x.grad();
    }
    ASSERT_TRUE(same(grads[0], grads[1])) << i << fast.explain();
  }
}

TEST(SeveralResults, HooksRunInEagerCodesOrder) {
  const auto f = [](const Tensor& x) { return std::tuple{x.exp().view({4}), x.sin(), x.cos().view({4})}; };
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i) {
    std::string seen[2];
    for (int k = 0; k < 2; ++k) {
      const Tensor x = numbers({2, 2}).requires_grad_();
      const auto [a, b, c] = k == 0 ? f(x) : fast(x);
      EXPECT_EQ(isCompiled(b), k == 1 && i > 0) << fast.explain();
      const auto note = [&](const Tensor& t, const char* name) {
        t.register_hook([&seen, k, name](const Tensor& g) {
          seen[k] += name;
          return g;
        });
      };
      note(a, "a"), note(b, "b"), note(c, "c");
      (a.sum() + b.sum() + c.sum()).backward();
    }
    EXPECT_EQ(seen[1], seen[0]) << i;
  }
}

// What a result's graph doesn't read may be changed before that runs again.
TEST(SeveralResults, AResultThatAnotherDoesNotReadMayBeWritten) {
  const auto f = [](const Tensor& x, const Tensor& y) { return std::pair{x * 2, y.exp() + y.sin()}; };
  auto fast = compile(f);
  for (int i = 0; i < 3; ++i) std::ignore = fast(numbers({4, 6}).requires_grad_(), numbers({4, 6}).requires_grad_());
  const Tensor x = numbers({4, 6}).requires_grad_(), y = numbers({4, 6}, 8).requires_grad_();
  const auto [a, b] = fast(x, y);
  ASSERT_TRUE(isCompiled(b));
  Tensor(a).add_(1);
  b.backward(numbers({6, 4}, 9).t());
  const Tensor z = y.detach().requires_grad_();
  (z.exp() + z.sin()).backward(numbers({6, 4}, 9).t());
  EXPECT_TRUE(same(y.grad(), z.grad()));
}

TEST(SeveralResults, WhatMeetsInOtherWaysKeepsTheHistory) {
  const auto why = [](const auto& f) {
    auto fast = compile(f);
    for (int i = 0; i < 3; ++i) std::ignore = fast(numbers({4}).requires_grad_());
    EXPECT_GE(fast.counts().hits, 1u);
    const std::string text = fast.explain();
    const size_t at = text.find("not compiled: ");
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(why([](const Tensor& x) { return std::pair{x * 2, x * 3}; }), "");
  EXPECT_EQ(why([](const Tensor& x) {
              const Tensor y = x.exp();
              return std::pair{y.sum(), y};
            }),
            "");
  EXPECT_THAT(why([](const Tensor& x) {
                const std::vector<Tensor> y = x.split(2);
                return std::pair{y[0] * y[1], y[0] + y[1]};
              }),
              HasSubstr("meet in parts of what was given"));
  EXPECT_THAT(why([](const Tensor& x) {
                const Tensor y = x.exp();
                Tensor seen;
                {
                  const NoGradGuard no_grad;
                  seen = y.view(-1);
                }
                const std::vector<Tensor> parts = seen.chunk(2, 0);
                return std::pair{parts[0].tanh(), parts[0] * parts[1]};
              }),
              HasSubstr("meet in what has none in the end"));
  EXPECT_THAT(why([](const Tensor& x) {
                const Tensor y = x * 5, a = y * 2, b = y * 3;
                y.detach().add_(1);
                return std::pair{a, b};
              }),
              HasSubstr("meet in what is written in place"));
  EXPECT_THAT(why([](const Tensor& x) {
                const Tensor y = x.exp();
                return std::pair{y, y.view({2, 2})};
              }),
              HasSubstr("share memory"));
  EXPECT_THAT(why([](const Tensor& x) {
                const Tensor y = x.exp();
                return std::pair{y * 2, y.view({2, 2})};
              }),
              HasSubstr("a view of what another is made of"));
  EXPECT_THAT(why([](const Tensor& x) {
                const auto [values, indices] = max(x.view({2, 2}), 0);
                return std::pair{values, values.exp()};
              }),
              "");
  EXPECT_THAT(why([](const Tensor& x) {
                Tensor y = x * 2;
                const Tensor z = y * 3;
                y.add_(1);
                return std::pair{y, z};
              }),
              HasSubstr("written in place"));
  EXPECT_THAT(why([](const Tensor& x) {
                Tensor y = x * 5;
                const Tensor before = y.view({-1});
                y.relu_();
                return std::vector{y * 2, y * 3, before.sin()};
              }),
              HasSubstr("meet in what is written in place"));
}

}  // namespace
}  // namespace shunt::test
