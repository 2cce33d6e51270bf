// Compiled functions whose result is a view: as eager code's, with the view's own node, and gradients through it.
#include "tests/compile/plan_parts.h"
#include "tests/compile/same.h"

#include <shunt/autograd/autograd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace shunt::test {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

std::string nodeOf(const Tensor& t) { return t.grad_fn() ? t.grad_fn()->name() : "none"; }

struct View {
  const char* name;
  Function of;
};

const std::vector<View>& views() {
  static const std::vector<View> all = {
      {"view", [](const Tensor& x) { return x.exp().view({3, 4}); }},
      {"flatten", [](const Tensor& x) { return x.exp().flatten(1); }},
      {"squeeze", [](const Tensor& x) { return (x * 2).unsqueeze(1).squeeze(1); }},
      {"transpose", [](const Tensor& x) { return x.sigmoid().view({2, 6}).t(); }},
      {"select", [](const Tensor& x) { return x.exp()[1]; }},
      {"a slice of a slice", [](const Tensor& x) { return x.exp().narrow(2, 0, 2).narrow(1, 1, 1); }},
      {"diagonal", [](const Tensor& x) { return x.exp().view({3, 4}).diagonal(); }},
      {"expand", [](const Tensor& x) { return x.sum(0, true).expand({2, 2, 3}); }},
      {"after a write", [](const Tensor& x) { return (x * 2).relu_().flatten(1); }},
      {"read inside, too",
       [](const Tensor& x) {
         const Tensor y = x.exp().flatten(1);
         std::ignore = y.sum();
         return y;
       }},
  };
  return all;
}

struct Use {
  const char* name;
  std::function<void(const Tensor& result, const Tensor& input)> of;
};

const std::vector<Use>& uses() {
  static const std::vector<Use> all = {
      {"sum", [](const Tensor& y, const Tensor&) { y.sum().backward(); }},
      {"weights", [](const Tensor& y, const Tensor&) { (y * numbers(y.sizes(), 5)).sum().backward(); }},
      {"backward of itself", [](const Tensor& y, const Tensor&) { y.backward(numbers(y.sizes(), 6)); }},
      {"its base, too",
       [](const Tensor& y, const Tensor&) { (y._base().sum() + (y * numbers(y.sizes(), 5)).sum()).backward(); }},
      {"hooks",
       [](const Tensor& y, const Tensor&) {
         y.register_hook([](const Tensor& g) { return g * 3; });
         y.sum().backward();
       }},
      {"a gradient's gradient",
       [](const Tensor& y, const Tensor& x) {
         const Tensor g = autograd::grad({(y * y).sum()}, {x}, {}, true, true)[0];
         g.sum().backward();
       }},
  };
  return all;
}

TEST(TrailingViews, AreEagerCodes) {
  for (const View& view : views())
    for (const Use& use : uses()) {
      const std::string what = std::string(view.name) + ", " + use.name;
      auto fast = compile(view.of);
      for (int i = 0; i < 5; ++i) {
        const Tensor x = numbers({2, 2, 3}).requires_grad_(), z = numbers({2, 2, 3}).requires_grad_();
        const Tensor expected = view.of(x), got = fast(z);
        ASSERT_TRUE(same(got, expected)) << what;
        EXPECT_EQ(nodeOf(got), nodeOf(expected)) << what;
        EXPECT_EQ(got.is_view(), expected.is_view()) << what;
        EXPECT_EQ(got._version(), expected._version()) << what;
        EXPECT_EQ(got.storage_offset(), expected.storage_offset()) << what;
        ASSERT_TRUE(same(got._base(), expected._base())) << what;
        if (i > 1 && use.name != std::string("a gradient's gradient"))
          EXPECT_EQ(nodeOf(got._base()), "CompiledFunctionBackward") << what << '\n' << fast.explain();
        use.of(expected, x), use.of(got, z);
        const bool first_of_second = i == 1 && use.name == std::string("a gradient's gradient");
        if (!first_of_second) ASSERT_TRUE(same(z.grad(), x.grad())) << what << ", call " << i << '\n' << fast.explain();
      }
      EXPECT_GE(fast.counts().hits, 3u) << what << fast.explain();
    }
}

// The write changes the history of what the view is of.
TEST(TrailingViews, MayBeWrittenAfterwards) {
  const Function f = [](const Tensor& x) { return (x * 3).narrow(1, 1, 2); };
  auto fast = compile(f);
  for (int i = 0; i < 4; ++i) {
    const Tensor x = numbers({3, 4}).requires_grad_(), z = numbers({3, 4}).requires_grad_();
    Tensor expected = f(x), got = fast(z);
    for (Tensor* t : {&expected, &got}) {
      t->mul_(2);
      (t->_base() * numbers({3, 4}, 9)).sum().backward();
    }
    EXPECT_EQ(nodeOf(got), nodeOf(expected));
    ASSERT_TRUE(same(z.grad(), x.grad())) << i;
  }
  EXPECT_EQ(fast.plans().at(1).trailing_views, std::vector<std::string>{"aten::slice.Tensor"}) << fast.plan();
}

}  // namespace
}  // namespace shunt::test
