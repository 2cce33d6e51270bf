// What a compiled function compares at each call, beyond the settings and tensors of compile_test: each case has calls
// that a variant made before would answer wrongly.
#include "src/compile/guards/guard.h"
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace shunt::test {
namespace {

using testing::HasSubstr;
using Tensors = std::vector<Tensor>;

constexpr int kCalls = 4;

TEST(CompileGuard, HowTensorsAreSplitAmongContainers) {
  const auto f = [](const Tensors& a, const Tensors& b) { return a.back() * 2 + b.front(); };
  auto fast = compile(f);
  const Tensor x = numbers({3}), y = numbers({3}, 8), z = numbers({3}, 9);
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_TRUE(same(fast(Tensors{x}, Tensors{y, z}), f({x}, {y, z})));
    EXPECT_TRUE(same(fast(Tensors{x, y}, Tensors{z}), f({x, y}, {z})));
  }
  EXPECT_EQ(fast.counts().variants, 2u);
}

TEST(CompileGuard, WhichOptionalsAreSet) {
  using Maybe = std::optional<Tensor>;
  const auto f = [](const Maybe& a, const Maybe& b) { return a ? *a * 2 : *b * 3; };
  auto fast = compile(f);
  const auto pairs =
      compile([](const std::pair<Tensor, Tensor>& p) { return p.first.defined() ? p.first : -p.second; });
  const Tensor x = numbers({3});
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_TRUE(same(fast(Maybe(x), Maybe()), x * 2));
    EXPECT_TRUE(same(fast(Maybe(), Maybe(x)), x * 3));
    EXPECT_TRUE(same(pairs(std::pair(x, Tensor())), x));
    EXPECT_TRUE(same(pairs(std::pair(Tensor(), x)), -x));
  }
  EXPECT_EQ(fast.counts().variants, 2u);
  EXPECT_EQ(pairs.counts().variants, 2u);
}

TEST(CompileGuard, WhatGradsLookLike) {
  const auto runs = [](const Tensor& first_grad) {
    const Tensor w = numbers({2, 3}).requires_grad_();
    const auto f = [](const Tensor& p) { return p.grad().dtype() == kDouble ? p.grad() * 2 : p.grad() + 1; };
    auto fast = compile([&](const Tensor& p) { return f(p); });
    w.mutable_grad() = first_grad;
    for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(w), f(w)));
    w.mutable_grad() = numbers({3, 2}, 8).t();
    for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(w), f(w)));
    EXPECT_EQ(fast.counts().variants, 2u) << fast.explain();
    EXPECT_EQ(fast.counts().hits, 2 * kCalls - 2u) << fast.explain();
  };
  runs(numbers({2, 3}, 9));
}

TEST(CompileGuard, GradsInOneBufferRunTheFunction) {
  const Tensor a = numbers({3}).requires_grad_(), b = numbers({3}, 8).requires_grad_(), flat = zeros({6});
  const auto share = [&] {
    a.mutable_grad() = flat.narrow(0, 0, 3);
    b.mutable_grad() = flat.narrow(0, 2, 3);
  };
  auto fast = compile([&](const Tensor& x) {
    a.grad().add_(x);
    return b.grad() * 2;
  });
  share();
  for (int i = 0; i < kCalls; ++i) {
    const Tensor expected = (flat.narrow(0, 2, 3) + tensor({1.0F, 0.0F, 0.0F})) * 2;
    EXPECT_TRUE(same(fast(ones({3})), expected));
  }
  EXPECT_EQ(fast.counts().hits, 0u);
  EXPECT_THAT(fast.explain(), HasSubstr("a grad that shares memory"));
  a.mutable_grad() = zeros({3});
  b.mutable_grad() = zeros({3});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(same(fast(ones({3})), zeros({3})));
  const uint64_t hits = fast.counts().hits;
  EXPECT_GT(hits, 0u) << "grads of their own";
  share();
  const Tensor before = flat.clone();
  EXPECT_TRUE(same(fast(ones({3})), (before.narrow(0, 2, 3) + tensor({1.0F, 0.0F, 0.0F})) * 2));
  EXPECT_EQ(fast.counts().hits, hits);
}

