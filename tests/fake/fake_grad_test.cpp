// Fake tensors of tensors that have a grad, and backward through fake and real ones.
#include <shunt/interpose/tensor_subclass.h>
#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include "tests/support/error_of.h"
#include "tests/support/wrapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt {
namespace {

using test::errorOf;
using test::Wrapper;
using ::testing::HasSubstr;

/// Wraps, but holds no tensor.
struct Opaque : TensorSubclass {
  explicit Opaque(const Tensor& shown) : TensorSubclass(shown.sizes(), shown.options()) {}
  void handle(const OperatorHandle&, Stack*) override { FAIL(); }
};

TEST(FakeGrad, MayBeTheTensorItself) {
  const Tensor w = randn({3}).requires_grad_();
  w.mutable_grad() = w;
  FakeTensorConverter converter;
  const Tensor fake = converter.from_tensor(w);
  EXPECT_TRUE(fake.grad().is_same(fake));
  for (const Tensor& t : {w, fake}) t.mutable_grad().reset();  // a cycle of references, which nobody else would free
}

TEST(FakeGrad, MayBeAViewOfTheTensor) {
  for (const bool view_first : {false, true}) {
    const Tensor w = randn({3, 3}).requires_grad_();
    Tensor view;
    {
      const NoGradGuard no_grad;
      view = w.t();
    }
    w.mutable_grad() = view;
    FakeTensorConverter converter;
    const Tensor first = converter.from_tensor(view_first ? view : w);
    const Tensor fake = converter.from_tensor(w), fake_view = converter.from_tensor(view);
    EXPECT_TRUE(first.is_same(view_first ? fake_view : fake));
    EXPECT_TRUE(fake.grad().is_same(fake_view)) << view_first;
    EXPECT_TRUE(fake_view._base().is_same(fake));
    for (const Tensor& t : {w, fake}) t.mutable_grad().reset();
  }
}

TEST(FakeGrad, OfAWrapperIsThatOfTheTensorInside) {
  const Tensor w = randn({2, 3}).requires_grad_();
  const Tensor inner = wrap<Wrapper>(zeros({2, 3}));
  for (const Tensor& grad : {to_functional(zeros({2, 3})), inner, to_functional(inner).t().t()}) {
    w.mutable_grad() = grad;
    const Tensor fake = to_fake(w);
    EXPECT_TRUE(is_fake(fake.grad()));
    EXPECT_FALSE(is_functional(fake.grad()));
    EXPECT_EQ(fake.grad().key_set() - kAutogradKeys, to_fake(zeros({2, 3})).key_set());
    EXPECT_EQ(fake.grad().sizes(), w.sizes());
    EXPECT_TRUE(w.grad().is_same(grad));
  }
}

TEST(FakeGrad, ThatCannotBeMadeLeavesNoTrace) {
  const Tensor w = randn({2}).requires_grad_(), v = randn({2}).requires_grad_();
  w.mutable_grad() = v;
  v.mutable_grad() = wrap<Opaque>(ones({2}));
  FakeTensorConverter converter;
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(errorOf([&] { converter.from_tensor(w); }),
                HasSubstr("from_tensor: the grad of the tensor is a wrapper tensor of shape [2] that holds no tensor"));
  v.mutable_grad() = ones({2});
  EXPECT_TRUE(is_fake(converter.from_tensor(w).grad().grad()));
}

TEST(FakeGrad, RootsAreAllFakeOrAllReal) {
  const Tensor real = randn({}).requires_grad_(), fake = to_fake(randn({})).requires_grad_();
  const char* const kAdvice = " one; differentiate fake and real tensors in calls of their own";
  EXPECT_THAT(errorOf([&] { autograd::grad({fake * 2, real * 2}, {fake, real}); }),
              HasSubstr(std::string("element 1 of tensors is a real tensor and element 0 is a fake") + kAdvice));
  EXPECT_THAT(errorOf([&] { autograd::grad({real * 2, real * 3, fake * 2}, {fake, real}); }),
              HasSubstr(std::string("element 2 of tensors is a fake tensor and element 0 is a real") + kAdvice));
  EXPECT_THAT(errorOf([&] { autograd::backward({real * 2, wrap<Wrapper>(fake) * 2}); }), HasSubstr(kAdvice));
  EXPECT_FALSE(real.grad().defined());
  autograd::backward({fake * 2, fake * 3});
  autograd::backward({real * 2, real * 3});
  EXPECT_TRUE(is_fake(fake.grad()));
  EXPECT_EQ(real.grad().item<float>(), 5);
}

}  // namespace
}  // namespace shunt
