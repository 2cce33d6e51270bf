// A leaf that gets another shape under no_grad: its gradients are those of the plain program, in the new shape.
#include "tests/functionalize/util.h"

#include <functional>

namespace shunt::test {
namespace {

using List = std::vector<Tensor>;

struct Reshape {
  const char* name;
  std::function<void(Tensor&)> change;
};

const std::vector<Reshape> kReshapes = {
    {"unsqueeze_", [](Tensor& x) { x.unsqueeze_(1); }},
    {"squeeze_", [](Tensor& x) { x.squeeze_(); }},
    {"t_", [](Tensor& x) { x.squeeze_(0).t_(); }},
    {"transpose_", [](Tensor& x) { x.transpose_(0, 2); }},
    {"as_strided_", [](Tensor& x) { x.as_strided_({3, 2}, {1, 3}, 0); }},
    {"as_strided_, a part", [](Tensor& x) { x.as_strided_({2, 2}, {3, 1}, 1); }},
    {"after a write", [](Tensor& x) { x.mul_(2).transpose_(1, 2); }},
    {"before a write", [](Tensor& x) { x.transpose_(1, 2).mul_(2).select(2, 0).add_(1); }},
};

Tensor leaf() { return iota({1, 2, 3}).clone().requires_grad_(); }

/// Two steps of training a tensor that got another shape; what can be seen of it.
List train(Tensor x, const Reshape& reshape) {
  List seen;
  int hooks = 0;
  x.register_hook([&](const Tensor& g) {
    ++hooks;
    return g;
  });
  {
    const NoGradGuard no_grad;
    reshape.change(x);
  }
  EXPECT_TRUE(x.requires_grad() && x.is_leaf()) << reshape.name;
  for (int step = 0; step < 2; ++step) {
    const Tensor weights = arange(x.numel(), kFloat).view(x.sizes());
    x.mul(x).mul(weights).sum().backward();
    x.select(0, 0).sum().backward();
    EXPECT_EQ(hooks, 2 * (step + 1)) << reshape.name;
    EXPECT_TRUE(x.grad().defined()) << reshape.name;
    if (!x.grad().defined()) return seen;
    seen.push_back(x.grad().clone());
    const NoGradGuard no_grad;
    x.sub_(x.grad().mul(0.5));
    seen.push_back(x.detach().clone());
  }
  return seen;
}

void expectSame(const List& plain, const List& functional, const char* name) {
  ASSERT_EQ(plain.size(), functional.size()) << name;
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(identical(plain[i], functional[i])) << name << ' ' << i;
  }
}

TEST(FunctionalizeLeafShape, GradientsAreThoseOfThePlainProgram) {
  for (const Reshape& reshape : kReshapes) {
    const List plain = train(leaf(), reshape);
    const Tensor own = leaf();
    const FunctionalizeCheckGuard check;
    const Tensor x = to_functional(own);
    expectSame(plain, train(x, reshape), reshape.name);
    EXPECT_TRUE(own.grad().is_same(x.grad())) << reshape.name;
  }
}

TEST(FunctionalizeLeafShape, TheArgumentOfAFunction) {
  for (const Reshape& reshape : kReshapes) {
    const Tensor plain = leaf(), functional = leaf();
    const List expected = train(plain, reshape);
    expectSame(expected, functionalize([&](const Tensor& x) { return train(x, reshape); })(functional), reshape.name);
    EXPECT_TRUE(identical(plain, functional)) << reshape.name << functional;
    EXPECT_EQ(plain.strides(), functional.strides()) << reshape.name;
    EXPECT_TRUE(functional.requires_grad() && functional.is_leaf());
    EXPECT_TRUE(identical(plain.grad(), functional.grad())) << reshape.name;
  }
}

TEST(FunctionalizeLeafShape, StaysWhenTheFunctionThrows) {
  const Tensor x = leaf();
  EXPECT_NE(errorOf([&] {
              functionalize([](Tensor t) {
                const NoGradGuard no_grad;
                t.squeeze_(0).t_().add_(1);
                t.add_(ones({7}));
              })(x);
            }),
            "no error");
  EXPECT_TRUE(identical(x, leaf()));
}

TEST(FunctionalizeLeafShape, ViewsOfItAreMadeAgain) {
  const auto program = [](Tensor x) {
    {
      const NoGradGuard no_grad;
      x.squeeze_(0).t_();
    }
    const Tensor row = x[1];
    {
      const NoGradGuard no_grad;
      x.mul_(3);
    }
    row.mul(row).sum().backward();
    return List{row.detach().clone(), x.grad().clone()};
  };
  expectSame(program(leaf()), program(to_functional(leaf())), "a view");
}

// What was saved of the leaf has the old shape: the plain program's error, and no wrong gradient.
TEST(FunctionalizeLeafShape, SavedBefore) {
  const auto program = [](Tensor x) {
    const Tensor y = x.mul(x).sum();
    {
      const NoGradGuard no_grad;
      x.transpose_(1, 2);
    }
    y.backward();
  };
  EXPECT_THAT(errorOf([&] { program(leaf()); }), testing::HasSubstr("modified by an inplace operation"));
  EXPECT_THAT(errorOf([&] { program(to_functional(leaf())); }), testing::HasSubstr("modified by an inplace operation"));
}

TEST(FunctionalizeLeafShape, GradWantedAfterwards) {
  const auto program = [](Tensor x) {
    {
      const NoGradGuard no_grad;
      x.squeeze_(0).t_();
    }
    x.requires_grad_();
    {
      const NoGradGuard no_grad;
      x.mul_(2);
    }
    x.mul(x).sum().backward();
    return x.grad().clone();
  };
  const Tensor plain = iota({1, 2, 3}), functional = iota({1, 2, 3}).clone();
  EXPECT_TRUE(identical(program(plain), functionalize(program)(functional)));
  EXPECT_TRUE(identical(plain, functional));
  EXPECT_TRUE(functional.requires_grad() && functional.is_leaf());
  ASSERT_TRUE(functional.grad().defined());
  EXPECT_TRUE(identical(plain.grad(), functional.grad()));
  const Tensor untouched = iota({1, 2, 3});
  program(to_functional(untouched));
  EXPECT_TRUE(identical(untouched, iota({1, 2, 3})));
}

// An in-place view under no_grad is no cut: what is recorded later goes through it.
TEST(FunctionalizeLeafShape, WritesRecordedAfterwards) {
  const auto program = [](const Tensor& w, Tensor x) {
    {
      const NoGradGuard no_grad;
      x.squeeze_(0).t_();
    }
    x.mul_(w);
    x.sum().backward();
    return w.grad().clone();
  };
  const Tensor w1 = full({}, 2.0).requires_grad_(), w2 = full({}, 2.0).requires_grad_();
  EXPECT_TRUE(identical(program(w1, iota({1, 2, 3})), program(w2, to_functional(iota({1, 2, 3})))));
}

}  // namespace
}  // namespace shunt::test
