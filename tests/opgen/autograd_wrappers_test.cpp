// What the generated Autograd wrappers record and refuse.
#include <shunt/shunt.h>

#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace shunt {
namespace {

using testing::HasSubstr;

using test::errorOf;

struct Named {
  const char* node;
  std::function<Tensor(const Tensor&)> run;
};
const Named kNodes[] = {
    {"AddBackward0", [](const Tensor& x) { return x + x; }},
    {"AddBackward0", [](const Tensor& x) { return x.clone().add_(x); }},
    {"AddBackward1", [](const Tensor& x) { return x + 1; }},
    {"MulBackward0", [](const Tensor& x) { return x * x; }},
    {"MmBackward0", [](const Tensor& x) { return x.mm(x); }},
    {"SumBackward0", [](const Tensor& x) { return x.sum(); }},
    {"SumBackward1", [](const Tensor& x) { return x.sum(0); }},
    {"ViewBackward0", [](const Tensor& x) { return x.view({4}); }},
    {"ReshapeAliasBackward0", [](const Tensor& x) { return x.reshape({4}); }},
    {"UnsafeViewBackward0", [](const Tensor& x) { return x.t().reshape({4}); }},
    {"ReshapeAliasBackward0", [](const Tensor& x) { return x.flatten(); }},
    {"DiagonalBackward0", [](const Tensor& x) { return x.diagonal(); }},
    {"SplitBackward0", [](const Tensor& x) { return x.split(1)[1]; }},
    {"SplitBackward0", [](const Tensor& x) { return x.chunk(2)[0]; }},
    {"SplitWithSizesBackward0", [](const Tensor& x) { return x.split_with_sizes({1, 1})[1]; }},
    {"UnbindBackward0", [](const Tensor& x) { return x.unbind()[1]; }},
    {"StackBackward0", [](const Tensor& x) { return stack({x, x}); }},
    {"PowBackward0", [](const Tensor& x) { return x.square(); }},
    {"PowBackward0", [](const Tensor& x) { return x.clone().pow_(2); }},
    {"PowBackward1", [](const Tensor& x) { return x.clone().pow_(x); }},
    {"CopyBackwards", [](const Tensor& x) { return x.detach().clone().copy_(x); }},
    {"FillBackward0", [](const Tensor& x) { return fill(x, 1); }},
    {"FillBackward2", [](const Tensor& x) { return x.clone().fill_(1); }},
    {"FillBackward3", [](const Tensor& x) { return x.clone().fill_(x.sum()); }},
    {"EqBackward0", [](const Tensor& x) { return x.clone().eq_(1); }},
    {"EqBackward1", [](const Tensor& x) { return x.clone().eq_(x); }},
    {"TBackward1", [](const Tensor& x) { return x.clone().t_(); }},
    {"TransposeBackward1", [](const Tensor& x) { return x.clone().transpose_(0, 1); }},
    {"SqueezeBackward2", [](const Tensor& x) { return x.clone().squeeze_(); }},
    {"SqueezeBackward3", [](const Tensor& x) { return x.clone().squeeze_(0); }},
    {"UnsqueezeBackward1", [](const Tensor& x) { return x.clone().unsqueeze_(0); }},
    {"AsStridedBackward1", [](const Tensor& x) { return x.clone().as_strided_({2}, {1}); }},
    {"ThresholdBackward1",
     [](const Tensor& x) {
       Tensor y = x.clone();
       threshold_(y, 0, 1);
       return y;
     }},
    {"NotImplemented", [](const Tensor& x) { return x.floor_divide(2); }},
    {"NotImplemented", [](const Tensor& x) { return x.clone().floor_divide_(x); }},
    {"NotImplemented", [](const Tensor& x) { return randint_like(x, 3); }},
    {"TBackward0", [](const Tensor& x) { return x.t(); }},
    {"SoftmaxBackward0", [](const Tensor& x) { return softmax(x, 0); }},
    {"LogSoftmaxBackward0", [](const Tensor& x) { return log_softmax(x, 0); }},
    {"CatBackward0", [](const Tensor& x) { return cat({x, x}); }},
    {"GatherBackward0", [](const Tensor& x) { return x.gather(0, zeros({1, 2}, kLong)); }},
    {"ScatterBackward0", [](const Tensor& x) { return x.scatter(0, zeros({1, 2}, kLong), x); }},
    {"ScatterBackward1", [](const Tensor& x) { return x.scatter(0, zeros({1, 2}, kLong), 1); }},
    {"ScatterAddBackward0", [](const Tensor& x) { return x.clone().scatter_add_(0, zeros({1, 2}, kLong), x); }},
    {"ScatterReduceBackward0", [](const Tensor& x) { return x.scatter_reduce(0, zeros({1, 2}, kLong), x, "mean"); }},
    {"TopkBackward0", [](const Tensor& x) { return std::get<0>(x.topk(1)); }},
    {"EluBackward0", [](const Tensor& x) { return elu(x); }},
    {"SmoothL1LossBackward0", [](const Tensor& x) { return smooth_l1_loss(x, x.detach()); }},
    {"HuberLossBackward0", [](const Tensor& x) { return huber_loss(x, x.detach()); }},
    {"ConvolutionBackward0", [](const Tensor& x) { return conv2d(x.view({1, 1, 2, 2}), ones({1, 1, 1, 1})); }},
    {"NativeBatchNormBackward0", [](const Tensor& x) { return batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5, false); }},
    {"MaxPool2DWithIndicesBackward0", [](const Tensor& x) { return max_pool2d(x.view({1, 2, 2}), 2); }},
    {"AvgPool2DBackward0", [](const Tensor& x) { return avg_pool2d(x.view({1, 2, 2}), 2); }},
    {"AdaptiveAvgPool2DBackward0", [](const Tensor& x) { return adaptive_avg_pool2d(x.view({1, 2, 2}), {2, 1}); }},
    {"IndexBackward0", [](const Tensor& x) { return x.index({zeros({2}, kLong)}); }},
    {"IndexPutBackward0", [](const Tensor& x) { return x.index_put({{zeros({2}, kLong)}}, x[0]); }},
    {"FlipBackward0", [](const Tensor& x) { return x.flip({0}); }},
    {"SortBackward0", [](const Tensor& x) { return std::get<0>(x.sort()); }},
    {"SortBackward1", [](const Tensor& x) { return std::get<0>(x.sort(std::optional<bool>(true), 0)); }},
    {"IndexSelectBackward0", [](const Tensor& x) { return x.index_select(0, zeros({1}, kLong)); }},
};