TEST(CompileGuard, AGradThatIsAnArgumentRunsTheFunction) {
  const Tensor w = numbers({3}).requires_grad_();
  const auto f = [](const Tensor& p, const Tensor& g) {
    const Tensor before = g * 2;
    p.grad().add_(1);
    return before + g;
  };
  auto fast = compile(f);
  const Tensor other = ones({3});
  w.mutable_grad() = zeros({3});
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(w, other), other * 3));
  const uint64_t hits = fast.counts().hits;
  EXPECT_EQ(hits, kCalls - 1u);
  for (int i = 0; i < kCalls; ++i) {
    const Tensor before = w.grad().clone();
    EXPECT_TRUE(same(fast(w, w.grad()), before * 2 + (before + 1))) << i;
  }
  EXPECT_EQ(fast.counts().hits, hits);
  EXPECT_TRUE(same(fast(w, other), other * 3));
  EXPECT_EQ(fast.counts().hits, hits + 1);
  auto drops = compile([](const Tensor& p, Tensor g) {
    p.mutable_grad() = Tensor();
    return g * 2;
  });
  for (int i = 0; i < kCalls; ++i) {
    w.mutable_grad() = ones({3});
    EXPECT_TRUE(same(drops(w, i == 3 ? w.grad() : other), other * 2)) << i;
  }
  EXPECT_EQ(drops.counts().hits, kCalls - 2u);
}

// Which calls the words answer, and that they answer no other ones.
TEST(CompileGuard, WordsHoldForNearlyAllCalls) {
  const CompileOptions options;
  const auto call = [](const Tensors& given) {
    detail::CompileArguments arguments{{}, {}, &typeid(Tensors)};
    for (const Tensor& t : given) arguments.tensors.push_back(&t);
    return arguments;
  };
  const Tensors given = {numbers({3, 4}), numbers({4})};
  const Tensors captured = {numbers({4}).requires_grad_(), numbers({2, 2}).requires_grad_()};
  captured[1].mutable_grad() = numbers({2, 2});
  compiled::Guard guard(call(given), options);
  guard.add(call(given), captured, false);
  const auto by_words = [&](const Tensors& t) { return guard.holdsByWords(call(t)); };
  const auto holds = [&](const Tensors& t) { return guard.holds(call(t)); };
  EXPECT_TRUE(by_words(given));
  EXPECT_TRUE(by_words({numbers({3, 4}), numbers({4})}));
  const Tensors view = {numbers({6, 4}).narrow(0, 1, 3)}, of_leaf = {numbers({6, 4}).requires_grad_().narrow(0, 1, 3)};
  compiled::Guard of_view(call(view), options);
  of_view.add(call(view), {}, false);
  EXPECT_TRUE(of_view.holdsByWords(call({numbers({9, 4}).narrow(0, 2, 3)})));
  EXPECT_FALSE(of_view.holdsByWords(call(of_leaf)) || of_view.holds(call(of_leaf)));
  const Tensor both = numbers({3, 4});
  const Tensors others[] = {{numbers({4, 3}).t(), numbers({4})}, {numbers({4, 3}), numbers({4})},
                            {numbers({3, 4}), numbers({5})},     {numbers({3, 4}).to(kDouble), numbers({4})},
                            {numbers({3, 4}), numbers({1, 4})},  {numbers({3, 4}).requires_grad_(), numbers({4})},
                            {both, both.select(0, 1)},           {numbers({3, 4}), captured[0].detach()},
                            {numbers({3, 4}), Tensor()}};
  for (size_t i = 0; i < std::size(others); ++i) {
    EXPECT_FALSE(by_words(others[i])) << i;
    EXPECT_FALSE(holds(others[i])) << i;
  }
  {
    const NoGradGuard no_grad;
    EXPECT_FALSE(by_words(given) || holds(given));
  }
  {  // of a graph that is still there: hooks would be on its accumulator
    const Tensor alive = captured[0] * 2;
    EXPECT_FALSE(by_words(given));
    EXPECT_TRUE(holds(given));
  }
  EXPECT_TRUE(by_words(given));
  {
    const Tensor handle = captured[1].grad();
    EXPECT_FALSE(by_words(given));
    EXPECT_TRUE(holds(given));
    const Tensors is_argument = {numbers({3, 4}), handle};
    EXPECT_FALSE(by_words(is_argument) || holds(is_argument));
  }
  captured[0].mutable_grad() = numbers({4});
  EXPECT_FALSE(by_words(given) || holds(given));
  captured[0].mutable_grad() = Tensor();
  EXPECT_TRUE(by_words(given));
  captured[0].register_hook([](const Tensor& g) { return g; });
  EXPECT_FALSE(by_words(given) || holds(given));
}

