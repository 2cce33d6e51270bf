// view(dtype): the same bytes read as elements of another dtype, of the same width or not.
#include "tests/shape/util.h"

namespace shunt {
namespace {

using ::testing::ElementsAre;
using testing::errorOf;
using testing::expectErrors;
using ::testing::HasSubstr;
using testing::iota;
using testing::valuesOf;

constexpr ScalarType kAll[] = {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble};

/// Bytes 0, 1, 2, ... so that every element's bits say where it is.
Tensor bytes(int64_t n) { return iota({n}, kByte); }

const std::byte* address(const Tensor& t) { return static_cast<const std::byte*>(t.data_ptr()); }

TEST(ViewDtype, ReadsTheBitsOfTheSameWidth) {
  const Tensor ones = full({2, 3}, 1.0, kFloat);
  const Tensor bits = ones.view(kInt);
  EXPECT_EQ(bits.dtype(), kInt);
  EXPECT_EQ(valuesOf(bits), std::vector<double>(6, 0x3f800000));
  EXPECT_EQ(full({1}, 1.0, kDouble).view(kLong).item<int64_t>(), 0x3ff0000000000000);
  EXPECT_EQ(full({1}, 1.0, kHalf).view(kShort).item<int64_t>(), 0x3c00);
  EXPECT_EQ(full({1}, 1.0, kBFloat16).view(kShort).item<int64_t>(), 0x3f80);
  EXPECT_EQ(full({1}, -1, kChar).view(kByte).item<int64_t>(), 255);
}

TEST(ViewDtype, KeepsStridesAndOffsetOfTheSameWidth) {
  const Tensor base = iota({3, 4}).t().slice(0, 1, 4);  // 3 x 3, strides {1, 4}, offset 1
  const Tensor view = base.view(kInt);
  EXPECT_THAT(view.sizes(), ElementsAre(3, 3));
  EXPECT_THAT(view.strides(), ElementsAre(1, 4));
  EXPECT_EQ(view.storage_offset(), 1);
  EXPECT_EQ(valuesOf(view.view(kFloat)), valuesOf(base));
  EXPECT_THAT(iota({}).view(kInt).sizes(), ElementsAre());  // no dimension is needed
  EXPECT_THAT(iota({2}).expand({3, 2}).view(kInt).strides(), ElementsAre(0, 1));
}

TEST(ViewDtype, EveryPairOfDtypesSharesMemoryAndComesBack) {
  for (const ScalarType from : kAll)
    for (const ScalarType to : kAll) {
      SCOPED_TRACE(detail::str(from, " to ", to));
      const Tensor base = bytes(48).view(kByte).slice(0, 8, 40).view(from);  // 32 bytes from the 8th on
      const int64_t per_row = 32 / elementSize(to);
      const Tensor view = base.view(to);
      EXPECT_EQ(view.dtype(), to);
      EXPECT_THAT(view.sizes(), ElementsAre(per_row));
      EXPECT_THAT(view.strides(), ElementsAre(1));
      EXPECT_EQ(view.storage_offset(), 8 / elementSize(to));
      EXPECT_EQ(address(view), address(base));
      EXPECT_TRUE(view.is_alias_of(base));
      EXPECT_EQ(valuesOf(view.view(kByte)), testing::counted(32, 8));
    }
}

TEST(ViewDtype, NarrowerElementsMakeTheLastDimensionLonger) {
  const Tensor base = iota({2, 3, 4}, kInt).slice(1, 1, 3);  // 2 x 2 x 4, strides {12, 4, 1}, offset 4
  const Tensor view = base.view(kShort);
  EXPECT_THAT(view.sizes(), ElementsAre(2, 2, 8));
  EXPECT_THAT(view.strides(), ElementsAre(24, 8, 1));
  EXPECT_EQ(view.storage_offset(), 8);
  EXPECT_EQ(valuesOf(view.select(2, 0)), (std::vector<double>{4, 8, 16, 20}));  // little endian: the low half
  EXPECT_EQ(valuesOf(view.select(2, 1)), (std::vector<double>(4, 0)));
}

TEST(ViewDtype, WiderElementsMakeTheLastDimensionShorter) {
  const Tensor base = bytes(64).view({2, 4, 8}).slice(1, 2, 4);  // 2 x 2 x 8, strides {32, 8, 1}, offset 16
  const Tensor view = base.view(kInt);
  EXPECT_THAT(view.sizes(), ElementsAre(2, 2, 2));
  EXPECT_THAT(view.strides(), ElementsAre(8, 2, 1));
  EXPECT_EQ(view.storage_offset(), 4);
  EXPECT_EQ(view.view(kByte).storage_offset(), 16);
  EXPECT_EQ(valuesOf(view).front(), 16 + 256 * (17 + 256 * (18 + 256.0 * 19)));
  EXPECT_EQ(valuesOf(view.view(kByte)), valuesOf(base));
}

TEST(ViewDtype, OtherDimensionsMayHaveAnyStrideThatDivides) {
  const Tensor base = bytes(16).expand({3, 16});  // stride 0
  EXPECT_THAT(base.view(kDouble).strides(), ElementsAre(0, 1));
  EXPECT_THAT(base.view(kDouble).sizes(), ElementsAre(3, 2));
  const Tensor swapped = bytes(32).view({2, 2, 8}).transpose(0, 1);  // strides {8, 16, 1}
  EXPECT_THAT(swapped.view(kLong).strides(), ElementsAre(1, 2, 1));
  EXPECT_THAT(iota({0, 4}, kByte).view(kInt).sizes(), ElementsAre(0, 1));
  EXPECT_THAT(iota({3, 0}, kInt).view(kByte).sizes(), ElementsAre(3, 0));
}

TEST(ViewDtype, Errors) {
  expectErrors({
      {"no dimension", [] { iota({}).view(kShort); },
       "self.dim() cannot be 0 to view Float as Short (different element sizes)"},
      {"last stride", [] { iota({4, 2}, kByte).t().view(kShort); }, "self.stride(-1) must be 1 to view Byte as Short"},
      {"last stride, narrower", [] { iota({4, 2}, kInt).t().view(kShort); },
       "self.stride(-1) must be 1 to view Int as Short"},
      {"size", [] { iota({2, 6}, kByte).view(kInt); }, "self.size(1) must be divisible by 4 to view Byte as Int"},
      {"stride", [] { iota({2, 6}, kByte).slice(1, 0, 4).view(kInt); }, "self.stride(0) must be divisible by 4"},
      {"offset", [] { iota({8}, kByte).slice(0, 2, 6).view(kInt); }, "self.storage_offset() must be divisible by 4"},
      {"undefined", [] { Tensor().view(kInt); }, "undefined"},
  });
}

TEST(ViewDtype, WritesReachTheBaseAndAreCounted) {
  const Tensor base = zeros({4}, kFloat);
  const Tensor bits = base.view(kInt);
  bits.fill_(0x40000000);
  EXPECT_EQ(valuesOf(base), std::vector<double>(4, 2.0));
  EXPECT_EQ(base._version(), 1u);
  EXPECT_EQ(bits._version(), 1u);
  base.narrow(0, 0, 1).zero_();
  EXPECT_EQ(bits._version(), 2u);
}

TEST(ViewDtype, HasNoGradientBetweenKindsOfNumbers) {
  const Tensor x = ones({2, 2}).requires_grad_();
  EXPECT_FALSE(x.view(kInt).requires_grad());
  EXPECT_FALSE(x.detach().view(kInt).requires_grad());
}

TEST(ViewDtype, MetaTensorsHaveTheSameShapes) {
  const Tensor base = empty({2, 6}, TensorOptions(kShort).device(kMeta));
  EXPECT_THAT(base.view(kInt).sizes(), ElementsAre(2, 3));
  EXPECT_THAT(base.view(kInt).strides(), ElementsAre(3, 1));
  EXPECT_TRUE(base.view(kInt).is_meta());
  EXPECT_THAT(errorOf([&] { base.view(kLong); }), HasSubstr("self.size(1) must be divisible by 4"));
}

}  // namespace
}  // namespace shunt