TEST(AutogradWrappers, NodesAreNamedAsPyTorchNamesThem) {
  const Tensor x = ones({2, 2}, requires_grad());
  for (const Named& n : kNodes) {
    const Tensor y = n.run(x);
    ASSERT_TRUE(y.requires_grad()) << n.node;
    EXPECT_EQ(y.grad_fn()->name(), n.node);
  }
}

TEST(AutogradWrappers, NothingIsRecordedWithoutNeed) {
  const Tensor plain = ones({2, 2}), x = ones({2, 2}, requires_grad());
  for (const Named& n : kNodes) {
    EXPECT_FALSE(n.run(plain).requires_grad()) << n.node;
    NoGradGuard no_grad;
    EXPECT_FALSE(n.run(x).grad_fn()) << n.node;
  }
}

TEST(AutogradWrappers, ResultsWithoutGradient) {
  const Tensor x = ones({2, 2}, requires_grad());
  for (const Tensor& y : {x == 1, x.argmax(), x.detach(), x.isnan(), zeros_like(x), x.to(kLong)})
    EXPECT_FALSE(y.requires_grad());
  const auto [values, indices] = x.max(0);
  EXPECT_TRUE(values.requires_grad());
  EXPECT_FALSE(indices.requires_grad());
}

TEST(AutogradWrappers, OutFormsRefuseRecordedTensors) {
  const Tensor x = ones({2}, requires_grad());
  Tensor out = zeros({2});
  EXPECT_THAT(errorOf([&] { add_out(out, x, x); }), HasSubstr("don't support automatic differentiation"));
  EXPECT_EQ(out[0].item<float>(), 0.0f);
  Tensor grad_out = zeros({2}, requires_grad());
  EXPECT_THROW(add_out(grad_out, ones({2}), ones({2})), Error);
  EXPECT_EQ(errorOf([&] { eq_out(out = empty({2}, kBool), x, x); }), "no error");
  NoGradGuard no_grad;
  EXPECT_EQ(errorOf([&] { add_out(out = empty({2}), x, x); }), "no error");
}