// So many that their storages aren't compared one by one.
TEST(CompileGuard, WordsHoldForManyTensors) {
  const CompileOptions options;
  for (const size_t n : {9u, 20u, 300u}) {
    const auto call = [](const Tensors& given) {
      detail::CompileArguments arguments{{}, {}, &typeid(Tensors)};
      for (const Tensor& t : given) arguments.tensors.push_back(&t);
      return arguments;
    };
    const auto made = [&] {
      Tensors out;
      while (out.size() < n) out.push_back(zeros({3}));
      return out;
    };
    const Tensors given = made(), captured = made();
    compiled::Guard guard(call(given), options);
    guard.add(call(given), captured, false);
    EXPECT_TRUE(guard.holdsByWords(call(given)) && guard.holdsByWords(call(made())));
    const size_t at[] = {0, 1, n / 2, n - 1};
    for (const size_t i : at) {
      const auto refuses = [&](const Tensor& t) {
        Tensors others = made();
        others[i] = t;
        EXPECT_FALSE(guard.holdsByWords(call(others)) || guard.holds(call(others))) << i << " of " << n;
      };
      refuses(zeros({4}));
      refuses(captured[i].detach());
      refuses(captured[n - 1 - i].detach());
      Tensors twice = made();
      twice[i] = twice[n - 1 - i == i ? 0 : n - 1 - i].detach();
      EXPECT_FALSE(guard.holdsByWords(call(twice)) || guard.holds(call(twice))) << i << " of " << n;
    }
  }
}

TEST(CompileGuard, SizesOfNamedCaptures) {
  Tensor w = numbers({3});
  const auto f = [&](const Tensor& x) { return x * static_cast<double>(w.size(0)); };
  auto fast = compile(f, {.captures = {&w}});
  const Tensor x = numbers({2}, 8);
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(x), x * 3));
  w.set_data(numbers({5}));  // the same tensor
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(x), x * 5));
  w = Tensor(numbers({4}));
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(x), x * 4));
}

// ---- registrations ------------------------------------------------------------------------------------------------
struct Registered : testing::Test {
  const Tensor x = numbers({4}), leaf = x.clone().requires_grad_();

  template <class Fast>
  void expect(const Fast& fast, const Tensor& expected) {
    for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(x), expected)) << i;
  }
  /// Both give the first two elements, `times` so much.
  template <class F, class Fast>
  void expectLeaf(const F& f, const Fast& fast, double times) {
    for (int i = 0; i < kCalls; ++i) {
      EXPECT_TRUE(same(f(leaf), x.as_strided({2}, {1}, 0) * times)) << "the function itself";
      EXPECT_TRUE(same(fast(leaf), f(leaf))) << i;
    }
  }
};

Tensor firstHalf(const Tensor& t) { return narrow(t, 0, 0, 2); }  // a composite, of slice

// An Autograd kernel for slice that does more than to record.
Tensor slicedAndTripled(DispatchKeySet, const Tensor& self, int64_t dim, std::optional<int64_t> start,
                        std::optional<int64_t> end, int64_t step) {
  const AutoDispatchBelowAutograd below;
  return ops::slice_Tensor::call(self, dim, start, end, step) * 3;
}
std::unique_ptr<Library> registerSlice() {
  auto m = std::make_unique<Library>(Library::Kind::kImpl, "aten", DispatchKey::AutogradCPU);
  m->impl("slice.Tensor", &slicedAndTripled);
  return m;
}

TEST_F(Registered, AnAutogradKernelOfAnOperatorThatACompositeCalls) {
  const auto f = [](const Tensor& t) { return firstHalf(t).detach() * 2; };
  auto fast = compile(f);
  expectLeaf(f, fast, 2);
  EXPECT_GT(fast.counts().hits, 0u) << fast.explain();
  auto slice = registerSlice();
  expectLeaf(f, fast, 6);
  EXPECT_EQ(fast.counts().invalidated, 1u);
  EXPECT_EQ(fast.counts().variants, 1u) << "recorded with that kernel";
  slice.reset();
  expectLeaf(f, fast, 2);
  EXPECT_EQ(fast.counts().invalidated, 2u);
}

TEST_F(Registered, AnAutogradKernelOfAnOperatorThatAnotherLibrarysCalls) {
  Library mine(Library::Kind::kFragment, "guard_test");
  mine.def("half(Tensor self) -> Tensor");
  mine.impl("half", DispatchKey::CompositeExplicitAutograd, &firstHalf);
  mine.impl("half", DispatchKey::Autograd, CppFunction::makeFallthrough());
  const auto f = [](const Tensor& t) {
    Stack stack{t};
    Dispatcher::singleton().findSchemaOrThrow("guard_test::half", "").callBoxed(stack);
    return stack.back().toTensor().detach() * 2;
  };
  for (const bool before : {false, true}) {
    auto slice = before ? registerSlice() : nullptr;
    auto fast = compile(f);
    const double first = before ? 6 : 2;
    expectLeaf(f, fast, first);
    EXPECT_GT(fast.counts().hits, 0u) << fast.explain();
    slice = before ? nullptr : registerSlice();
    expectLeaf(f, fast, 8 - first);
  }
}

