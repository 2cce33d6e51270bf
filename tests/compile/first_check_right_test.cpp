// CompileCheck::kFirst: functions whose graphs are right run as eager code does while they are checked, to the bit:
// results, effects, each of which happens once, random numbers, gradients. Nothing is warned of.
#include "tests/compile/same.h"
#include "tests/compile/warnings.h"

#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace shunt::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Tensors = std::vector<Tensor>;

const CompileOptions kChecked{.check = CompileCheck::kFirst, .name = "checked"};
constexpr int kCalls = 12;

/// A function, and the state that it writes, which is its own.
struct Program {
  std::function<Tensors(const Tensor&)> f;
  Tensors state = {};
  std::function<void(const Tensors&)> then = [](const Tensors&) {};  // with the results
};

struct Case {
  const char* name;
  std::function<Program()> make;
  std::function<Tensor()> input = [] { return numbers({4, 3}, 3); };
};

Tensor parameter(IntArrayRef sizes, uint64_t seed) { return numbers(sizes, seed).requires_grad_(); }

Program statistics() {
  const Tensor mean = zeros({3}), var = ones({3}), weight = ones({3}), bias = zeros({3}), count = zeros({}, kLong);
  return {[=](const Tensor& x) -> Tensors {
            Tensor(count).add_(1);
            return {batch_norm(x, weight, bias, mean, var, true, 0.1, 1e-5, true)};
          },
          {mean, var, count}};
}

Program optimizer() {
  const Tensor w = parameter({3, 2}, 9), m = zeros({3, 2}), steps = zeros({});
  return {[=](const Tensor& x) -> Tensors {
            w.mutable_grad() = Tensor();
            const Tensor loss = x.mm(w).tanh().square().mean();
            loss.backward();
            const NoGradGuard no_grad;
            Tensor(steps).add_(1);
            Tensor(m).mul_(0.9).add_(w.grad(), 0.1);
            Tensor(w).sub_(m / (1 - steps.mul(-0.1).exp()), 0.05);
            return {loss.detach()};
          },
          {w, m, steps}};
}

Program accumulating() {
  const Tensor w = parameter({3, 2}, 9);
  w.mutable_grad() = ones({3, 2});
  return {[=](const Tensor& x) -> Tensors {
            x.mm(w).square().sum().backward();
            return {};
          },
          {w}};
}

/// The grads are clones of gradients that have one stride of 0 each, and written in place. `times` are added up.
Program clipping(int times) {
  const Tensor w = parameter({4, 3}, 9);
  return {[=](const Tensor& x) -> Tensors {
            w.mutable_grad() = Tensor();
            for (int i = 0; i < times; ++i) (x + w).sum().backward();
            w.mutable_grad().mul_(0.5);
            return {};
          },
          {w}};
}

