// A gradient is a plain tensor, whoever made it: hooks, custom functions and seeds may give wrapper and functional
// tensors.
#include <shunt/interpose/tensor_subclass.h>
#include <shunt/transforms/functionalize.h>

#include "tests/autograd/util.h"
#include "tests/support/wrapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test {
namespace {

using autograd::variable_list;
using testing::HasSubstr;

/// Holds numbers, but no tensor that autograd is told of.
struct Opaque : TensorSubclass {
  explicit Opaque(const Tensor& shown) : TensorSubclass(shown.sizes(), shown.options()) {}
  void handle(const OperatorHandle&, Stack*) override { FAIL() << "backward is not to meet the class"; }
};

Tensor wrapped(const Tensor& t) { return wrap<Wrapper>(t); }
Tensor functional(const Tensor& t) { return to_functional(t); }
Tensor both(const Tensor& t) { return to_functional(wrap<Wrapper>(t)); }

/// A copy of a wrapper's impl would have its keys without its class.
void expectPlain(const Tensor& grad, const Values& expected) {
  ASSERT_TRUE(grad.defined());
  EXPECT_EQ(grad.key_set(), tensorOf({1}).key_set());
  EXPECT_EQ(values(grad), expected);
  EXPECT_EQ(values(grad + 1).size(), expected.size());
}

using Make = Tensor (*)(const Tensor&);
class WrappedGrad : public testing::TestWithParam<Make> {};
INSTANTIATE_TEST_SUITE_P(Kinds, WrappedGrad, testing::Values(&wrapped, &functional, &both));

TEST_P(WrappedGrad, OfALeafsHook) {
  const Tensor x = leaf({1, 2});
  x.register_hook([](const Tensor& g) { return GetParam()(g * 3); });
  x.register_hook([](const Tensor& g) {  // the next one is given a plain tensor
    expectPlain(g, {3, 3});
    return Tensor();
  });
  for (const double times : {1., 2.}) {  // the first is kept, the second added
    x.sum().backward();
    expectPlain(x.grad(), {3 * times, 3 * times});
  }
}

TEST_P(WrappedGrad, OfAnInnerTensorsHook) {
  const Tensor x = leaf({1, 2}), y = x * 2;
  y.retain_grad();
  y.register_hook([](const Tensor& g) { return GetParam()(g * 3); });
  y.sum().backward();
  expectPlain(x.grad(), {6, 6});
  const Tensor z = x * 2, w = x * 1;
  z.register_hook([](const Tensor& g) { return GetParam()(g * 3); });
  expectPlain(autograd::grad({z.sum()}, {x})[0], {6, 6});
  w.register_hook([](const Tensor& g) { return GetParam()(g * 3); });
  expectPlain(autograd::grad({w.sum()}, {x}, {}, true, true)[0], {3, 3});
}

TEST_P(WrappedGrad, OfANodesHooks) {
  const Tensor x = leaf({1, 2}), y = x * 2;
  y.grad_fn()->add_pre_hook([](const variable_list& g) { return variable_list{GetParam()(g[0] * 3)}; });
  y.grad_fn()->add_pre_hook([](const variable_list& g) {
    expectPlain(g[0], {3, 3});
    return g;
  });
  const auto times5 = [](const variable_list& outputs, const variable_list& inputs) {
    expectPlain(inputs[0], {3, 3});
    expectPlain(outputs[0], {6, 6});
    variable_list result = outputs;
    result[0] = GetParam()(outputs[0] * 5);
    return result;
  };
  y.grad_fn()->add_post_hook(times5);
  y.grad_fn()->add_post_hook([](const variable_list& outputs, const variable_list&) {
    expectPlain(outputs[0], {30, 30});
    return outputs;
  });
  y.sum().backward();
  expectPlain(x.grad(), {30, 30});
}

struct Scale : autograd::Function<Scale> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(autograd::AutogradContext*, variable_list grads) { return {make(grads[0] * 2)}; }
  static Make make;
};
Make Scale::make = nullptr;

TEST_P(WrappedGrad, OfACustomFunction) {
  const Tensor x = leaf({1, 2});
  Scale::make = GetParam();
  (Scale::apply(x) * 5).sum().backward();
  expectPlain(x.grad(), {10, 10});
}

TEST_P(WrappedGrad, OfASeed) {
  const Tensor x = leaf({1, 2});
  x.backward(GetParam()(tensorOf({7, 8})));
  expectPlain(x.grad(), {7, 8});
}

TEST(WrappedGrads, AConstantOfAFunctionalizedFunctionInAHook) {
  const Tensor w = leaf({1, 2, 3});
  Tensor c;
  functionalize([&](const Tensor& x) {
    c = ones({3}, TensorOptions(kDouble)) * 5;
    c[0].mul_(2);
    return x * c;
  })(w)
      .sum();
  ASSERT_TRUE(is_functional(c));
  w.register_hook([c](const Tensor& g) { return g * c; });
  w.sum().backward();
  expectPlain(w.grad(), {10, 5, 5});
}

// Its place in the graph is the old tensor's; the numbers are not.
TEST(WrappedGrads, HaveTheNumbersThatALeafHasNow) {
  const Tensor f = to_functional(tensorOf({1, 1})).requires_grad_();
  {
    const NoGradGuard no_grad;
    f.mul_(5);
  }
  const Tensor x = leaf({1, 2}), y = leaf({1, 2});
  x.register_hook([&](const Tensor&) { return f; });
  x.sum().backward();
  expectPlain(x.grad(), {5, 5});
  y.backward(f);
  expectPlain(y.grad(), {5, 5});
  EXPECT_EQ(values(from_functional(f)), (Values{5, 5}));
}

TEST(WrappedGrads, AWrapperThatHoldsNoTensorIsAnError) {
  const auto isSaidOf = [](const std::string& who) {
    return HasSubstr(who + " a wrapper tensor of shape [2] that holds no tensor, and a gradient is a plain tensor");
  };
  const Tensor x = leaf({1, 2}), y = x * 1;
  const auto opaque = [](const Tensor& g) { return wrap<Opaque>(g); };
  const unsigned id = x.register_hook(opaque);
  EXPECT_THAT(errorOf([&] { x.sum().backward(); }), isSaidOf("the hook 0 of a tensor (register_hook) returned"));
  x.remove_hook(id);
  EXPECT_THAT(errorOf([&] { x.backward(opaque(x)); }), isSaidOf("grad_output[0] is"));
  y.grad_fn()->add_pre_hook([&](const variable_list& g) { return variable_list{opaque(g[0])}; });
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), isSaidOf("the pre-hook 0 of MulBackward1 returned"));
  Scale::make = +[](const Tensor& g) { return wrap<Opaque>(g); };
  EXPECT_THAT(errorOf([&] { Scale::apply(x).sum().backward(); }), isSaidOf("Scale> at index 0 returned"));
  EXPECT_FALSE(x.grad().defined());
}

}  // namespace
}  // namespace shunt::test