TEST_F(Registered, ByAnotherThreadWhileItIsRecorded) {
  std::unique_ptr<Library> m;
  int calls = 0;
  auto fast = compile([&](const Tensor& t) {
    const Tensor e = t.exp();
    if (++calls == 2)
      std::thread([&] {
        m = std::make_unique<Library>(Library::Kind::kImpl, "aten", DispatchKey::CPU);
        m->impl("exp", [](const Tensor& self) { return self * 3; });
      }).join();
    return e.neg();
  });
  EXPECT_TRUE(same(fast(x), x.exp().neg()));
  expect(fast, (x * 3).neg());
  EXPECT_EQ(fast.counts().recorded, 0u);
  EXPECT_THAT(fast.explain(), HasSubstr("registered while"));
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(same(fast(x), (x * 3).neg()));
  EXPECT_EQ(fast.counts().recorded, 1u) << "another attempt";
  m.reset();
  expect(fast, x.exp().neg());
}

// Which no fake tensor can know when the function is recorded.
bool turns = false;
Tensor& turnWhileOn(Tensor& x) { return turns ? x.t_() : x; }

/// `turn` turns its first argument and back; the product between reads `other`, which is that tensor too.
Tensor turnedProduct(const Tensor& turned, const Tensor& other, bool as_result) {
  static const auto turn =
      Dispatcher::singleton().findSchemaOrThrow("guarded::turn_while_on_", "").typed<Tensor&(Tensor&)>();
  Tensor a = turned;
  if (as_result) a.add_(1).mul_(2);
  turn.call(a);
  const Tensor y = other * 2 + 1;
  turn.call(a);
  return y;
}

/// The first call that turns has written by then.
template <class F>
void expectThrowsWhenTurned(Tensor& x, F&& call) {
  turns = true;
  const Tensor before = x.clone();
  EXPECT_EQ(errorOf([&] { call(); }),
            "compiled function: operator guarded::turn_while_on_ gives float32[3, 3] with strides [1, 3], and "
            "float32[3, 3] with strides [3, 1] was recorded. Its kernel for CPU and its Meta kernel have to give the "
            "same dtypes, sizes and strides. The graph has written to tensors or drawn random numbers by then, so the "
            "function can't run in its place. Later calls with such arguments run the function");
  x.t_();
  x.copy_(before);
}

template <class F>
void expectSameWhileTurned(Tensor& x, F&& call) {
  auto fast = compile(call);
  for (int i = 0; i < 2 * kCalls; ++i) {
    if (i == kCalls) expectThrowsWhenTurned(x, [&] { fast(x); });
    const Tensor before = x.clone(), got = fast(x);
    x.copy_(before);
    EXPECT_TRUE(same(got, call(x))) << i << fast.explain();
    x.copy_(before);
  }
  EXPECT_EQ(fast.counts().hits, kCalls) << fast.explain();
  turns = false;
}

// What is recorded of a tensor that is passed and captured isn't good for another one that is passed.
TEST(CompileGuard, ATensorThatIsPassedAndCaptured) {
  for (const bool grad : {false, true}) {
    const Tensor w = numbers({3, 3}).requires_grad_(grad), other = numbers({3, 3}, 8).requires_grad_(grad);
    const auto f = [&](const Tensor& x) { return x * 2 + w; };
    const auto fast = compile(f);
    for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(fast(w), f(w)));
    EXPECT_GE(fast.counts().hits, kCalls - 1u) << fast.explain();
    for (int i = 0; i < kCalls; ++i) {
      EXPECT_TRUE(same(fast(other), f(other))) << fast.explain();
      EXPECT_TRUE(same(fast(w), f(w))) << fast.explain();
    }
    EXPECT_GE(fast.counts().hits, 3 * kCalls - 2u) << fast.explain();
  }
}

// The region reads the tensor under another value than the one whose user turns it.
TEST(CompileGuard, ATensorThatIsTurnedUnderAnotherOfItsValues) {
  Library library(Library::Kind::kFragment, "guarded");
  library.def("turn_while_on_(Tensor(a!) x) -> Tensor(a!)", &turnWhileOn);
  const NoGradGuard no_grad;  // or the argument keeps its history for the library's operator, and is written apart
  Tensor x = numbers({3, 3});
  expectSameWhileTurned(x, [](const Tensor& a) { return turnedProduct(a, a, false); });
  expectSameWhileTurned(x, [&](const Tensor& a) { return turnedProduct(a, x, true); });  // the in-place result
  const auto twice = compile([](const Tensor& a, const Tensor& b) { return turnedProduct(a, b, false); });
  for (int i = 0; i < 2 * kCalls; ++i) {
    if (i == kCalls) expectThrowsWhenTurned(x, [&] { twice(x, x); });
    EXPECT_TRUE(same(twice(x, x), turnedProduct(x, x, false))) << i << twice.explain();
  }
  turns = false;
}

}  // namespace
}  // namespace shunt::test