const Case kCases[] = {
    {"pointwise", [] { return Program{[](const Tensor& x) { return Tensors{(x * 2).exp() + 1}; }}; }},
    {"statistics", statistics},
    {"optimizer", optimizer},
    {"accumulating", accumulating},
    {"clipping", [] { return clipping(1); }},
    {"accumulating and clipping", [] { return clipping(2); }},
    {"written view",
     [] {
       const Tensor all = zeros({4, 6});
       return Program{[=](const Tensor& x) -> Tensors {
                        all.narrow(1, 1, 3).add_(x);
                        return {all.sum(), all.select(0, 1)};
                      },
                      {all}};
     }},
    {"written argument, and it is the result",
     [] { return Program{[](const Tensor& x) { return Tensors{Tensor(x).mul_(2), x.t(), x}; }}; }},
    {"result is captured",
     [] {
       const Tensor w = ones({3});
       return Program{[=](const Tensor& x) { return Tensors{w, x + w, w.view({3, 1})}; }, {w}};
     }},
    {"one result twice",
     [] {
       return Program{[](const Tensor& x) {
         const Tensor y = x + 1;
         return Tensors{y, y, y.t()};
       }};
     }},
    {"no_grad",
     [] {
       const Tensor w = parameter({3}, 4);
       return Program{[=](const Tensor& x) -> Tensors {
         const NoGradGuard no_grad;
         return {x * w};
       }};
     }},
    {"dropout", [] { return Program{[](const Tensor& x) { return Tensors{dropout(x, 0.5, true), rand_like(x)}; }}; }},
    {"generator",
     [] {
       const Generator own = make_generator(5);
       return Program{[=](const Tensor& x) { return Tensors{empty_like(x).uniform_(0, 1, own), x.bernoulli(0.5)}; }};
     }},
    {"autocast",
     [] {
       const Tensor w = parameter({3, 2}, 4);
       return Program{[=](const Tensor& x) -> Tensors {
                        const AutocastGuard on(kCPU);
                        return {x.mm(w), x.mm(w).softmax(1)};
                      },
                      {w},
                      [](const Tensors& y) { y[0].sum().backward(); }};
     }},
    {"vmap",
     [] {
       return Program{
           [](const Tensor& x) { return Tensors{vmap([](const Tensor& r) { return r.softmax(0) * 2; })(x)}; }};
     }},
    {"grad",
     [] {
       return Program{[](const Tensor& x) { return Tensors{grad([](const Tensor& r) { return r.tanh().sum(); })(x)}; }};
     }},
    {"vmap of grad",
     [] {
       return Program{
           [](const Tensor& x) { return Tensors{vmap(grad([](const Tensor& r) { return r.square().sum(); }))(x)}; }};
     }},
    {"empty", [] { return Program{[](const Tensor& x) { return Tensors{x * 2, x.sum()}; }}; },
     [] { return empty({0, 3}); }},
    {"NaNs", [] { return Program{[](const Tensor& x) { return Tensors{x.log(), x.log().sum()}; }}; },
     [] { return full({4}, -1); }},
    {"integers", [] { return Program{[](const Tensor& x) { return Tensors{x + 1, x.sum(), x.gt(2)}; }}; },
     [] { return arange(7); }},
    {"transposed", [] { return Program{[](const Tensor& x) { return Tensors{x.t().tanh(), x.t().contiguous()}; }}; }},
    {"backward outside",
     [] {
       const Tensor w = parameter({3, 2}, 9);
       return Program{[=](const Tensor& x) { return Tensors{x.mm(w).relu().sum(1)}; },
                      {w},
                      [](const Tensors& y) { y[0].sum().backward(); }};
     }},
    {"two results with histories that meet",
     [] {
       const Tensor w = parameter({3, 2}, 9);
       return Program{[=](const Tensor& x) -> Tensors {
                        const Tensor h = x.mm(w).tanh();
                        return {h.sum(), h * 2};
                      },
                      {w},
                      [](const Tensors& y) { (y[0] + y[1].mean()).backward(); }};
     }},
    {"gradients of gradients",
     [] {
       const Tensor w = parameter({3, 2}, 9);
       return Program{[=](const Tensor& x) -> Tensors {
                        const Tensor y = x.mm(w).tanh().sum();
                        return {autograd::grad({y}, {w}, {}, true, true)[0].square().sum()};
                      },
                      {w},
                      [](const Tensors& y) { y[0].backward(); }};
     }},
    {"nested",
     [] {
       const Tensor total = zeros({3});
       auto inner = compile([=](const Tensor& x) { return Tensor(total).add_(x.sum(0)).clone(); }, kChecked);
       return Program{[=](const Tensor& x) { return Tensors{inner(x) * 2, inner(x.exp())}; }, {total}};
     }},
    {"tensors made of numbers",
     [] {
       return Program{[](const Tensor& x) -> Tensors {
         Tensor made = tensor({1.5, 2.5, 3.5}, kFloat);
         made.add_(x.sum(0));
         return {made, scalar_tensor(3, kFloat).add_(x.sum())};
       }};
     }},
    {"in place with history",
     [] {
       const Tensor w = parameter({3, 2}, 9);
       return Program{[=](const Tensor& x) { return Tensors{x.mm(w).mul_(2).relu_()}; },
                      {w},
                      [](const Tensors& y) { y[0].sum().backward(); }};
     }},
};

/// What is there after the calls.
Tensors runAll(const Case& c, bool compiled, uint64_t* hits, std::string* explained) {
  const Program p = c.make();
  auto fast = compile(p.f, kChecked);
  manual_seed(11);
  Tensors out;
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = c.input();
    manual_seed(11 + static_cast<uint64_t>(i));
    const Tensors results = compiled ? fast(x) : p.f(x);
    p.then(results);
    out.push_back(x);
    for (const Tensor& t : results) {
      out.push_back(t.detach().clone());
      out.push_back(full({}, t.is_inference() ? 0 : static_cast<double>(t._version())));
    }
    out.push_back(rand({2}));
  }
  for (const Tensor& t : p.state) {
    out.push_back(t.detach().clone());
    out.push_back(full({}, static_cast<double>(t._version())));
    if (t.grad().defined()) out.push_back(t.grad());
  }
  *hits = fast.counts().hits;
  *explained = fast.explain();
  return out;
}

class Right : public testing::TestWithParam<Case> {};

TEST_P(Right, LeavesWhatEagerCodeLeaves) {
  const Warnings warnings;
  uint64_t hits = 0;
  std::string explained;
  const Tensors expected = runAll(GetParam(), false, &hits, &explained);
  const Tensors got = runAll(GetParam(), true, &hits, &explained);
  ASSERT_EQ(got.size(), expected.size());
  EXPECT_TRUE(same(expected, got)) << '\n' << explained;
  EXPECT_THAT(warnings.text(), IsEmpty());
  EXPECT_EQ(hits, kCalls - 1u) << explained;
  EXPECT_THAT(explained, HasSubstr("  checked without a difference in "));
}

