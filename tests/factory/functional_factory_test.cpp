// What makes tensors without an operator, inside a FunctionalizeGuard.
#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <gtest/gtest.h>

namespace shunt {
namespace {

bool same(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() && a.eq(b).all().item<bool>();
}

TEST(FunctionalFactory, TensorOfNumbersMayBeWrittenLikeAnyOther) {
  const Tensor x = ones({3}), out = functionalize([](const Tensor& in) {
                                Tensor sum = tensor({1.f, 2.f, 3.f});
                                EXPECT_TRUE(is_functional(sum));
                                sum.add_(in);
                                sum[0].mul_(10);
                                return sum;
                              })(x);
  EXPECT_FALSE(is_functional(out));
  EXPECT_TRUE(same(out, tensor({20.f, 3.f, 4.f})));
}

TEST(FunctionalFactory, TensorOfNumbersIsWhatItIsOutside) {
  const auto make = [] {
    return std::vector<Tensor>{tensor(5),
                               tensor({{1, 2}, {3, 4}}),
                               tensor({true, false}),
                               tensor({1., 2.}, kBFloat16),
                               tensor({}),
                               tensor({1.5, 2.5}, TensorOptions(kDouble).requires_grad(true)),
                               tensor(std::vector<uint8_t>{1, 2})};
  };
  const std::vector<Tensor> expected = make();
  const FunctionalizeCheckGuard check;
  const FunctionalizeGuard guard;
  const std::vector<Tensor> got = make();
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(is_functional(got[i])) << i;
    const Tensor value = from_functional(got[i]);
    EXPECT_TRUE(same(value, expected[i])) << i;
    EXPECT_EQ(got[i].requires_grad(), expected[i].requires_grad()) << i;
    EXPECT_TRUE(got[i].is_leaf()) << i;
  }
  const FakeTensorMode fake;
  EXPECT_TRUE(is_functional(tensor({1., 2.})));
  EXPECT_TRUE(is_fake(from_functional(tensor({1., 2.}))));
}

// Formulas work on values.
TEST(FunctionalFactory, TensorOfNumbersInABackwardIsPlain) {
  struct Times : autograd::Function<Times> {
    static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 7; }
    static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list grads) {
      const Tensor factor = tensor({7.f});
      EXPECT_FALSE(is_functional(factor));
      return {grads[0] * factor};
    }
  };
  const Tensor x = ones({1}).requires_grad_(), y = Times::apply(x);
  const FunctionalizeGuard guard;
  y.sum().backward();
  EXPECT_FALSE(is_functional(x.grad()));
  EXPECT_EQ(x.grad().item<float>(), 7);
}

// Memory of the caller's: others see it change, so a plain tensor over it is a constant there, as an argument from
// outside is.
TEST(FunctionalFactory, TensorOverMemoryOfTheCallersIsAConstant) {
  float numbers[] = {1, 2};
  const FunctionalizeGuard guard;
  const Tensor t = from_blob(numbers, {2});
  EXPECT_FALSE(is_functional(t));
  EXPECT_EQ(t.data_ptr<float>(), numbers);
  EXPECT_FALSE(is_functional(wrapped_scalar_tensor(2)));
}

}  // namespace
}  // namespace shunt
