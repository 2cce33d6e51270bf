// Saved-tensor hooks: what is kept in place of saved tensors, and what backward makes of it again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/autograd/util.h"

#include <shunt/autograd/saved_tensor_hooks.h>

namespace shunt::test {
namespace {

using autograd::SavedTensorHooks;
using autograd::SavedTensorHooksGuard;
using testing::HasSubstr;

// Keeps the elements, and no tensor.
struct ElementsHooks {
  int packed = 0, unpacked = 0;

  SavedTensorHooks hooks() {
    return {[this](const Tensor& t) -> std::shared_ptr<void> {
              EXPECT_FALSE(GradMode::is_enabled());
              ++packed;
              return std::make_shared<Kept>(values(t), t.sizes().vec());
            },
            [this](const std::shared_ptr<void>& p) {
              ++unpacked;
              const auto& kept = *static_cast<const Kept*>(p.get());
              return tensorOf(kept.first).view(kept.second);
            }};
  }
  using Kept = std::pair<Values, std::vector<int64_t>>;
};

// x, a constant, an operator that saves its result, one that saves its operand's alias.
Tensor program(const Tensor& x, const Tensor& c) { return (x * c).exp() * x.t(); }

TEST(SavedTensorHooks, GradientsOfEveryOrderAreTheSame) {
  const auto run = [](ElementsHooks* hooks) {
    const Tensor x = leaf({0.5, -1, 2, 0.25}).detach().view({2, 2}).requires_grad_();
    const Tensor c = tensorOf({1, 2, 3, 4}).view({2, 2});
    Tensor y;
    if (hooks != nullptr) {
      const SavedTensorHooksGuard guard(hooks->hooks());
      y = program(x, c);
    } else {
      y = program(x, c);
    }
    const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
    const Tensor gg = autograd::grad({(g * g).sum()}, {x}, {}, true, true)[0];
    gg.sum().backward();
    return std::vector<Values>{values(y), values(g), values(gg), values(x.grad())};
  };
  ElementsHooks hooks;
  EXPECT_EQ(run(&hooks), run(nullptr));
  EXPECT_EQ(hooks.packed, 4);  // the factors of two products, one of them a constant; the result of exp
  EXPECT_GE(hooks.unpacked, 4);
}

TEST(SavedTensorHooks, PackIsGivenTheTensorItself) {
  const Tensor x = leaf({1, 2}), c = tensorOf({3, 4});
  std::vector<Tensor> seen;
  const SavedTensorHooksGuard guard({[&](const Tensor& t) -> std::shared_ptr<void> {
                                       seen.push_back(t);
                                       return std::make_shared<Tensor>(t.detach());  // a result would keep its node
                                     },
                                     [](const std::shared_ptr<void>& p) { return *static_cast<Tensor*>(p.get()); }});
  const Tensor y = x * c;
  ASSERT_EQ(seen.size(), 1u);  // x isn't needed: c requires no gradient
  EXPECT_TRUE(seen[0].is_same(c));
  const Tensor e = y.exp();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].grad_fn(), e.grad_fn());
  e.sum().backward();
  EXPECT_EQ(values(x.grad()), values((x * c).exp() * c));
}

TEST(SavedTensorHooks, TheInnermostPairIsUsedAndItsOwnOperatorsAreNotPacked) {
  const Tensor x = leaf({2});
  std::string order;
  const auto named = [&](const char* name) {
    return SavedTensorHooks{[&order, name](const Tensor& t) -> std::shared_ptr<void> {
                              const AutoGradMode grad(true);
                              const Tensor w = t.detach().clone().requires_grad_();
                              order += name;
                              return std::make_shared<Tensor>((w * w).detach());
                            },
                            [](const std::shared_ptr<void>& p) { return static_cast<Tensor*>(p.get())->sqrt(); }};
  };
  Tensor a, b, c;
  {
    const SavedTensorHooksGuard outer(named("o"));
    a = x.exp();
    {
      const SavedTensorHooksGuard inner(named("i"));
      b = a.exp();
    }
    c = b.exp();
  }
  const Tensor d = c.mul(1).exp();
  EXPECT_EQ(order, "oio");
  x.detach().fill_(0.25);
  d.sum().backward();
  EXPECT_THAT(errorOf([] { autograd::pop_saved_tensor_hooks(); }), HasSubstr("this thread has no saved-tensor hooks"));
}

TEST(SavedTensorHooks, OfAnInPlaceOperatorOnAView) {
  const auto run = [](bool hooked) {
    ElementsHooks hooks;
    std::optional<SavedTensorHooksGuard> guard;
    if (hooked) guard.emplace(hooks.hooks());
    const Tensor x = leaf({1, 2, 3, 4});
    const Tensor y = x.mul(0.5);
    y.narrow(0, 1, 2).exp_();
    guard.reset();
    const Tensor g = autograd::grad({(y * y).sum()}, {x}, {}, true, true)[0];
    g.sum().backward();
    return std::vector<Values>{values(y), values(g), values(x.grad())};
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(SavedTensorHooks, WhatHooksMayNotDo) {
  const Tensor x = leaf({1, 2}), c = tensorOf({3, 4});
  {
    const SavedTensorHooksGuard guard({[](const Tensor& t) -> std::shared_ptr<void> {
                                         t.mul_(2);
                                         return nullptr;
                                       },
                                       [](const std::shared_ptr<void>&) { return Tensor(); }});
    EXPECT_THAT(errorOf([&] { x* c; }), HasSubstr("A saved tensor pack hook is modifying its input in place"));
  }
  Tensor y;
  {
    const SavedTensorHooksGuard guard({[](const Tensor&) -> std::shared_ptr<void> { return nullptr; },
                                       [](const std::shared_ptr<void>&) { return Tensor(); }});
    y = x * c;
  }
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), HasSubstr("unpack hook returned an undefined tensor"));
}

TEST(SavedTensorHooks, CanBeForbidden) {
  const SavedTensorHooks hooks{[](const Tensor&) -> std::shared_ptr<void> { return nullptr; },
                               [](const std::shared_ptr<void>&) { return Tensor(); }};
  EXPECT_EQ(autograd::set_saved_tensor_hooks_disabled("not in this part"), std::nullopt);
  EXPECT_THAT(errorOf([&] { SavedTensorHooksGuard guard(hooks); }), HasSubstr("not in this part"));
  EXPECT_EQ(autograd::set_saved_tensor_hooks_disabled(std::nullopt), "not in this part");
  const SavedTensorHooksGuard guard(hooks);
  EXPECT_THAT(errorOf([&] { autograd::set_saved_tensor_hooks_disabled("too late"); }), HasSubstr("too late"));
}

TEST(SavedTensorHooks, AreSeenWhereAFunctionIsCompiled) {
  const Tensor x = leaf({1, 2}), c = tensorOf({3, 4});
  const auto f = compile([](const Tensor& a, const Tensor& b) { return (a * b).exp(); });
  for (int i = 0; i < 3; ++i) f(x, c);
  ElementsHooks hooks;
  Tensor y;
  {
    const SavedTensorHooksGuard guard(hooks.hooks());
    y = f(x, c);
  }
  EXPECT_EQ(hooks.packed, 2);
  y.sum().backward();
  EXPECT_EQ(hooks.unpacked, 2);
}

}  // namespace
}  // namespace shunt::test
