// Kernels that are registered between the calls of a compiled function: they count from then on.
#include "tests/compile/same.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test {
namespace {

using testing::HasSubstr;

constexpr int kCalls = 5;

TEST(CompileRegistrations, ARegistrationPutsAVariantOutOfUse) {
  const auto f = [](const Tensor& x) { return x.exp().neg(); };
  auto fast = compile(f);
  const Tensor x = numbers({3});
  for (int i = 0; i < 3; ++i) fast(x);
  for (int round = 0; round < 3; ++round) {
    {
      Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
      m.impl("neg", [](const Tensor& self) { return self.mul(3); });
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(x), x.exp() * 3));
      EXPECT_GE(fast.counts().invalidated, 1u);
    }
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(x), f(x)));
  }
  // One that has nothing to do with it.
  const uint64_t invalidated = fast.counts().invalidated;
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("cos", [](const Tensor& self) { return self.mul(3); });
  EXPECT_TRUE(same(fast(x), f(x)));
  EXPECT_EQ(fast.counts().invalidated, invalidated);
}

TEST(CompileRegistrations, AnOverrideOfACompositeCounts) {
  const Tensor w = numbers({2, 3});
  const auto f = [&](const Tensor& x) { return linear(x, w, {}); };
  auto fast = compile(f);
  const Tensor x = numbers({4, 3});
  for (int i = 0; i < 3; ++i) fast(x);
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("linear", [](const Tensor& self, const Tensor&, const std::optional<Tensor>&) { return self * 5; });
  EXPECT_TRUE(same(fast(x), x * 5));
}

/// Calls `f` compiled until a graph runs, then under the registration, and after it: always as `f` itself. `what`: of
/// a failure.
template <class F, class... Args>
void obeys(const char* what, F f, DispatchKey key, const std::function<void(Library&)>& override_,
           const Args&... args) {
  auto fast = compile(f);
  for (int i = 0; i < 6; ++i) fast(args...);
  EXPECT_GT(fast.counts().hits, 0u) << what << fast.explain();
  const Tensor before = f(args...);
  {
    Library unrelated(Library::Kind::kImpl, "aten", key);
    unrelated.impl("cos", [](const Tensor& self) { return self.mul(3); });
    EXPECT_TRUE(same(fast(args...), before)) << what;
  }
  EXPECT_EQ(fast.counts().invalidated, 0u) << what;
  {
    Library m(Library::Kind::kImpl, "aten", key);
    override_(m);
    const Tensor now = f(args...);
    EXPECT_FALSE(same(now, before)) << what;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(args...), now)) << what << i;
    EXPECT_GE(fast.counts().invalidated, 1u) << what;
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(args...), before)) << what << i;
}

// Levels of vmap and grad stand above what records: their composites, and what they ask before they run others.
TEST(CompileRegistrations, AnOverrideOfWhatALevelPassesCounts) {
  const auto product = [](const Tensor& a, const Tensor& b) { return outer(a, b); };
  const auto share = [](const Tensor& row) { return softmax(row, 0); };
  const auto total = [](const Tensor& row) { return (softmax(row, 0) * row).sum(); };
  const auto mul = [](Library& m) {
    m.impl("mul.Tensor", [](const Tensor& self, const Tensor& other) { return self + other; });
  };
  const auto outer_ = [](Library& m) {
    m.impl("outer", [](const Tensor& self, const Tensor& vec2) { return self.unsqueeze(1) + vec2; });
  };
  const auto softmax_ = [](Library& m) {
    m.impl("softmax.int", [](const Tensor& self, int64_t, std::optional<ScalarType>) { return self * 3; });
  };
  const auto dropped = [](const Tensor& t) { return dropout(t, 0.5, false) * 2; };
  const auto dropout_ = [](Library& m) {
    m.impl("dropout", [](const Tensor& self, double, bool) { return self + 3; });
  };
  const Tensor a = numbers({5, 3}), b = numbers({5, 4}, 8), row = numbers({4}, 9);
  const DispatchKey composite = DispatchKey::CompositeImplicitAutograd;
  obeys("outer, mul", vmap(product), DispatchKey::CPU, mul, a, b);
  obeys("outer, mul's gradient", vmap(product), DispatchKey::AutogradCPU, mul, a, b);
  obeys("outer", vmap(product), DispatchKey::CPU, outer_, a, b);
  obeys("outer, composite", vmap(product), composite, outer_, a, b);
  obeys("outer, batching rule", vmap(product), DispatchKey::Batched, outer_, a, b);
  obeys("softmax", vmap(share), composite, softmax_, b);
  obeys("softmax, Autograd", vmap(share), DispatchKey::AutogradCPU, softmax_, b);
  obeys("softmax, batching rule", vmap(share), DispatchKey::Batched, softmax_, b);
  obeys("gradient of softmax", grad(total), composite, softmax_, row);
  obeys("gradients of softmax", vmap(grad(total)), composite, softmax_, b);
  obeys("gradient of vmap of softmax", grad([&](const Tensor& t) { return vmap(total)(t).sum(); }), composite, softmax_,
        b);
  obeys("functionalized softmax", functionalize(share), composite, softmax_, row);
  obeys("functionalized dropout", functionalize(dropped), composite, dropout_, row);
}

