// C++ operators between numbers and tensors. The values are libtorch 1.13's (tests/parity/written compares many more).
#include <shunt/shunt.h>

#include "tests/elementwise/elementwise_test_util.h"

namespace shunt::elementwise_test {
namespace {

using Longs = std::vector<int64_t>;

TEST(NumberOperand, OnTheLeftTakesTheTensorsDtype) {
  const Tensor longs = tensorOf<int64_t>({1, 2, 4}), floats = tensorOf<float>({1, 2, 4});
  EXPECT_EQ(valuesOf<int64_t>(2.5 - longs), (Longs{1, 0, -2}));
  EXPECT_EQ(valuesOf<int64_t>(7.9 % longs), (Longs{0, 1, 3}));
  EXPECT_EQ(valuesOf<float>(true - floats), (std::vector<float>{0, -1, -3}));
  EXPECT_EQ(valuesOf<float>(1 / floats), (std::vector<float>{1, 0.5f, 0.25f}));
  EXPECT_EQ(valuesOf<uint8_t>(-2 - tensorOf<uint8_t>({1})), (std::vector<uint8_t>{253}));
  // 0.1 is rounded to float16 before the subtraction.
  EXPECT_EQ(static_cast<float>((0.1 - tensorOf<Half>({Half(1.0f)})).item<Half>()), -0.89990234375f);
}

TEST(NumberOperand, OnTheRightTakesPartInPromotion) {
  const Tensor longs = tensorOf<int64_t>({1, 2, 4});
  EXPECT_EQ(valuesOf<float>(longs - 2.5), (std::vector<float>{-1.5f, -0.5f, 1.5f}));
  EXPECT_EQ(valuesOf<float>(longs / 2), (std::vector<float>{0.5f, 1, 2}));
  EXPECT_EQ(valuesOf<int64_t>(longs % 3), (Longs{1, 2, 1}));
}

TEST(NumberOperand, Refusals) {
  const Tensor longs = tensorOf<int64_t>({1, 2, 4}), bytes = tensorOf<uint8_t>({1}), floats = tensorOf<float>({1}),
               bools = tensorOf<bool>({true});
  EXPECT_ERROR(1.0 / longs, "div: result type Float can't be cast to the desired output type Long");
  EXPECT_ERROR(1 / bools, "div: result type Float can't be cast to the desired output type Bool");
  EXPECT_ERROR(300 - bytes, "without overflow");
  EXPECT_ERROR(1e300 - floats, "value cannot be converted to type Float without overflow");
  EXPECT_ERROR(2.5 - bools, "with two bool tensors is not supported");
}

TEST(NumberOperand, OfAnElementIsCheckedToo) {
  EXPECT_ERROR(tensorOf<double>({1e300}).item<float>(),
               "value cannot be converted to type Float without overflow: 1e+300");
  EXPECT_ERROR(tensorOf<double>({65520}).item<Half>(), "without overflow");
  EXPECT_EQ(tensorOf<double>({-1e-300}).item<float>(), 0);
  EXPECT_EQ(tensorOf<float>({std::numeric_limits<float>::infinity()}).item<float>(),
            std::numeric_limits<float>::infinity());
  EXPECT_EQ(tensorOf<double>({1e300}).item<double>(), 1e300);
}

}  // namespace
}  // namespace shunt::elementwise_test
