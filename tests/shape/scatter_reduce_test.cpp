// scatter_reduce, scatter with a reduction, topk: values worked out by hand, whole numbers, NaN, errors.
#include "tests/shape/util.h"

#include <limits>

namespace shunt::testing {
namespace {

using test::errorOf;
using ::testing::HasSubstr;
using Values = std::vector<double>;

Tensor longs(std::initializer_list<int64_t> values, IntArrayRef sizes) {
  return shunt::tensor(std::vector<int64_t>(values)).to(kLong).reshape(sizes);
}

Values reduced(const char* how, bool include_self, ScalarType dtype = kFloat) {
  const Tensor x = tensor({5, 6, 7}).to(dtype), src = tensor({2, -3, 4, 1}).to(dtype);
  return valuesOf(x.scatter_reduce(0, longs({0, 0, 2, 0}, {4}), src, how, include_self));
}

TEST(ScatterReduce, EachJoin) {
  EXPECT_EQ(reduced("sum", true), (Values{5, 6, 11}));
  EXPECT_EQ(reduced("sum", false), (Values{0, 6, 4})) << "places that nothing is sent to stay";
  EXPECT_EQ(reduced("prod", true), (Values{-30, 6, 28}));
  EXPECT_EQ(reduced("prod", false), (Values{-6, 6, 4}));
  EXPECT_EQ(reduced("mean", true), (Values{1.25, 6, 5.5}));
  EXPECT_EQ(reduced("mean", false), (Values{0, 6, 4}));
  EXPECT_EQ(reduced("amax", true), (Values{5, 6, 7}));
  EXPECT_EQ(reduced("amax", false), (Values{2, 6, 4}));
  EXPECT_EQ(reduced("amin", true), (Values{-3, 6, 4}));
  EXPECT_EQ(reduced("amin", false), (Values{-3, 6, 4}));
  EXPECT_EQ(reduced("mean", true, kInt), (Values{1, 6, 5})) << "rounded down";
  EXPECT_EQ(reduced("amin", false, kShort), (Values{-3, 6, 4}));
}

TEST(ScatterReduce, WholeNumbersWrap) {
  for (const ScalarType dtype : {kInt, kLong}) {
    const bool wide = dtype == kLong;
    const double most = wide ? 0x1p63 : 0x1p31;  // a double's next to the largest number
    const Tensor x = shunt::full({1}, wide ? INT64_MAX : INT32_MAX, TensorOptions(dtype)), one = ones_like(x);
    const Tensor at = longs({0}, {1});
    EXPECT_EQ(valuesOf(x.scatter_reduce(0, at, one, "sum")), (Values{-most})) << dtype;
    EXPECT_EQ(valuesOf(x.scatter_reduce(0, at, x, "prod")), (Values{1})) << dtype;
    EXPECT_EQ(valuesOf(x.scatter_add(0, at, one)), (Values{-most})) << dtype;
    EXPECT_EQ(valuesOf(x.index_put({{at}}, one, true)), (Values{-most})) << dtype;
  }
}

TEST(ScatterReduce, FormsAndNaN) {
  Tensor x = ones({2, 3}), out = empty({0});
  const Tensor at = longs({2, 0, 1, 1}, {2, 2}), src = iota({2, 2}).add(1);
  EXPECT_EQ(valuesOf(scatter_reduce_out(out, x, 1, at, src, "prod")), (Values{2, 1, 1, 1, 12, 1}));
  EXPECT_EQ(valuesOf(x.scatter(1, at, src, "add")), (Values{3, 1, 2, 1, 8, 1}));
  EXPECT_EQ(valuesOf(x.scatter(1, at, 3, "multiply")), (Values{3, 1, 3, 1, 9, 1}));
  x.t().scatter_(0, longs({0, 0}, {1, 2}), 4, "add");
  EXPECT_EQ(valuesOf(x), (Values{5, 1, 1, 5, 1, 1}));
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Tensor nan = tensor({kNan, 3.0}), zero = longs({0, 0}, {2});
  for (const char* how : {"amax", "amin", "mean"})
    EXPECT_TRUE(std::isnan(valuesOf(zeros({1}).scatter_reduce(0, zero, nan, how))[0])) << how;
}

TEST(ScatterReduce, Errors) {
  Tensor x = iota({3});
  const Tensor at = longs({0, 3}, {2}), src = ones({2});
  EXPECT_THROW(x.scatter_reduce_(0, at, src, "sum", false), Error);
  EXPECT_EQ(valuesOf(x), counted(3)) << "nothing is written before all is checked";
  const Tensor good = longs({0, 1}, {2});
  EXPECT_THAT(errorOf([&] { x.scatter_reduce(0, good, src, "max"); }),
              HasSubstr("either sum, prod, mean, amax or amin"));
  EXPECT_THAT(errorOf([&] { x.scatter(0, good, src, "sum"); }), HasSubstr("either add or multiply"));
  Tensor leaf = ones({3}).requires_grad_();
  EXPECT_THAT(errorOf([&] { leaf.scatter(0, good, src, "add").sum().backward(); }), HasSubstr("not implemented"));
}

TEST(TopK, LargestAndSmallest) {
  const Tensor x = tensor({3, 9, 1, 0, 5, 7}).to(kFloat).reshape({2, 3});
  const auto [values, at] = x.topk(2);
  EXPECT_EQ(valuesOf(values), (Values{9, 3, 7, 5}));
  EXPECT_EQ(valuesOf(at), (Values{1, 0, 2, 1}));
  EXPECT_EQ(valuesOf(std::get<0>(x.topk(1, 0, false))), (Values{0, 5, 1}));
  EXPECT_EQ(valuesOf(std::get<1>(x.t().topk(1, 0))), (Values{1, 2}));
  EXPECT_EQ(std::get<0>(x.topk(0)).sizes(), IntArrayRef({2, 0}));
  EXPECT_EQ(valuesOf(std::get<0>(iota({}).topk(1))), (Values{0}));
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(valuesOf(std::get<1>(tensor({1.0, kNan, 2.0, 2.0}).topk(3))), (Values{1, 2, 3})) << "NaN is the largest";
  Tensor v = empty({0}), i = empty({0}, TensorOptions(kLong));
  topk_out(v, i, x, 1);
  EXPECT_EQ(valuesOf(v), (Values{9, 7}));
  EXPECT_THAT(errorOf([&] { x.topk(4); }), HasSubstr("selected index k out of range"));
  EXPECT_THAT(errorOf([&] { x.to(kBool).topk(1); }), HasSubstr("not implemented for 'Bool'"));
}

}  // namespace
}  // namespace shunt::testing
