// Elements by their indices: accessors, and handles that are assigned to.
#include "tests/support/error_of.h"

#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test {
namespace {

using testing::HasSubstr;

TEST(TensorAccessor, FollowsStrides) {
  const Tensor t = arange(6, kFloat).view({2, 3}).t();
  const auto a = t.accessor<float, 2>();
  EXPECT_EQ(a.sizes(), t.sizes());
  EXPECT_EQ(a.stride(1), 3);
  for (int64_t i = 0; i < a.size(0); ++i)
    for (int64_t j = 0; j < a[i].size(0); ++j) EXPECT_EQ(a[i][j], t[i][j].item<float>());
  a[2][1] = 7;
  EXPECT_EQ(t[2][1].item<float>(), 7);
}

TEST(TensorAccessor, WhatDoesNotFitIsSaid) {
  const Tensor t = ones({2, 3});
  EXPECT_THAT(errorOf([&] { t.accessor<float, 1>(); }), HasSubstr("TensorAccessor expected 1 dims but tensor has 2"));
  EXPECT_THAT(errorOf([&] { t.accessor<double, 2>(); }), HasSubstr("expected scalar type Double but found Float"));
  const Tensor none;
  EXPECT_THAT(errorOf([&] { none.accessor<float, 1>(); }), HasSubstr("undefined"));
}

TEST(PackedAccessor, HoldsSizesAndStridesItself) {
  Tensor t = arange(6).to(kFloat).view({2, 3}).t();
  const auto packed = t.packed_accessor32<float, 2>();
  t.resize_({1});
  EXPECT_EQ(packed.size(0), 3);
  EXPECT_EQ(packed.stride(1), 3);
  EXPECT_EQ(packed[2][1], 5);
  float one = 1;
  const Tensor far = from_blob(&one, {1}, {int64_t{1} << 33});
  EXPECT_THAT(errorOf([&] { far.packed_accessor32<float, 1>(); }), HasSubstr("stride 8589934592; expected at most"));
  EXPECT_EQ((far.packed_accessor64<float, 1>()[0]), 1);
  EXPECT_THAT(errorOf([&] { far.packed_accessor64<double, 1>(); }), HasSubstr("expected scalar type Double"));
  EXPECT_THAT(errorOf([&] { far.packed_accessor64<float, 2>(); }), HasSubstr("expected 2 dims"));
}

TEST(Item, ANumberThatDoesNotFitNamesTheTypeAskedFor) {
  const Tensor huge = full({}, 1e30);
  EXPECT_EQ(errorOf([&] { huge.item<int>(); }), "value cannot be converted to type Int without overflow: 1e+30");
  EXPECT_EQ(errorOf([&] { huge.item<int64_t>(); }),
            "value cannot be converted to type int64_t without overflow: 1e+30");
  EXPECT_EQ(errorOf([&] { huge.item<uint8_t>(); }),
            "value cannot be converted to type uint8_t without overflow: 1e+30");
}

TEST(DataPtr, OfATypeIsTheUntypedOne) {
  const Tensor t = arange(6).to(kFloat);
  EXPECT_EQ(t.data_ptr<float>(), t.data_ptr());
  EXPECT_EQ(t.narrow(0, 2, 2).data_ptr<float>(), t.data_ptr<float>() + 2);
  EXPECT_EQ(empty({0}).data_ptr<float>(), empty({0}).data_ptr());
  EXPECT_EQ(
      errorOf([&] { t.data_ptr<double>(); }),
      "expected scalar type Double but found Float: data_ptr(), accessor() and packed_accessor() read elements of "
      "the tensor's dtype only; to() converts a tensor");
  EXPECT_THAT(errorOf([] { empty({2}, TensorOptions(kMeta)).data_ptr<float>(); }), HasSubstr("meta device"));
}

TEST(Contiguous, OfAContiguousTensorIsTheTensor) {
  const Tensor t = randn({2, 3});
  EXPECT_TRUE(t.contiguous().is_same(t));
  EXPECT_FALSE(t.t().contiguous().is_same(t.t()));
  EXPECT_TRUE(t.t().contiguous().is_contiguous());
  const Tensor image = randn({1, 2, 3, 4});
  EXPECT_TRUE(image.contiguous(MemoryFormat::ChannelsLast).is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_THAT(errorOf([] { Tensor().contiguous(); }), HasSubstr("undefined"));
}

TEST(Assignment, ToAHandleThatIsAboutToGoWritesElements) {
  Tensor t = zeros({2, 2});
  const Tensor row = t[1];
  t[0] = ones({2});
  t[1][0] = 5;
  EXPECT_TRUE(t.equal(tensor({{1, 1}, {5, 0}}, kFloat)));
  EXPECT_TRUE(row.is_alias_of(t));
  EXPECT_EQ(t._version(), 2);
  Tensor other = t[0];
  other = t[1];  // a variable refers to something else
  EXPECT_TRUE(other.equal(row));
  EXPECT_EQ(t._version(), 2);
}

TEST(Var, OfANumberIsOverThatDimension) {
  const Tensor t = randn({4, 3});
  EXPECT_TRUE(t.var(0).equal(t.var(IntArrayRef{0}, true, false)));
  EXPECT_TRUE(t.std(1).equal(t.std(IntArrayRef{1}, true, false)));
  EXPECT_EQ(shunt::var(t, 0).sizes(), IntArrayRef({3}));
  EXPECT_EQ(shunt::std(t, int64_t{-1}).sizes(), IntArrayRef({4}));
  EXPECT_EQ(std::get<0>(shunt::var_mean(t, 0)).sizes(), IntArrayRef({3}));
  EXPECT_EQ(std::get<1>(shunt::std_mean(t, 1)).sizes(), IntArrayRef({4}));
  EXPECT_EQ(t.var(true).dim(), 0);
}

}  // namespace
}  // namespace shunt::test
