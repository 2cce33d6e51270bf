// mse_loss, nll_loss and cross_entropy_loss against double arithmetic, and their errors.
#include <gmock/gmock.h>

#include "tests/reduce/reference.h"

namespace shunt::testing {
namespace {

constexpr int64_t kNone = Reduction::None, kMean = Reduction::Mean, kSum = Reduction::Sum;

Tensor targets(const std::vector<int64_t>& values) { return shunt::tensor(values); }

struct Loss {
  std::vector<double> each;
  double sum = 0, weight = 0;
};

Loss expectedNll(const Tensor& x, const std::vector<int64_t>& target, const std::vector<double>& weight,
                 int64_t ignore) {
  Loss loss;
  for (size_t i = 0; i < target.size(); ++i) {
    const bool used = target[i] != ignore;
    const double w = !used ? 0 : weight.empty() ? 1 : weight[static_cast<size_t>(target[i])];
    loss.each.push_back(used ? -w * valueAt(x, {static_cast<int64_t>(i), target[i]}) : 0);
    loss.sum += loss.each.back();
    loss.weight += w;
  }
  return loss;
}

TEST(NllLoss, PicksWeighsAndReduces) {
  const std::vector<int64_t> target = {1, 3, 0, -100, 2, 3};
  const std::vector<double> weight = {0.5, 2, 1, 0.25};
  for (const ScalarType type : {kBFloat16, kFloat, kDouble})
    for (const Tensor& x : layoutsOf(randomTensor({6, 4}, type)))
      for (const bool weighted : {false, true}) {
        const Loss loss = expectedNll(x, target, weighted ? weight : std::vector<double>(), -100);
        const std::optional<Tensor> w = weighted ? std::optional(shunt::tensor(weight).to(type)) : std::nullopt;
        const double tolerance = 8 * epsilonOf(type);
        EXPECT_TRUE(near(valuesOf(shunt::nll_loss(x, targets(target), w, kNone)), loss.each, tolerance));
        EXPECT_TRUE(near(valuesOf(shunt::nll_loss(x, targets(target), w, kSum)), {loss.sum}, tolerance));
        EXPECT_TRUE(near(valuesOf(shunt::nll_loss(x, targets(target), w, kMean)), {loss.sum / loss.weight}, tolerance));
        const auto [out, total] = shunt::nll_loss_forward(x, targets(target), w, kSum, -100);
        EXPECT_TRUE(near(valuesOf(total), {loss.weight}, tolerance));
      }
}

TEST(NllLoss, BackwardIsTheWeightOfThePick) {
  const std::vector<int64_t> target = {1, 2, -100};
  const Tensor x = randomTensor({3, 3}, kDouble), grad = shunt::tensor({2., 3., 4.}, kDouble);
  const Tensor total = shunt::tensor(2.0, kDouble), one = shunt::tensor(6.0, kDouble);
  EXPECT_EQ(valuesOf(shunt::nll_loss_backward(grad, x, targets(target), std::nullopt, kNone, -100, total)),
            (std::vector<double>{0, -2, 0, 0, 0, -3, 0, 0, 0}));
  EXPECT_EQ(valuesOf(shunt::nll_loss_backward(one, x, targets(target), std::nullopt, kMean, -100, total)),
            (std::vector<double>{0, -3, 0, 0, 0, -3, 0, 0, 0}));
  EXPECT_EQ(valuesOf(shunt::nll_loss_backward(one, x, targets(target), shunt::tensor({1., 0.5, 2.}, kDouble), kSum,
                                              -100, total)),
            (std::vector<double>{0, -3, 0, 0, 0, -12, 0, 0, 0}));
}

TEST(NllLoss, SpecialCases) {
  const Tensor x = randomTensor({3}, kFloat);
  EXPECT_FLOAT_EQ(shunt::nll_loss(x, shunt::tensor(int64_t{2})).item<float>(), -x.data_ptr<float>()[2]);
  EXPECT_TRUE(std::isnan(shunt::nll_loss(randomTensor({0, 3}, kFloat), randomTensor({0}, kLong)).item<double>()));
  EXPECT_EQ(shunt::nll_loss(randomTensor({0, 3}, kFloat), randomTensor({0}, kLong), std::nullopt, kSum).item<double>(),
            0);
  EXPECT_TRUE(std::isnan(shunt::nll_loss(randomTensor({1, 3}, kFloat), targets({-100})).item<double>()));
}

TEST(NllLoss, ErrorsNameTheShapes) {
  const Tensor x = randomTensor({2, 3}, kFloat);
  EXPECT_THAT(errorOf([&] { shunt::nll_loss(x, targets({0, 3})); }),
              ::testing::StartsWith("Target 3 is out of bounds. Argument 'target' has it for sample 1; the input has 3 "
                                    "classes, so a target is one of [0, 2], or ignore_index, -100 (in aten::nll_loss"));
  EXPECT_THAT(
      errorOf([&] { shunt::nll_loss(x, targets({0, -1}), std::nullopt, kSum, 7); }),
      ::testing::StartsWith("Target -1 is out of bounds. Argument 'target' has it for sample 1; the input has 3 "
                            "classes, so a target is one of [0, 2], or ignore_index, 7 (in aten::nll_loss"));
  EXPECT_THAT(errorOf([&] { shunt::nll_loss(x, targets({0})); }),
              ::testing::StartsWith("size mismatch (got input: [2, 3], target: [1])"));
  EXPECT_THAT(errorOf([&] { shunt::nll_loss(x, targets({0, 1}).to(kInt)); }),
              ::testing::StartsWith("expected scalar type Long but found Int for argument 'target', which holds class "
                                    "numbers (in aten::nll_loss"));
  EXPECT_THAT(
      errorOf([&] { shunt::nll_loss(x, targets({0, 1}), randomTensor({3}, kDouble)); }),
      ::testing::StartsWith("expected scalar type Float but found Double for argument 'weight', which needs the "
                            "dtype of 'self' (in aten::nll_loss"));
  const Tensor images = randomTensor({2, 3, 4}, kFloat);
  EXPECT_THAT(
      errorOf([&] { shunt::nll_loss_nd(images, images); }),
      ::testing::StartsWith("expected scalar type Long but found Float for argument 'target', which holds class "
                            "numbers (in aten::nll_loss_nd"));
  const Tensor grad = randomTensor({}, kDouble), total = randomTensor({}, kFloat);
  EXPECT_THAT(
      errorOf([&] { shunt::nll_loss_backward(grad, x, targets({0, 1}), {}, kSum, -100, total); }),
      ::testing::StartsWith("expected scalar type Float but found Double for argument 'grad_output', which needs "
                            "the dtype of 'self' (in aten::nll_loss_backward"));
  EXPECT_THAT(
      errorOf([&] { shunt::nll_loss_backward(total, x, targets({0, 1}), {}, kSum, -100, grad); }),
      ::testing::StartsWith("expected scalar type Float but found Double for argument 'total_weight', which needs "
                            "the dtype of 'self' (in aten::nll_loss_backward"));
  EXPECT_THAT(errorOf([&] { shunt::nll_loss(x, targets({0, 1}), randomTensor({2}, kFloat)); }),
              ::testing::StartsWith("weight tensor should be defined either for all 3 classes or no classes but got "
                                    "weight tensor of shape: [2]"));
  EXPECT_THAT(errorOf([&] { shunt::nll_loss(x, targets({0, 1}), std::nullopt, 3); }),
              ::testing::HasSubstr("reduction"));
}

TEST(CrossEntropy, IsNllOfLogSoftmax) {
  const Tensor x = randomTensor({5, 4}, kDouble);
  const Tensor target = targets({0, 3, 1, 1, -100});
  EXPECT_EQ(shunt::cross_entropy_loss(x, target).item<double>(),
            shunt::nll_loss(shunt::log_softmax(x, 1), target).item<double>());
}

TEST(CrossEntropy, OfPositionsEqualsFlattenedSamples) {
  const Tensor x = randomTensor({2, 3, 4}, kDouble);
  const Tensor target = targets({0, 1, 2, 2, 1, 0, -100, 1}).view({2, 4});
  const Tensor flat = x.permute({0, 2, 1}).reshape({8, 3});
  const double expected = shunt::cross_entropy_loss(flat, target.reshape({8})).item<double>();
  EXPECT_DOUBLE_EQ(shunt::cross_entropy_loss(x, target).item<double>(), expected);
  EXPECT_EQ(shunt::cross_entropy_loss(x, target, std::nullopt, kNone).sizes(), IntArrayRef({2, 4}));
}

TEST(CrossEntropy, ProbabilitiesAndSmoothing) {
  const Tensor x = randomTensor({3, 4}, kDouble);
  const Tensor target = targets({1, 0, 3});
  Tensor one_hot = shunt::zeros({3, 4}, kDouble);
  for (int64_t i = 0; i < 3; ++i) one_hot.data_ptr<double>()[i * 4 + target.data_ptr<int64_t>()[i]] = 1;
  const Tensor weight = shunt::tensor({0.5, 1., 2., 0.25}, kDouble);
  EXPECT_NEAR(shunt::cross_entropy_loss(x, one_hot).item<double>(), shunt::cross_entropy_loss(x, target).item<double>(),
              1e-14);
  for (const int64_t reduction : {kNone, kMean, kSum})
    EXPECT_TRUE(near(valuesOf(shunt::cross_entropy_loss(x, target, std::nullopt, reduction, -100, 0.3)),
                     valuesOf(shunt::cross_entropy_loss(x, one_hot, std::nullopt, reduction, -100, 0.3)), 1e-13));
  EXPECT_TRUE(near(valuesOf(shunt::cross_entropy_loss(x, target, weight, kSum, -100, 0.3)),
                   valuesOf(shunt::cross_entropy_loss(x, one_hot, weight, kSum, -100, 0.3)), 1e-13));
  EXPECT_THAT(errorOf([&] { shunt::cross_entropy_loss(x, target, std::nullopt, kMean, -100, 1.5); }),
              ::testing::StartsWith("label_smoothing must be between 0.0 and 1.0. Got: 1.5"));
}

TEST(MseLoss, ReducesSquares) {
  const Tensor a = shunt::tensor({1., 2., 4.}), b = shunt::tensor({0., 4., 4.});
  EXPECT_EQ(valuesOf(shunt::mse_loss(a, b, kNone)), (std::vector<double>{1, 4, 0}));
  EXPECT_EQ(shunt::mse_loss(a, b, kSum).item<double>(), 5);
  EXPECT_FLOAT_EQ(shunt::mse_loss(a, b).item<float>(), 5.f / 3);
  EXPECT_EQ(valuesOf(shunt::mse_loss_backward(shunt::tensor(3.), a, b, kSum)), (std::vector<double>{6, -12, 0}));
}

TEST(MseLoss, WritesOut) {
  const Tensor a = shunt::tensor({300., 0.}).to(kHalf), b = shunt::tensor({0., 300.}).to(kHalf);
  Tensor wide = shunt::empty({}, kFloat);
  const Tensor near_a = shunt::tensor({200., 0.}).to(kHalf), near_b = shunt::tensor({0., 200.}).to(kHalf);
  shunt::mse_loss_out(wide, near_a, near_b, kSum);
  EXPECT_EQ(wide.item<float>(), 80000) << "summed in out's dtype, beyond float16";
  Tensor squares = shunt::empty({0}, kHalf), integers = shunt::empty({}, kInt);
  const Tensor rows = shunt::ones({3, 2}, kHalf).t(), zeros = shunt::zeros({3, 2}, kHalf).t();
  shunt::mse_loss_out(squares, rows, zeros, kNone);
  EXPECT_EQ(squares.strides().vec(), rows.strides().vec()) << "resized in the operands' layout";
  EXPECT_THAT(errorOf([&] { shunt::mse_loss_out(integers, a, b); }),
              ::testing::HasSubstr("can't be cast to the desired output type"));
}

TEST(MseLoss, IntegersHaveIntegerGradients) {
  const Tensor a = shunt::tensor({1, 2, 4}), b = shunt::tensor({0, 4, 4}), grad = shunt::tensor({3, 3, 3});
  const Tensor sum = shunt::mse_loss_backward(grad, a, b, kSum);
  EXPECT_EQ(sum.scalar_type(), kLong);
  EXPECT_EQ(valuesOf(sum), (std::vector<double>{6, -12, 0}));
  EXPECT_EQ(valuesOf(shunt::mse_loss_backward(shunt::tensor({3}), a, b, kMean)), (std::vector<double>{0, 0, 0}))
      << "2 / 3 is 0";
  Tensor out = shunt::empty({0}, kLong);
  shunt::mse_loss_backward_out(out, grad, a, b, kSum);
  EXPECT_EQ(valuesOf(out), valuesOf(sum));
}

TEST(Dropout, KeepsOrScales) {
  const Tensor x = shunt::ones({1000});
  EXPECT_EQ(valuesOf(shunt::dropout(x, 0.5, false)), valuesOf(x));
  for (const double v : valuesOf(shunt::dropout(x, 0.75, true))) EXPECT_TRUE(v == 0 || v == 4) << v;
  EXPECT_THAT(errorOf([&] { shunt::dropout(x, 1.5, true); }),
              ::testing::StartsWith("dropout probability has to be between 0 and 1, but got 1.5"));
}

}  // namespace
}  // namespace shunt::testing
