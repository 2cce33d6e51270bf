// index, index_put and indices of all kinds: values worked out by hand, layouts, shared memory, errors that leave no
// trace. Random calls are compared with libtorch by the parity suite, PyTorch's own suite runs as a compat test.
#include "tests/shape/util.h"

#include <shunt/core/log.h>

namespace shunt::testing {
namespace {

using namespace indexing;
using test::errorOf;
using ::testing::HasSubstr;
using Values = std::vector<double>;

Tensor longs(std::initializer_list<int64_t> values) { return shunt::tensor(std::vector<int64_t>(values)).to(kLong); }
Tensor mask(std::initializer_list<int64_t> values) { return longs(values).to(kBool); }

TEST(Index, DimensionsSideBySideAndApart) {
  const Tensor x = iota({2, 3, 4});
  EXPECT_EQ(valuesOf(x.index({longs({1, 0}), longs({2, -3})})), (Values{20, 21, 22, 23, 0, 1, 2, 3}));
  EXPECT_EQ(x.index({Slice(), longs({0, 1, 2, 0, 1})}).sizes(), IntArrayRef({2, 5, 4}));
  EXPECT_EQ(x.index({longs({0, 1, 0, 1, 0}), Slice(), longs({0, 1, 2, 3, 0})}).sizes(), IntArrayRef({5, 3}))
      << "the index's dimensions come first";
  EXPECT_EQ(valuesOf(x.index({longs({1}), Slice(), longs({3})})), (Values{15, 19, 23}));
  EXPECT_EQ(valuesOf(x.index({longs({1}).unsqueeze(1), longs({0, 2}), longs({0})})), (Values{12, 20})) << "broadcast";
  EXPECT_EQ(x.index({longs({})}).sizes(), IntArrayRef({0, 3, 4}));
  EXPECT_EQ(valuesOf(shunt::index(x, TensorOptList())), valuesOf(x)) << "no index at all";
}

TEST(Index, Masks) {
  const Tensor x = iota({2, 3});
  EXPECT_EQ(valuesOf(x.index({mask({0, 1})})), (Values{3, 4, 5}));
  EXPECT_EQ(valuesOf(x.index({x.gt(3)})), (Values{4, 5}));
  EXPECT_EQ(valuesOf(x.index({"...", mask({1, 0, 1})})), (Values{0, 2, 3, 5}));
  EXPECT_EQ(valuesOf(x.index({mask({1, 1}), longs({0, 2})})), (Values{0, 5})) << "the mask's places, side by side";
  EXPECT_EQ(x.index({true}).sizes(), IntArrayRef({1, 2, 3}));
  EXPECT_EQ(x.index({false}).sizes(), IntArrayRef({0, 2, 3}));
  static int warnings;
  warnings = 0;
  const LogSink before = set_log_sink([](LogLevel, const char*) { ++warnings; });
  const Tensor bytes = mask({0, 1}).to(kByte);
  EXPECT_EQ(valuesOf(x.index({bytes})), (Values{3, 4, 5}));
  EXPECT_EQ(warnings, 1) << "of uint8";
  Tensor y = iota({2, 3});
  y.index_put_({bytes, longs({1})}, 9);
  EXPECT_EQ(warnings, 2) << "once for a call";
  y.index_put_({bytes}, 8);
  EXPECT_EQ(warnings, 3) << "where the mask is filled";
  y.to(kMeta).index_put_({bytes.to(kMeta)}, iota({1, 3}).to(kMeta));
  EXPECT_EQ(warnings, 4);
  set_log_sink(before);
  EXPECT_EQ(valuesOf(y), (Values{0, 1, 2, 8, 8, 8}));
}

TEST(Index, EveryDtypeAndLayout) {
  for (const ScalarType dtype : {kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble}) {
    const Tensor x = iota({2, 3}).to(dtype);
    EXPECT_EQ(valuesOf(x.t().index({longs({2, 0}), longs({1, 1})})), (Values{5, 3})) << dtype;
    Tensor out = shunt::empty({2, 2}, TensorOptions(dtype)).t();
    EXPECT_EQ(valuesOf(shunt::index_out(out, x.t(), {{longs({2, 0})}})), (Values{2, 5, 0, 3})) << dtype;
    EXPECT_FALSE(out.is_contiguous());
  }
  const Tensor permuted = iota({2, 3, 4}).permute({2, 1, 0});
  EXPECT_EQ(permuted.index({longs({0, 1})}).strides(), IntArrayRef({6, 1, 3})) << "dense, in the order of self";
}

TEST(Index, Views) {
  const Tensor x = iota({2, 3});
  EXPECT_EQ(x.index({1, Slice(1, None)}).data_ptr(), x[1][1].data_ptr());
  EXPECT_EQ(x.index({longs({1})[0]}).data_ptr(), x[1].data_ptr()) << "a number in a tensor";
  EXPECT_EQ(x.index({None, "..."}).sizes(), IntArrayRef({1, 2, 3}));
  EXPECT_FALSE(x.index({Ellipsis}).is_same(x));
  EXPECT_EQ(valuesOf(x.index({Slice(None, None, 2), Slice(-2, None)})), (Values{1, 2}));
  EXPECT_EQ(x[Scalar(1)].data_ptr(), x[1].data_ptr());
  EXPECT_THAT(errorOf([&] { x[Scalar(1.5)]; }), HasSubstr("integral scalars"));
  EXPECT_THAT(errorOf([&] { x[longs({0, 1})]; }), HasSubstr("zero-dim"));
}

TEST(IndexPut, ReplacesAndAdds) {
  Tensor x = shunt::zeros({2, 3});
  x.index_put_({longs({1, 1}), longs({0, 2})}, shunt::tensor({5., 6.}).to(kFloat));
  EXPECT_EQ(valuesOf(x), (Values{0, 0, 0, 5, 0, 6}));
  x.index_put_({Slice(), longs({0, 0})}, 7);
  EXPECT_EQ(valuesOf(x), (Values{7, 0, 0, 7, 0, 6}));
  const std::vector<std::optional<Tensor>> twice{longs({0, 0, 1})};
  EXPECT_EQ(valuesOf(x.index_put(twice, iota({3, 3}), true)), (Values{10, 5, 7, 13, 7, 14})) << "adds each time";
  EXPECT_EQ(valuesOf(x.index_put(twice, iota({3, 3}))), (Values{3, 4, 5, 6, 7, 8})) << "the last stays";
  EXPECT_EQ(valuesOf(x), (Values{7, 0, 0, 7, 0, 6}));
  Tensor t = iota({3, 2});
  t.t().index_put_({mask({0, 1})}, -1);
  EXPECT_EQ(valuesOf(t), (Values{0, -1, 2, -1, 4, -1})) << "through a view";
  Tensor bytes = shunt::ones({2}, TensorOptions(kByte));
  bytes.index_put_({{longs({0, 0})}}, shunt::full({2}, 200, TensorOptions(kByte)), true);
  EXPECT_EQ(valuesOf(bytes), (Values{145, 1})) << "integers wrap around";
}

TEST(IndexPut, ErrorsLeaveNoTrace) {
  Tensor x = iota({3});
  EXPECT_THROW(x.index_put_({longs({0, 3})}, 9), IndexError);
  EXPECT_THROW(x.index_put_({longs({0, -4})}, 9), IndexError);
  EXPECT_THAT(errorOf([&] { x.index_put_({{longs({0, 1, 2})}}, x); }), HasSubstr("single memory location"));
  EXPECT_THAT(errorOf([&] { x.index_put_({}, 1); }), HasSubstr("empty index list"));
  EXPECT_THAT(errorOf([&] { x.index({"."}); }), HasSubstr("\"...\""));
  EXPECT_EQ(valuesOf(x), counted(3));
}

// A mask stands for as many dimensions as it has, and the operators take lists that x.index() would have refused.
TEST(Index, MasksForMoreDimensionsThanThereAre) {
  Tensor x = iota({2, 3});
  const Tensor all = mask({1, 1, 1, 1, 1, 1}).reshape({2, 3});
  const std::vector<std::optional<Tensor>> nothing_more = {all, std::nullopt}, index_more = {all, longs({0})};
  for (const auto& indices : {nothing_more, index_more}) {
    EXPECT_THAT(errorOf([&] { shunt::index(x, indices); }), HasSubstr("too many indices for tensor of dimension 2"));
    for (const bool accumulate : {false, true})
      EXPECT_THAT(errorOf([&] { x.index_put_(indices, iota({1}), accumulate); }), HasSubstr("too many indices"));
  }
  EXPECT_EQ(valuesOf(x), counted(6));
}

TEST(Index, DevicesOfValuesAndOut) {
  Tensor x = iota({3}), meta = shunt::empty({1}, TensorOptions(kMeta));
  const std::vector<std::optional<Tensor>> indices = {longs({0})};
  EXPECT_THAT(errorOf([&] { x.index_put_(indices, meta); }), HasSubstr("Expected values to be on device cpu"));
  EXPECT_THAT(errorOf([&] { shunt::index_out(meta, x, indices); }),
              HasSubstr("Expected out tensor to be on device cpu"));
  Tensor out = iota({1});
  EXPECT_THAT(errorOf([&] { shunt::index_out(out, shunt::empty({3}, TensorOptions(kMeta)), indices); }),
              HasSubstr("Expected out tensor to be on device meta"));
  EXPECT_EQ(valuesOf(x), counted(3));
}

TEST(IndexPut, OnMeta) {
  const Tensor x = shunt::empty({2, 3}, TensorOptions(kMeta));
  EXPECT_EQ(x.index({longs({0, 1, 0})}).sizes(), IntArrayRef({3, 3}));
  EXPECT_THAT(errorOf([&] { x.index({x.gt(0)}); }), HasSubstr("no numbers"));
  Tensor y = x.clone();
  y.index_put_({x.gt(0)}, shunt::empty({}, TensorOptions(kMeta)));
  EXPECT_EQ(y.sizes(), x.sizes());
}

}  // namespace
}  // namespace shunt::testing