TEST(CompileRegistrations, AnOverrideForAutocastOfWhatALevelTakesApartCounts) {
  const AutocastGuard autocast(kCPU);
  const Tensor a = numbers({5, 3}), b = numbers({5, 4}, 8), w = numbers({4, 2}, 9);
  const auto square_ = [](Library& m) { m.impl("square", [](const Tensor& self) { return self + 3; }); };
  obeys("square", vmap([](const Tensor& row) { return square(row) * 2; }), DispatchKey::AutocastCPU, square_, a);
  const auto softmax_ = [](Library& m) {
    m.impl("softmax.int", [](const Tensor& self, int64_t, std::optional<ScalarType>) { return self * 3; });
  };
  obeys("softmax", vmap([](const Tensor& row) { return softmax(row, 0); }), DispatchKey::AutocastCPU, softmax_, b);
  const auto matmul_ = [](Library& m) {
    m.impl("matmul", [](const Tensor& self, const Tensor& other) { return self.sum() + other.sum(0); });
  };
  obeys("matmul", vmap([&](const Tensor& row) { return matmul(row, w); }), DispatchKey::AutocastCPU, matmul_, b);
}

TEST(CompileRegistrations, BatchingRulesOfOperatorsThatNobodyHasDefined) {
  Library m(Library::Kind::kImpl, "nowhere", DispatchKey::Batched);
  m.impl("nothing", [](const Tensor& self) { return self; });
  const auto f = vmap([](const Tensor& row) { return softmax(row, 0); });
  auto fast = compile(f);
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(same(f(numbers({5, 4})), fast(numbers({5, 4}))));
  EXPECT_EQ(fast.counts().hits, kCalls - 1u);
}

// It is called for what requires grad, though nobody asks for its graph.
TEST(CompileRegistrations, AProgramsAutogradKernelSeesWhatRequiresGrad) {
  Library m(Library::Kind::kImpl, "aten", DispatchKey::AutogradCPU);
  m.impl("exp", [](const Tensor& self) { return self.mul(3); });
  m.impl("softmax.int", [](const Tensor& self, int64_t, std::optional<ScalarType>) { return self * 5; });
  const Tensor w = numbers({3, 4}).requires_grad_();
  const auto f = [&](const Tensor& x) {
    return std::pair((x * w).exp().detach(), softmax((x * w).reshape({4, 3}), 0).detach());
  };
  auto fast = compile(f);
  const Tensor x = numbers({3, 4}, 2);
  for (int i = 0; i < 5; ++i) {
    const auto expected = f(x), got = fast(x);
    EXPECT_TRUE(same(expected.first, got.first)) << i << fast.plan();
    EXPECT_TRUE(same(expected.second, got.second)) << i << fast.plan();
    EXPECT_TRUE(same(got.first, (x * w * 3).detach()));
  }
  EXPECT_GT(fast.counts().hits, 0u) << fast.explain();
}

}  // namespace
}  // namespace shunt::test
