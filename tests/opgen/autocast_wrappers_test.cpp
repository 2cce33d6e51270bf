// The generated Autocast wrappers: the policies. What users see of autocast: tests/modes.
#include <shunt/shunt.h>
#include <shunt/transforms/autocast.h>

#include <gtest/gtest.h>

namespace shunt {
namespace {

TEST(AutocastWrappers, Policies) {
  const Tensor x = ones({2, 2}), half = ones({2, 2}, kBFloat16), wide = ones({2, 2}, kDouble);
  const Tensor labels = zeros({2}, kLong);
  AutocastGuard autocast(kCPU, kBFloat16);
  EXPECT_EQ(x.mm(x).scalar_type(), kBFloat16);
  EXPECT_EQ(x.matmul(x).scalar_type(), kBFloat16);
  EXPECT_EQ(linear(x, x, ones({2})).scalar_type(), kBFloat16);
  EXPECT_EQ(wide.mm(wide).scalar_type(), kDouble) << "float64 is left alone";
  EXPECT_EQ(mse_loss(half, half).scalar_type(), kFloat);
  EXPECT_EQ(cross_entropy_loss(half, labels).scalar_type(), kFloat);
  EXPECT_EQ(cat({x, half}).scalar_type(), kFloat);
  EXPECT_EQ(cat({half, half}).scalar_type(), kBFloat16);
  EXPECT_EQ((x + x).scalar_type(), kFloat) << "not listed";
}

TEST(AutocastWrappers, OffOutsideTheGuardAndInOutForms) {
  const Tensor x = ones({2, 2});
  EXPECT_EQ(x.mm(x).scalar_type(), kFloat);
  AutocastGuard autocast(kCPU, kBFloat16);
  Tensor out = empty({2, 2});
  mm_out(out, x, x);
  EXPECT_EQ(out.scalar_type(), kFloat);
  AutocastGuard off(kCPU, kBFloat16, false);
  EXPECT_EQ(x.mm(x).scalar_type(), kFloat);
}

}  // namespace
}  // namespace shunt
