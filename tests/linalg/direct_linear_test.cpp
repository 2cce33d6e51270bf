// linear in one step (Note [Direct linear], kernels/nn/direct_linear.h): the composite's bits, that it is taken, and
// that nothing that the composite's parts would meet is passed by.
#include "tests/support/same_bits.h"

#include "kernels/nn/direct_linear.h"
#include "src/tensor/stress.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

namespace shunt {
namespace {

using native::directLinear;
using test::sameBits;

struct Operands {
  explicit Operands(int64_t m = 3, int64_t k = 16, int64_t n = 5, ScalarType dtype = kFloat)
      : input(randn({m, k}).to(dtype)), weight(randn({n, k}).to(dtype)), bias(randn({n}).to(dtype)) {}
  Tensor direct() const { return directLinear(input, weight, bias); }
  Tensor linear() const { return shunt::linear(input, weight, bias); }
  Tensor composite() const { return shunt::addmm(bias, input, weight.t()); }
  Tensor input, weight, bias;
};

testing::AssertionResult same(const Tensor& actual, const Tensor& expected) {
  if (actual.key_set() != expected.key_set())
    return testing::AssertionFailure() << "keys " << actual.key_set() << ", expected " << expected.key_set();
  return sameBits(expected, actual, {.requires_grad = true});
}

uint64_t allocationsOf(const std::function<Tensor()>& f) {
  const auto made = [] {
    const detail::AllocationCounters c = detail::allocationCounters();
    return c.from_list + c.from_system;
  };
  const uint64_t before = made();
  f();
  return made() - before;
}

TEST(DirectLinear, HasTheCompositesBits) {
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const int64_t m : {0, 1, 2, 33})
      for (const int64_t k : {0, 1, 16, 70})
        for (const int64_t n : {0, 1, 16, 65}) {
          SCOPED_TRACE(testing::Message() << dtype << ' ' << m << 'x' << k << " -> " << n);
          const Operands x(m, k, n, dtype);
          ASSERT_TRUE(x.direct().defined());
          EXPECT_TRUE(same(x.direct(), x.composite()));
          EXPECT_TRUE(same(x.linear(), x.composite()));
        }
}

TEST(DirectLinear, TakesEveryLayoutThatNeedsNoCopy) {
  Operands x(6, 16, 8);
  x.input = x.input.t().contiguous().t();
  EXPECT_TRUE(same(x.direct(), x.composite()));
  x.weight = x.weight.t().contiguous().t();
  EXPECT_TRUE(same(x.direct(), x.composite()));
  x.weight = randn({8, 32}).narrow(1, 3, 16);
  EXPECT_TRUE(same(x.direct(), x.composite()));
  x.input = randn({6, 32}).as_strided({6, 16}, {32, 2});
  EXPECT_FALSE(x.direct().defined());
  EXPECT_TRUE(same(x.linear(), x.composite()));
}

TEST(DirectLinear, IsTaken) {
#ifdef SHUNT_STRESS
  GTEST_SKIP() << "builds for sanitizers count no allocations";
#endif
  const Operands x;
  jit::set_enabled(false);
  EXPECT_EQ(allocationsOf([&] { return x.linear(); }), 1u) << "the result, and no view of the weight";
  EXPECT_GT(allocationsOf([&] { return x.composite(); }), 1u);
  jit::set_enabled(true);
}

TEST(DirectLinear, IsTheSameInEveryMode) {
  const Operands x;
  const Tensor expected = x.composite();
  {
    const NoGradGuard guard;
    EXPECT_TRUE(x.direct().defined());
    EXPECT_TRUE(same(x.direct(), x.composite()));
  }
  const InferenceMode guard;
  EXPECT_TRUE(same(x.direct(), x.composite()));
  const Operands inference;
  EXPECT_TRUE(same(inference.direct(), inference.composite()));
}

TEST(DirectLinear, LeavesTheRestToTheComposite) {
  const auto refused = [](const char* what, const std::function<void(Operands&)>& change) {
    Operands x;
    EXPECT_TRUE(x.direct().defined());
    change(x);
    EXPECT_FALSE(x.direct().defined()) << what;
  };
  refused("integers", [](Operands& x) { x = Operands(3, 16, 5, kLong); });
  refused("two dtypes", [](Operands& x) { x.bias = x.bias.to(kDouble); });
  refused("another sum", [](Operands& x) { x.weight = randn({5, 15}); });
  refused("a matrix as bias", [](Operands& x) { x.bias = randn({1, 5}); });
  refused("one bias for all", [](Operands& x) { x.bias = randn({1}); });
  refused("a strided bias", [](Operands& x) { x.bias = randn({10}).as_strided({5}, {2}); });
  refused("a batch", [](Operands& x) { x.input = randn({2, 3, 16}); });
  refused("no data", [](Operands& x) { x.weight = empty({5, 16}, TensorOptions(kMeta)); });
  refused("a weight with gradient", [](Operands& x) { x.weight.requires_grad_(); });
  refused("a bias with gradient", [](Operands& x) { x.bias.requires_grad_(); });
  refused("an input with gradient", [](Operands& x) { x.input.requires_grad_(); });
}

TEST(DirectLinear, RecordsAGraphAsTheComposite) {
  Operands x;
  x.weight.requires_grad_();
  EXPECT_EQ(x.linear().grad_fn()->name(), "AddmmBackward0");
  const NoGradGuard guard;
  EXPECT_TRUE(x.direct().defined());
}

// Each key at which a part can be replaced, on and off again.
TEST(DirectLinear, SeesOverridesOfTheParts) {
  static int calls;
  const Operands x;
  const Tensor expected = x.composite();
  const auto override = [](DispatchKey key, bool of_t) {
    Library block(Library::Kind::kImpl, "aten", key);
    calls = 0;
    if (of_t)
      block.impl("t", [](const Tensor& a) {
        ++calls;
        return a.transpose(0, 1);
      });
    else
      block.impl("addmm", [](const Tensor& bias, const Tensor& a, const Tensor& b, const Scalar&, const Scalar&) {
        ++calls;
        return shunt::mm(a, b) + bias;
      });
    return block;
  };
  for (const DispatchKey key : {DispatchKey::CPU, DispatchKey::AutogradCPU, DispatchKey::ADInplaceOrView})
    for (const bool of_t : {false, true}) {
      SCOPED_TRACE(testing::Message() << toString(key) << (of_t ? " t" : " addmm"));
      EXPECT_TRUE(x.direct().defined());
      std::optional<Library> block(override(key, of_t));
      x.composite();
      const bool meant = calls != 0;  // t of a leaf passes by AutogradCPU
      EXPECT_EQ(x.direct().defined(), !meant);
      calls = 0;
      x.linear();
      EXPECT_EQ(calls, meant ? 1 : 0);
      block.reset();
      EXPECT_TRUE(same(x.direct(), expected));
    }
}

TEST(DirectLinear, SeesKeysThatTheThreadAdds) {
  static int seen;
  seen = 0;
  const Operands x;
  Library block(Library::Kind::kImpl, "aten", DispatchKey::Tracer);
  block.impl("linear", CppFunction::makeFallthrough());
  block.impl("addmm", CppFunction::makeFallthrough());
  block.impl("t", [](const Tensor& a) {
    ++seen;
    const ExcludeDispatchKeyGuard guard(DispatchKey::Tracer);
    return a.t();
  });
  {
    const IncludeDispatchKeyGuard guard(DispatchKey::Tracer);
    EXPECT_FALSE(x.direct().defined());
    x.linear();
  }
  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(x.direct().defined());
}

}  // namespace
}  // namespace shunt
