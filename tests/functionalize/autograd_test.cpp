// Gradients of functionalized programs, and leaves that are changed.
#include "tests/functionalize/util.h"

namespace shunt::test {
namespace {

using List = std::vector<Tensor>;

/// Bits of results, leaves and gradients of a program that trains `parameters` in place.
template <class F>
void expectSameTraining(const List& parameters, F f) {
  const auto leaves = [&] {
    List out;
    for (const Tensor& p : parameters) out.push_back(p.clone().requires_grad_());
    return out;
  };
  const List plain = leaves(), functional = leaves();
  const Tensor expected = f(plain);
  const FunctionalizeCheckGuard check;
  const Tensor got = functionalize([&](const List& in) { return f(in); })(functional);
  EXPECT_TRUE(identical(expected, got)) << expected << got;
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_TRUE(identical(plain[i], functional[i])) << plain[i] << functional[i];
    EXPECT_TRUE(functional[i].requires_grad());
    EXPECT_TRUE(functional[i].is_leaf());
    EXPECT_TRUE(identical(plain[i].grad(), functional[i].grad()));
  }
}

TEST(FunctionalizeAutograd, GradientsThroughWrites) {
  expectSameTraining({iota({2, 3})}, [](const List& in) {
    const Tensor y = in[0].mul(2);
    y[0].mul_(3);
    y.t()[2].neg_();
    y.view({6}).slice(0, 1, 3).copy_(in[0].view({6}).slice(0, 3, 5).exp());
    const Tensor loss = y.mul(y).sum();
    loss.backward();
    return loss.detach();
  });
}

TEST(FunctionalizeAutograd, WritesToPlainZeros) {
  expectSameTraining({iota({3})}, [](const List& in) {
    const Tensor rows = zeros({2, 3});
    rows[0].copy_(in[0]);
    rows[1].add_(in[0].mul(in[0]));
    const Tensor loss = rows.mul(rows).sum();
    loss.backward();
    return rows.detach();
  });
}

TEST(FunctionalizeAutograd, ThreeStepsOfGradientDescent) {
  manual_seed(3);
  const Tensor x = randn({8, 4}), target = randn({8, 2});
  expectSameTraining({randn({4, 2}), randn({2})}, [&](const List& p) {
    Tensor loss;
    for (int step = 0; step < 3; ++step) {
      loss = x.mm(p[0]).add(p[1]).tanh().sub(target).square().mean();
      for (const Tensor& t : p) t.mutable_grad() = Tensor();
      loss.backward();
      const NoGradGuard no_grad;
      for (const Tensor& t : p) t.sub_(t.grad().mul(0.1));
    }
    return loss.detach();
  });
}

TEST(FunctionalizeAutograd, GradientsAccumulateOverSteps) {
  expectSameTraining({iota({3})}, [](const List& p) {
    for (int step = 0; step < 3; ++step) {
      p[0].mul(p[0]).sum().backward();
      const NoGradGuard no_grad;
      p[0].sub_(p[0].grad(), 0.25);
      p[0][1].add_(1);  // through a view
    }
    return p[0].detach().clone();
  });
}

TEST(FunctionalizeAutograd, ALeafStaysTheLeaf) {
  const Tensor p = to_functional(iota({3}).requires_grad_());
  EXPECT_TRUE(p.requires_grad() && p.is_leaf());
  p.mul(p).sum().backward();
  {
    const NoGradGuard no_grad;
    p.sub_(p.grad());
  }
  EXPECT_TRUE(p.requires_grad() && p.is_leaf());
  EXPECT_TRUE(identical(p.grad(), iota({3}).mul(2)));
  EXPECT_TRUE(identical(from_functional(p), iota({3}) - iota({3}) * 2));
  p.sum().backward();
  EXPECT_TRUE(identical(p.grad(), iota({3}).mul(2).add(1)));
}

TEST(FunctionalizeAutograd, RequiresGradCanBeSwitched) {
  const Tensor p = to_functional(iota({3}).requires_grad_());
  {
    const NoGradGuard no_grad;
    p.add_(1);
  }
  p.requires_grad_(false);
  EXPECT_FALSE(p.mul(2).requires_grad());
  p.requires_grad_();
  const Tensor y = p.mul(2);
  EXPECT_TRUE(y.requires_grad());
  y.sum().backward();
  EXPECT_TRUE(identical(p.grad(), full({3}, 2.0)));
}

TEST(FunctionalizeAutograd, HooksRunOnTheLeaf) {
  const Tensor p = to_functional(iota({2}).requires_grad_());
  int calls = 0;
  p.register_hook([&](const Tensor& g) {
    ++calls;
    return g.mul(10);
  });
  p.mul(3).sum().backward();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(identical(p.grad(), full({2}, 30.0)));
}

TEST(FunctionalizeAutograd, HistoryStaysUnderNoGrad) {
  expectSameTraining({iota({3})}, [](const List& in) {
    const Tensor y = in[0].mul(in[0]);
    {
      const NoGradGuard no_grad;
      y.add_(5);
      y.slice(0, 1).mul_(2);
    }
    y.sum().backward();
    return y.detach();
  });
}

TEST(FunctionalizeAutograd, GradModeOfViewsIsTheirs) {
  expectSameTraining({iota({4})}, [](const List& in) {
    const Tensor y = in[0].mul(2);
    const Tensor view = y.slice(0, 2);
    y.add_(1);
    view.mul_(3);  // made again after add_, and still recorded
    y.sum().backward();
    return y.detach();
  });
}

TEST(FunctionalizeAutograd, Detached) {
  expectSameTraining({iota({4})}, [](const List& in) {
    const Tensor y = in[0].mul(2);
    Tensor cut = y.detach();
    cut.add_(1);
    y.sum().backward();
    return cut;
  });
}

TEST(FunctionalizeAutograd, DetachedViewsOfALeafAreWrittenAgain) {
  const Tensor p = iota({2, 3}).requires_grad_();
  const FunctionalizeGuard guard;
  const Tensor f = to_functional(p), flat = f.flatten();
  Tensor cut = flat.detach();
  cut.add_(1);
  cut.relu_();
  EXPECT_FALSE(cut.requires_grad());
  EXPECT_TRUE(identical(from_functional(f).detach(), iota({2, 3}) + 1));
}

TEST(FunctionalizeAutograd, BackwardInsideTheGuardMakesPlainGradients) {
  const Tensor p = iota({2, 3}).requires_grad_();
  const FunctionalizeGuard guard;
  const Tensor f = to_functional(p);
  f.select(1, 0).sum().backward();  // its formula makes zeros
  EXPECT_FALSE(is_functional(p.grad()));
}

// What a plain program can't do, since a saved tensor was changed: functionalized, the old value is still there.
TEST(FunctionalizeAutograd, SavedTensorsAreNeverChanged) {
  const auto program = [](const Tensor& x) {
    const Tensor y = x.exp();
    const Tensor z = y.sum();
    y.add_(1);
    z.backward();
  };
  const Tensor plain = iota({2}).requires_grad_(), functional = iota({2}).requires_grad_();
  EXPECT_NE(errorOf([&] { program(plain); }), "no error");
  functionalize(program)(functional);
  EXPECT_TRUE(identical(functional.grad(), iota({2}).exp()));
}

}  // namespace
}  // namespace shunt::test