TEST(AutogradWrappers, InPlaceOnALeafIsRefusedBeforeAnythingChanges) {
  Tensor x = ones({2}, requires_grad());
  EXPECT_THAT(errorOf([&] { x.add_(1); }), HasSubstr("a leaf Variable that requires grad"));
  EXPECT_EQ(x[0].item<float>(), 1.0f);
  EXPECT_EQ(x._version(), 0);
}

TEST(AutogradWrappers, InPlaceSavesWhatItOverwrites) {
  const Tensor x = full({1}, 3.0, requires_grad());
  Tensor y = x.clone(), z = full({1}, 5.0, requires_grad());
  y.mul_(z);  // the gradient of z is y's old value
  y.sum().backward();
  EXPECT_EQ(z.grad().item<float>(), 3.0f);
  EXPECT_EQ(x.grad().item<float>(), 5.0f);
}

TEST(AutogradWrappers, InPlaceSavesItsResult) {
  const Tensor x = zeros({1}, requires_grad());
  Tensor y = x.clone();
  y.sigmoid_();
  y.sum().backward();
  EXPECT_EQ(x.grad().item<float>(), 0.25f);
}

TEST(AutogradWrappers, SavedTensorChangedLaterIsAnError) {
  const Tensor x = ones({1}, requires_grad());
  Tensor y = x.clone();
  y.mul_(y);
  EXPECT_THAT(errorOf([&] { y.sum().backward(); }), HasSubstr("modified by an inplace operation"));
  y.detach_();  // the node saved y, whose history it is: a cycle, as in PyTorch
}

TEST(AutogradWrappers, OnlyWhatIsWantedIsKept) {
  const Tensor x = ones({1}, requires_grad());
  Tensor factor = full({1}, 2.0);
  const Tensor y = factor * x;  // x's value isn't needed: nobody wants factor's gradient
  {
    NoGradGuard no_grad;
    Tensor alias = x;
    alias.add_(1);
  }
  EXPECT_EQ(errorOf([&] { y.sum().backward(); }), "no error");
  EXPECT_EQ(x.grad().item<float>(), 2.0f);
}

TEST(AutogradWrappers, BackwardTwiceNeedsRetainGraph) {
  const Tensor x = ones({1}, requires_grad());
  const Tensor y = (x * x).sum();
  y.backward({}, true);
  y.backward();
  EXPECT_EQ(x.grad().item<float>(), 4.0f);
  EXPECT_THAT(errorOf([&] { y.backward(); }), HasSubstr("backward through the graph a second time"));
  const Tensor z = cat({x * x, x});
  z.sum().backward();
  EXPECT_THROW(z.sum().backward(), Error);
}

TEST(AutogradWrappers, DetachInPlaceAndResize) {
  Tensor y = ones({2}, requires_grad()) * 2;
  y.detach_();
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(y.is_leaf());
  Tensor x = ones({2}, requires_grad());
  EXPECT_THAT(errorOf([&] { x.resize_({3}); }), HasSubstr("cannot resize variables that require grad"));
  EXPECT_EQ(x.numel(), 2);
}

TEST(AutogradWrappers, ListsAndOptionalTensors) {
  const Tensor a = ones({1}, requires_grad()), b = ones({2}), c = ones({3}, requires_grad());
  (cat({a, b, c}) * 2).sum().backward();
  EXPECT_EQ(a.grad().sum().item<float>(), 2.0f);
  EXPECT_EQ(c.grad().sum().item<float>(), 6.0f);
  const Tensor logits = zeros({1, 2}, requires_grad());
  nll_loss(log_softmax(logits, 1), zeros({1}, kLong)).backward();
  EXPECT_EQ(logits.grad()[0][0].item<float>(), -0.5f);
}

}  // namespace
}  // namespace shunt