INSTANTIATE_TEST_SUITE_P(FirstCheck, Right, testing::ValuesIn(kCases), [](const auto& p) {
  std::string name = p.param.name;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

TEST(FirstCheckRight, InferenceMode) {
  const Tensor w = numbers({3}, 4);
  auto fast = compile([&](const Tensor& x) { return x * w; }, kChecked);
  const Warnings warnings;
  for (int i = 0; i < 6; ++i) {
    const InferenceMode on;
    const Tensor y = fast(ones({3}));
    EXPECT_TRUE(y.is_inference());
    EXPECT_TRUE(y.equal(w));
  }
  EXPECT_THAT(warnings.text(), IsEmpty());
}

TEST(FirstCheckRight, ArgumentsThatShareMemory) {
  const Warnings warnings;
  auto fast = compile(
      [](const Tensor& a, const Tensor& b) {
        Tensor(a).add_(1);
        return a + b;
      },
      kChecked);
  for (int i = 0; i < 8; ++i) {
    const Tensor all = arange(4, kFloat), other = arange(4, kFloat);
    const Tensor y = fast(all.narrow(0, 0, 3), all.narrow(0, 1, 3));
    other.narrow(0, 0, 3).add_(1);
    EXPECT_TRUE(y.equal(other.narrow(0, 0, 3) + other.narrow(0, 1, 3)));
    EXPECT_TRUE(all.equal(other));
    EXPECT_TRUE(fast(all, all).equal(all * 2));
  }
  EXPECT_THAT(warnings.text(), IsEmpty());
}

// A graph that throws where the function does is right.
TEST(FirstCheckRight, AnOperatorThatThrows) {
  const Warnings warnings;
  const Tensor total = zeros({});
  auto fast = compile(
      [&](const Tensor& x, const Tensor& i) {
        total.add_(1);
        return x.index_select(0, i);
      },
      kChecked);
  for (int i = 0; i < 2; ++i) fast(ones({3}), tensor({1}));
  for (int i = 0; i < 6; ++i) EXPECT_ANY_THROW(fast(ones({3}), tensor({7}))) << i;
  EXPECT_EQ(total.item<float>(), 8);
  EXPECT_THAT(warnings.text(), IsEmpty());
}

TEST(FirstCheckRight, AnotherThreadDrawsFromTheGenerator) {
  const Warnings warnings;
  std::atomic<bool> ends{false};
  std::thread other([&] {
    while (!ends) rand({8});
  });
  auto fast = compile([](const Tensor& x) { return x + rand_like(x) + randn_like(x); }, kChecked);
  for (int i = 0; i < 300; ++i) fast(ones({64}));
  ends = true;
  other.join();
  EXPECT_THAT(warnings.text(), IsEmpty());
}

// The function's own lock makes threads safe; graphs know nothing of it, but the checks do no harm.
TEST(FirstCheckRight, SeveralThreads) {
  const Warnings warnings;
  const Tensor w = numbers({16, 16}, 4).requires_grad_();
  auto fast = compile([&](const Tensor& x) { return x.mm(w).tanh() * 2; }, kChecked);
  auto writes = compile([&](const Tensor& x) { return Tensor(x).add_(1).mul_(2); }, kChecked);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        const Tensor x = full({16, 16}, t + 1.0), y = x.clone();
        wrong += !fast(x).equal(x.mm(w).tanh() * 2);
        wrong += !writes(y).equal((x + 1) * 2);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(warnings.text(), IsEmpty());
}

// They would run twice.
TEST(FirstCheckRight, KernelsOfTheProgramsAreNotChecked) {
  static int calls = 0;
  Library library(Library::Kind::kDef, "first_check");
  library.def("twice(Tensor x) -> Tensor");
  Library kernels(Library::Kind::kImpl, "first_check", DispatchKey::CPU);
  kernels.impl("twice", [](const Tensor& x) {
    ++calls;
    return x * 2;
  });
  Library meta(Library::Kind::kImpl, "first_check", DispatchKey::Meta);
  meta.impl("twice", [](const Tensor& x) { return empty_like(x); });
  const auto twice = Dispatcher::singleton().findSchemaOrThrow("first_check::twice", "").typed<Tensor(const Tensor&)>();
  auto fast = compile([&](const Tensor& x) { return twice.call(x) + 1; }, kChecked);
  calls = 0;
  for (int i = 0; i < 6; ++i) fast(ones({2}));
  EXPECT_EQ(fast.counts().hits, 5u);
  EXPECT_EQ(calls, 6);
  EXPECT_THAT(fast.explain(),
              HasSubstr("  not checked, because it calls kernels of the program, which would run twice\n"));
}

TEST(FirstCheckRight, NeverIsNever) {
  double factor = 2;
  auto fast = compile([&](const Tensor& x) { return x * factor; }, {.check = CompileCheck::kNever});
  const Warnings warnings;
  for (int i = 0; i < 4; ++i) fast(ones({2}));
  factor = 3;
  EXPECT_EQ(fast(ones({2}))[0].item<float>(), 2);
  EXPECT_THAT(warnings.text(), IsEmpty());
}

}  // namespace
}  // namespace shunt::test
