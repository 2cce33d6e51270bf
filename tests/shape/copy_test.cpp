// copy_, fill_, conversions, resize_, cat, stack, index_select and index_add.
#include "tests/shape/util.h"

#include <limits>

namespace shunt {
namespace {

using testing::counted;
using ::testing::ElementsAre;
using testing::errorOf;
using ::testing::HasSubstr;
using testing::iota;
using testing::valuesOf;

const std::vector<ScalarType> kTypes = {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16};

TEST(Copy, EveryPairOfTypesAndLayouts) {
  for (ScalarType from : kTypes) {
    for (ScalarType to : kTypes) {
      SCOPED_TRACE(detail::str(from, " -> ", to));
      const Tensor src = iota({3, 4}, from);
      std::vector<double> expected = valuesOf(src);
      if (to == kBool)
        for (double& v : expected) v = v != 0;
      Tensor dense(detail::makeCpuTensor({3, 4}, {}, to));
      EXPECT_EQ(valuesOf(dense.copy_(src)), expected);
      Tensor transposed = Tensor(detail::makeCpuTensor({4, 3}, {}, to)).t();
      EXPECT_EQ(valuesOf(transposed.copy_(src)), expected);
      Tensor spaced = Tensor(detail::makeCpuTensor({6, 8}, {}, to)).slice(0, 0, 6, 2).slice(1, 1, 8, 2);
      EXPECT_EQ(valuesOf(spaced.copy_(src)), expected);
      EXPECT_EQ(src.to(to).dtype(), to);
      EXPECT_EQ(valuesOf(src.to(to)), expected);
    }
  }
}

TEST(Copy, BroadcastsTheSource) {
  Tensor t(detail::makeCpuTensor({2, 3}, {}, kFloat));
  EXPECT_THAT(valuesOf(t.copy_(iota({3}))), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(valuesOf(t.copy_(iota({2, 1}))), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(valuesOf(t.copy_(iota({}, kLong))), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_TRUE(t.copy_(t).is_same(t));
  Tensor empty(detail::makeCpuTensor({0, 3}, {}, kFloat));
  EXPECT_EQ(empty.copy_(iota({3})).numel(), 0);
}

TEST(Copy, OverlapIsRefusedUnlessItIsComplete) {
  const Tensor t = iota({8});
  Tensor tail = t.slice(0, 1);
  EXPECT_THAT(testing::errorOf([&] { tail.copy_(t.slice(0, 0, 7)); }), ::testing::HasSubstr("unsupported operation"));
  Tensor expanded = iota({1}).expand({3});
  EXPECT_THAT(testing::errorOf([&] { expanded.copy_(iota({3})); }), ::testing::HasSubstr("unsupported operation"));
  Tensor same = t.slice(0, 0);
  same.copy_(t);
  EXPECT_EQ(valuesOf(t), counted(8));
  // Other strides are other elements to the rule, be it in a dimension of size 1; and on Meta it is the same one.
  for (const shunt::Device device : {shunt::Device(shunt::kCPU), shunt::Device(shunt::kMeta)}) {
    Tensor row = shunt::zeros({1, 8}, shunt::TensorOptions().device(device));
    EXPECT_THAT(testing::errorOf([&] { row.copy_(row.slice(0, 0, 1, 2)); }), ::testing::HasSubstr("single memory"));
  }
}

TEST(Fill, AllTypesAndLayouts) {
  for (ScalarType type : kTypes) {
    SCOPED_TRACE(toString(type));
    Tensor t = iota({2, 3}, type);
    EXPECT_EQ(valuesOf(t.fill_(1)), std::vector<double>(6, 1.0));
    Tensor column = t.select(1, 1);
    column.zero_();
    EXPECT_THAT(valuesOf(t), ElementsAre(1, 0, 1, 1, 0, 1));
    EXPECT_EQ(valuesOf(t.zero_()), std::vector<double>(6, 0.0));
  }
  Tensor t = iota({3});
  EXPECT_THAT(valuesOf(t.fill_(t[2])), ElementsAre(2, 2, 2));
  EXPECT_THAT(valuesOf(t.fill_(shunt::tensor(2.5, kDouble))), ElementsAre(2.5, 2.5, 2.5));
  Tensor expanded = iota({1}).expand({3});
  EXPECT_THAT(valuesOf(expanded.fill_(4)), ElementsAre(4, 4, 4));
}

TEST(Convert, ReturnsSelfWhenNothingChanges) {
  const Tensor t = iota({2, 3});
  EXPECT_TRUE(t.to(kFloat).is_same(t));
  EXPECT_TRUE(t.to(t).is_same(t));
  EXPECT_TRUE(t.to(Device("cpu"), kFloat).is_same(t));
  EXPECT_TRUE(t.contiguous().is_same(t));
  EXPECT_TRUE(t.type_as(t).is_same(t));
  EXPECT_FALSE(t.to(kFloat, false, true).is_same(t));
  EXPECT_FALSE(t.clone().is_alias_of(t));
  EXPECT_EQ(t.clone()._version(), 0);
  EXPECT_EQ(t.to(kMeta).device(), Device(kMeta));
}

TEST(Convert, KeepsOrChoosesTheLayout) {
  const Tensor t = iota({2, 3}).t();
  EXPECT_EQ(t.clone().strides().vec(), t.strides().vec());
  EXPECT_EQ(t.to(kDouble).strides().vec(), t.strides().vec());
  EXPECT_EQ(t.clone(MemoryFormat::Contiguous).strides().vec(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(t.contiguous().strides().vec(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(valuesOf(t.contiguous()), valuesOf(t));
  // Not dense: the order of dimensions is kept, the gaps are not.
  const Tensor gaps = iota({4, 6}).slice(1, 0, 6, 2).t();
  EXPECT_EQ(gaps.clone().strides().vec(), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(gaps.to(kDouble).strides().vec(), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(shunt::empty_like(iota({3, 1}).expand({3, 4})).strides().vec(), (std::vector<int64_t>{4, 1}));
  const Tensor image = iota({2, 3, 4, 5});
  const Tensor channels_last = image.contiguous(MemoryFormat::ChannelsLast);
  EXPECT_EQ(channels_last.strides().vec(), (std::vector<int64_t>{60, 1, 15, 3}));
  EXPECT_EQ(valuesOf(channels_last), valuesOf(image));
  EXPECT_TRUE(channels_last.contiguous(MemoryFormat::ChannelsLast).is_same(channels_last));
}

TEST(Resize, KeepsTheStorageWhereItCan) {
  Tensor t = iota({2, 3});
  const void* data = t.data_ptr();
  t.resize_({4});
  EXPECT_EQ(t.data_ptr(), data);
  EXPECT_EQ(valuesOf(t), counted(4));
  t.resize_({3, 5});
  EXPECT_EQ(t.sizes().vec(), (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(valuesOf(t.view({15}).slice(0, 0, 6)), counted(6));
  t.resize_({0});
  EXPECT_EQ(t.numel(), 0);
  t.resize_as_(iota({2, 2}));
  EXPECT_EQ(t.numel(), 4);
}

TEST(Cat, JoinsAlongAnyDimension) {
  const Tensor a = iota({2, 2});
  const Tensor b = iota({2, 1}).fill_(9);
  EXPECT_THAT(valuesOf(shunt::cat({a, b}, 1)), ElementsAre(0, 1, 9, 2, 3, 9));
  EXPECT_THAT(valuesOf(shunt::cat({a, a.t()}, 0)), ElementsAre(0, 1, 2, 3, 0, 2, 1, 3));
  EXPECT_THAT(valuesOf(shunt::cat({a.t(), b}, -1)), ElementsAre(0, 2, 9, 1, 3, 9));
  EXPECT_EQ(shunt::cat({a, iota({0})}, 1).sizes().vec(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(shunt::cat({iota({0}), iota({0})}).sizes().vec(), (std::vector<int64_t>{0}));
  EXPECT_EQ(shunt::cat({iota({0, 2}), a}).sizes().vec(), (std::vector<int64_t>{2, 2}));
  const Tensor mixed = shunt::cat({iota({1}, kInt), iota({2}, kHalf), iota({1}, kLong)});
  EXPECT_EQ(mixed.dtype(), kHalf);
  EXPECT_THAT(valuesOf(mixed), ElementsAre(0, 0, 1, 0));
  Tensor out(detail::makeCpuTensor({0}, {}, kDouble));
  EXPECT_TRUE(shunt::cat_out(out, {a, b}, 1).is_same(out));
  EXPECT_THAT(valuesOf(out), ElementsAre(0, 1, 9, 2, 3, 9));
}

TEST(Cat, StackAddsADimension) {
  const Tensor a = iota({2});
  EXPECT_THAT(valuesOf(shunt::stack({a, a.clone().fill_(5)}, 1)), ElementsAre(0, 5, 1, 5));
  EXPECT_EQ(shunt::stack({a, a, a}).sizes().vec(), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(shunt::stack({iota({}), iota({})}, -1).sizes().vec(), (std::vector<int64_t>{2}));
}

TEST(Cat, StackKeepsTheLayoutOfACat) {
  const Tensor part = iota({2, 3, 1}).as_strided({2, 3, 1}, {3, 1, 1});
  EXPECT_EQ(stack({part, part}, 1).sizes().vec(), (std::vector<int64_t>{2, 2, 3, 1}));
  EXPECT_EQ(stack({part, part}, 1).strides().vec(), (std::vector<int64_t>{6, 3, 1, 1}));
  EXPECT_EQ(stack({iota({0}), iota({0})}, 0).sizes().vec(), (std::vector<int64_t>{2, 0}));
}

// As in PyTorch, where stack has the layout of a cat.
TEST(Cat, AResizedResultOfStackIsContiguous) {
  const Tensor part = iota({2, 3, 2, 2}).contiguous(MemoryFormat::ChannelsLast);
  for (int64_t dim = 0; dim < 5; ++dim) {
    Tensor out = empty({0});
    stack_out(out, {part, part}, dim);
    EXPECT_TRUE(out.is_contiguous()) << dim;
    EXPECT_TRUE(equal(out, stack({part.contiguous(), part.contiguous()}, dim))) << dim;
  }
  Tensor turned = empty({3, 2, 2}).permute({2, 1, 0});
  const std::vector<int64_t> strides = turned.strides().vec();
  stack_out(turned, {iota({2, 3}), iota({2, 3})}, 1);
  EXPECT_EQ(turned.strides().vec(), strides) << "nothing to resize";
  Tensor numbers = empty({0}, TensorOptions().dtype(kLong));
  EXPECT_THROW(stack_out(numbers, {part, part}, 0), Error);
  EXPECT_EQ(numbers.sizes().vec(), (std::vector<int64_t>{0})) << "an error leaves it alone";
}

TEST(Fill, ByATensorIsByItsValue) {
  Tensor rows = iota({3}).expand({2, 3});
  EXPECT_THAT(valuesOf(rows.fill_(iota({}, kLong).add(7))), ElementsAre(7, 7, 7, 7, 7, 7));
  Tensor bytes = iota({2}, kByte);
  EXPECT_THROW(bytes.fill_(full({}, 300.0)), Error);
  EXPECT_THAT(valuesOf(fill(iota({2}), 3)), ElementsAre(3, 3));
  Tensor self = iota({3});
  EXPECT_THAT(valuesOf(self.fill_(self.select(0, 2))), ElementsAre(2, 2, 2));
}

TEST(Index, AddsWithAnyKindOfAlpha) {
  const Tensor rows = iota({2}, kLong);
  EXPECT_THAT(valuesOf(rows.index_add(0, iota({1}, kLong), rows.slice(0, 1), 2.9)), ElementsAre(2, 1));
  EXPECT_THAT(valuesOf(rows.index_add(0, iota({1}, kLong), rows.slice(0, 1), true)), ElementsAre(1, 1));
}

TEST(Index, SelectsRows) {
  const Tensor t = iota({3, 4});
  const Tensor index = shunt::tensor({2, 0, 2});
  EXPECT_THAT(valuesOf(t.index_select(0, index)), ElementsAre(8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11));
  EXPECT_THAT(valuesOf(t.index_select(1, index.to(kInt)).select(0, 1)), ElementsAre(6, 4, 6));
  EXPECT_EQ(valuesOf(t.t().index_select(-1, index)), valuesOf(t.index_select(0, index).t()));
  EXPECT_EQ(t.index_select(0, iota({0}, kLong)).sizes().vec(), (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(iota({}).index_select(0, iota({1}, kLong)).dim(), 0);
  EXPECT_EQ(t.index_select(1, shunt::tensor(3)).sizes().vec(), (std::vector<int64_t>{3, 1}));
}

TEST(Index, AddsRows) {
  const Tensor index = shunt::tensor({1, 1, 0});
  for (ScalarType type : {kFloat, kDouble, kLong, kBFloat16}) {
    Tensor t = iota({2, 2}, type).zero_();
    t.index_add_(0, index, iota({3, 2}, type), 2);
    EXPECT_THAT(valuesOf(t), ElementsAre(8, 10, 4, 8)) << type;
  }
  Tensor base = iota({2, 2}).zero_();
  base.t().index_add_(-1, index, iota({2, 3}));
  EXPECT_THAT(valuesOf(base.t()), ElementsAre(2, 1, 5, 7));
  const Tensor zero = iota({2, 2}).zero_();
  EXPECT_THAT(valuesOf(zero.index_add(0, index, iota({3, 2}))), ElementsAre(4, 5, 2, 4));
  EXPECT_EQ(valuesOf(zero), std::vector<double>(4, 0.0));
}

TEST(Backward, SliceAndSelectScatterIntoZeros) {
  EXPECT_THAT(valuesOf(shunt::slice_backward(iota({2}).fill_(3), {5}, 0, 1, 5, 2)), ElementsAre(0, 3, 0, 3, 0));
  EXPECT_THAT(valuesOf(shunt::select_backward(iota({2}).fill_(3), {2, 2}, 1, -1)), ElementsAre(0, 3, 0, 3));
}

TEST(MaskedFill, FillsAnExpandedElementWhereAnyOfItsPlacesIsMasked) {
  const Tensor one = iota({1}).fill_(29);
  Tensor row = one.expand({4});
  row.masked_fill_(shunt::tensor({true, false, true, false}), 2);  // the last place is not masked
  EXPECT_THAT(valuesOf(one), ElementsAre(2));
  row.masked_fill_(shunt::tensor({false}), 5);
  EXPECT_THAT(valuesOf(one), ElementsAre(2));
  const Tensor column = iota({3, 1});
  Tensor matrix = column.expand({3, 2});
  matrix.masked_fill_(shunt::tensor({true, false}), shunt::tensor(7));
  EXPECT_THAT(valuesOf(column), ElementsAre(7, 7, 7));
  const Tensor base = iota({3, 1});
  Tensor wide = base.expand({3, 2});
  wide.masked_fill_(shunt::tensor({true, false, false, false, false, true}).view({3, 2}), 9);
  EXPECT_THAT(valuesOf(base), ElementsAre(9, 1, 9));
}

TEST(Where, NumbersFitTheTensorsDtype) {
  const Tensor mask = shunt::tensor({true, false}), bytes = iota({2}, kByte);
  EXPECT_THAT(valuesOf(shunt::where(mask, bytes, Scalar(255))), ElementsAre(0, 255));
  EXPECT_THAT(errorOf([&] { shunt::where(mask, bytes, Scalar(300)); }),
              HasSubstr("cannot be converted to type uint8_t without overflow"));
  EXPECT_THAT(errorOf([&] { shunt::where(mask, Scalar(65536), bytes); }),
              HasSubstr("cannot be converted to type uint8_t without overflow"));
  EXPECT_EQ(shunt::where(mask, bytes, Scalar(300.5)).scalar_type(), kFloat);
}

TEST(OutForms, CatKeepsChannelsLastAndIndexSelectLooksAtOverlapFirst) {
  const Tensor image = iota({2, 3, 4, 4}).contiguous(MemoryFormat::ChannelsLast);
  Tensor out = shunt::empty({0});
  shunt::cat_out(out, {image, image});
  EXPECT_TRUE(out.is_contiguous(MemoryFormat::ChannelsLast));
  EXPECT_EQ(valuesOf(out.slice(0, 2, 4)), valuesOf(image));
  Tensor overlapping = iota({1}).expand({5});
  EXPECT_THAT(errorOf([&] { shunt::index_select_out(overlapping, iota({4}), 0, shunt::tensor({1})); }),
              HasSubstr("more than one element of the written-to tensor"));
}

TEST(Threshold, IsANumberOfTheTensorsDtype) {
  for (const ScalarType type : {kBFloat16, kHalf}) {
    const double threshold = type == kBFloat16 ? 0.6192 : 0.3334;  // the nearest numbers of these dtypes are larger
    const Tensor x = full({20}, threshold, type);
    EXPECT_GT(x.narrow(0, 0, 1).item<double>(), threshold);
    EXPECT_EQ(valuesOf(shunt::threshold(x, threshold, 7)), std::vector<double>(20, 7)) << type;
    EXPECT_EQ(valuesOf(shunt::threshold_backward(shunt::ones({20}, type), x, threshold)), std::vector<double>(20, 0))
        << type;
    Tensor in_place = x.clone(), out = empty({0}, type);
    shunt::threshold_(in_place, threshold, 7);
    shunt::threshold_out(out, x, threshold, 7);
    EXPECT_EQ(valuesOf(in_place), std::vector<double>(20, 7));
    EXPECT_EQ(valuesOf(out), std::vector<double>(20, 7));
  }
  EXPECT_EQ(valuesOf(shunt::threshold(full({1}, 0.625, kFloat), 0.6192, 7)), std::vector<double>(1, 0.625));
}

}  // namespace
}  // namespace shunt
