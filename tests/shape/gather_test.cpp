// gather, scatter, scatter_add, take_along_dim, flip, diag and embedding: values worked out by hand, layouts, memory
// that operands share, gradients. Random calls are compared with libtorch by the parity suite.
#include "tests/shape/util.h"

#include <limits>

namespace shunt::testing {
namespace {

using test::errorOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Values = std::vector<double>;

Tensor matrixOf(std::initializer_list<int64_t> values, IntArrayRef sizes) {
  return shunt::tensor(std::vector<int64_t>(values)).to(kLong).reshape(sizes);
}

TEST(Gather, PicksAlongADimension) {
  const Tensor x = iota({2, 3});
  EXPECT_EQ(valuesOf(x.gather(1, matrixOf({2, 0, 1, 1}, {2, 2}))), (Values{2, 0, 4, 4}));
  EXPECT_EQ(valuesOf(x.gather(0, matrixOf({1, 0, 1}, {1, 3}))), (Values{3, 1, 5}));
  EXPECT_EQ(valuesOf(x.gather(-1, matrixOf({0}, {1, 1}))), (Values{0})) << "an index may be smaller than self";
  EXPECT_EQ(x.gather(1, matrixOf({}, {0})).sizes(), IntArrayRef({0})) << "an empty one of any shape";
  EXPECT_EQ(valuesOf(iota({}).gather(0, matrixOf({0, 0}, {2}))), (Values{0, 0}));
  EXPECT_EQ(iota({3}).gather(0, matrixOf({2}, {})).dim(), 0);
}

TEST(Gather, EveryLayoutAndSize) {
  const Tensor index = matrixOf({1, 0, 1, 1, 0, 0}, {3, 2});
  const Values expected{3, 0, 4, 4, 2, 2};
  for (const ScalarType dtype : {kBool, kByte, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble}) {
    const Tensor x = iota({2, 3}).to(dtype);
    const Tensor want = shunt::tensor(expected).reshape({3, 2}).to(dtype);
    const Tensor from = dtype == kBool ? x : x.t();  // rows 0 3, 1 4, 2 5
    if (dtype == kBool) {
      EXPECT_EQ(valuesOf(x.t().gather(1, index)), (Values{1, 0, 1, 1, 1, 1}));
      continue;
    }
    EXPECT_EQ(valuesOf(from.gather(1, index)), valuesOf(want)) << dtype;
    EXPECT_EQ(valuesOf(from.contiguous().gather(1, index.t().contiguous().t())), valuesOf(want)) << dtype;
    Tensor out = shunt::empty({2, 3}, TensorOptions(dtype)).t();
    EXPECT_EQ(valuesOf(shunt::gather_out(out, from, 1, index)), valuesOf(want)) << dtype;
    EXPECT_FALSE(out.is_contiguous());
  }
}

TEST(Gather, Memory) {
  Tensor x = iota({4}), columns = iota({3, 2});
  const Tensor index = matrixOf({3, 2, 1, 0}, {4});
  EXPECT_THAT(errorOf([&] { shunt::gather_out(x, x, 0, index); }), HasSubstr("single memory location"));
  Tensor expanded = shunt::zeros({1}).expand({4});
  EXPECT_THAT(errorOf([&] { shunt::gather_out(expanded, x, 0, index); }), HasSubstr("more than one element"));
  EXPECT_EQ(valuesOf(x), counted(4));
  // Two columns of one matrix: their ranges meet, their elements don't.
  Tensor out = columns.select(1, 0);
  shunt::gather_out(out, columns.select(1, 1), 0, matrixOf({2, 1, 0}, {3}));
  EXPECT_EQ(valuesOf(columns), (Values{5, 1, 3, 3, 1, 5}));
}

TEST(Scatter, ReplacesAndTheLastStays) {
  const Tensor zero = shunt::zeros({2, 3});
  const Tensor index = matrixOf({2, 0, 1, 1}, {2, 2}), src = iota({2, 2}).add(1);
  EXPECT_EQ(valuesOf(zero.scatter(1, index, src)), (Values{2, 0, 1, 0, 4, 0}));
  EXPECT_EQ(valuesOf(zero.scatter(0, matrixOf({1, 0, 1}, {1, 3}), iota({1, 3}).add(1))), (Values{0, 2, 0, 1, 0, 3}));
  EXPECT_EQ(valuesOf(zero.scatter(1, index, 7)), (Values{7, 0, 7, 0, 7, 0}));
  EXPECT_EQ(valuesOf(zero.scatter(1, index, iota({3, 3}).add(1))), (Values{2, 0, 1, 0, 5, 0})) << "a larger source";
  EXPECT_EQ(valuesOf(zero), Values(6, 0));
  Tensor x = shunt::zeros({3, 2}).t();
  x.scatter_(1, index, src);
  EXPECT_EQ(valuesOf(x), (Values{2, 0, 1, 0, 4, 0}));
  EXPECT_FALSE(x.is_contiguous()) << "in place";
  Tensor out = shunt::empty({0});
  EXPECT_EQ(valuesOf(shunt::scatter_out(out, zero, 1, index, src)), (Values{2, 0, 1, 0, 4, 0}));
  EXPECT_EQ(valuesOf(shunt::scatter_out(out, zero, 1, index, 3)), (Values{3, 0, 3, 0, 3, 0}));
  EXPECT_EQ(valuesOf(iota({}).scatter(0, matrixOf({0}, {1}), 5)), (Values{5}));
  EXPECT_THAT(errorOf([&] { shunt::zeros({2}, TensorOptions(kByte)).scatter(0, matrixOf({0}, {1}), 1000); }),
              HasSubstr("without overflow"));
}

TEST(Scatter, Adds) {
  const Tensor index = matrixOf({0, 0, 2, 0}, {4});
  EXPECT_EQ(valuesOf(shunt::ones({3}).scatter_add(0, index, iota({4}).add(1))), (Values{8, 1, 4}));
  EXPECT_EQ(valuesOf(shunt::ones({3}, TensorOptions(kByte)).scatter_add(0, index, shunt::full({4}, 100, kByte))),
            (Values{45, 1, 101}))
      << "integers wrap around";
  EXPECT_EQ(valuesOf(shunt::zeros({3}, TensorOptions(kBool)).scatter_add(0, index, shunt::ones({4}, kBool))),
            (Values{1, 0, 1}));
  // Rounded once: 256 + 1 is 256 in bfloat16, each time.
  EXPECT_EQ(
      valuesOf(shunt::full({1}, 256, kBFloat16).scatter_add(0, matrixOf({0, 0}, {2}), shunt::ones({2}, kBFloat16))),
      (Values{258}));
  Tensor x = iota({2, 3});
  x.t().scatter_add_(0, matrixOf({1, 1, 1, 1}, {2, 2}), shunt::ones({2, 2}));
  EXPECT_EQ(valuesOf(x), (Values{0, 3, 2, 3, 6, 5}));
}

TEST(Scatter, ABadIndexLeavesNoTrace) {
  Tensor x = iota({3});
  EXPECT_THROW(x.scatter_(0, matrixOf({0, 3}, {2}), 9), Error);
  EXPECT_THROW(x.scatter_add_(0, matrixOf({0, -1}, {2}), shunt::ones({2})), Error);
  EXPECT_THAT(errorOf([&] { x.scatter_(0, matrixOf({0, 1, 2}, {3}), x); }), HasSubstr("single memory location"));
  EXPECT_EQ(valuesOf(x), counted(3));
}

TEST(Scatter, Gradients) {
  Tensor x = shunt::ones({3}).requires_grad_(), src = shunt::ones({2}).requires_grad_();
  const Tensor index = matrixOf({2, 0}, {2}), weight = iota({3}).add(1);
  x.scatter(0, index, src).mul(weight).sum().backward();
  EXPECT_EQ(valuesOf(x.grad()), (Values{0, 2, 0}));
  EXPECT_EQ(valuesOf(src.grad()), (Values{3, 1}));
  Tensor y = shunt::ones({3}).requires_grad_();
  y.gather(0, matrixOf({1, 1, 2}, {3})).mul(weight).sum().backward();
  EXPECT_EQ(valuesOf(y.grad()), (Values{0, 3, 3}));
  Tensor z = shunt::ones({3}).requires_grad_();
  const Tensor sparse = z.gather(0, index, true);
  EXPECT_THAT(errorOf([&] { sparse.sum().backward(); }), HasSubstr("sparse_grad"));
}

TEST(Nonzero, RowsInOrder) {
  const Tensor x = shunt::tensor({0.0, 2.0, -1.0, 0.0, -0.0, std::numeric_limits<double>::quiet_NaN()}).reshape({2, 3});
  EXPECT_EQ(valuesOf(x.nonzero()), (Values{0, 1, 0, 2, 1, 2}));
  EXPECT_EQ(x.nonzero().sizes(), IntArrayRef({3, 2}));
  EXPECT_EQ(valuesOf(x.t().nonzero()), (Values{1, 0, 2, 0, 2, 1})) << "in the order of the tensor, not of its memory";
  EXPECT_EQ(iota({}).nonzero().sizes(), IntArrayRef({0, 0}));
  EXPECT_EQ(iota({}).add(1).nonzero().sizes(), IntArrayRef({1, 0}));
  EXPECT_EQ(shunt::zeros({0, 3}).nonzero().sizes(), IntArrayRef({0, 2}));
  EXPECT_EQ(valuesOf(iota({3}, kHalf).nonzero()), (Values{1, 2}));
  Tensor out = shunt::empty({0}, TensorOptions(kLong));
  EXPECT_EQ(valuesOf(shunt::nonzero_out(out, iota({3}))), (Values{1, 2}));
  EXPECT_FALSE(shunt::ones({2}, requires_grad()).nonzero().requires_grad());
  EXPECT_THAT(errorOf([&] { shunt::empty({2}, TensorOptions(kMeta)).nonzero(); }), HasSubstr("no numbers"));
}

TEST(Where, OfAConditionGivesTheColumnsOfNonzero) {
  const Tensor x = shunt::tensor({0.0, 2.0, -1.0, 0.0, -0.0, std::numeric_limits<double>::quiet_NaN()}).reshape({2, 3});
  const std::vector<Tensor> places = shunt::where(x);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(valuesOf(places[0]), (Values{0, 0, 1}));
  EXPECT_EQ(valuesOf(places[1]), (Values{1, 2, 2}));
  for (const Tensor& t : places) EXPECT_EQ(t.dtype(), kLong);
  const Tensor y = iota({2, 3});
  EXPECT_EQ(valuesOf(y.index({places[0], places[1]})), (Values{1, 2, 5})) << "as indices they choose the elements";
  EXPECT_EQ(valuesOf(shunt::where(y.t().gt(3))[0]), (Values{1, 2})) << "in the order of the tensor";
  EXPECT_EQ(shunt::where(shunt::zeros({0, 3})).size(), 2u);
  // A number is a row of one element, where nonzero() gives a row without coordinates.
  ASSERT_EQ(shunt::where(iota({}).add(1)).size(), 1u);
  EXPECT_EQ(valuesOf(shunt::where(iota({}).add(1))[0]), (Values{0}));
  EXPECT_EQ(shunt::where(iota({}))[0].sizes(), IntArrayRef({0}));
  EXPECT_FALSE(shunt::where(shunt::ones({2}, requires_grad()))[0].requires_grad());
  EXPECT_THAT(errorOf([&] { shunt::where(shunt::empty({2}, TensorOptions(kMeta))); }), HasSubstr("no numbers"));
}

TEST(MaskedSelect, BroadcastsAndDifferentiates) {
  Tensor x = iota({2, 3}).requires_grad_();
  const Tensor mask = shunt::tensor({1, 0, 1}).to(kBool);
  const Tensor chosen = x.masked_select(mask);
  EXPECT_EQ(valuesOf(chosen), (Values{0, 2, 3, 5}));
  chosen.mul(chosen).sum().backward();
  EXPECT_EQ(valuesOf(x.grad()), (Values{0, 0, 4, 6, 0, 10}));
  EXPECT_EQ(valuesOf(iota({}).add(1).masked_select(mask)), (Values{1, 1}));
  EXPECT_EQ(x.masked_select(x.gt(9)).sizes(), IntArrayRef({0}));
  EXPECT_THAT(errorOf([&] { x.masked_select(iota({3})); }), HasSubstr("expected BoolTensor or ByteTensor for mask"));
}

TEST(Sort, StableWithNaNLast) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = shunt::tensor({3.0, kNan, 1.0, 3.0, -1.0});
  const auto [up, from] = x.sort();
  EXPECT_EQ(valuesOf(from), (Values{4, 2, 0, 3, 1})) << "equal elements keep their order";
  EXPECT_EQ(valuesOf(up.slice(0, 0, 4)), (Values{-1, 1, 3, 3}));
  EXPECT_EQ(valuesOf(x.argsort(-1, true)), (Values{1, 0, 3, 2, 4})) << "NaN is the largest";
  EXPECT_EQ(valuesOf(shunt::argsort(x, true, 0, true)), (Values{1, 0, 3, 2, 4}));
  const Tensor m = shunt::tensor({2, 9, 1, 0, 5, 7}).reshape({2, 3});
  EXPECT_EQ(valuesOf(std::get<0>(m.sort(0))), (Values{0, 5, 1, 2, 9, 7}));
  EXPECT_EQ(valuesOf(std::get<1>(m.t().sort(0))), (Values{2, 0, 0, 1, 1, 2}));
  EXPECT_EQ(std::get<1>(m.t().sort(0)).strides(), m.t().strides()) << "laid out as the input";
  EXPECT_EQ(valuesOf(std::get<0>(iota({}).add(1).sort(0))), (Values{1}));
  EXPECT_EQ(std::get<0>(shunt::zeros({0, 2}).sort(0)).sizes(), IntArrayRef({0, 2}));
  for (const ScalarType dtype : {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat})
    EXPECT_EQ(valuesOf(std::get<1>(shunt::tensor({1, 0, 1, 0}).to(dtype).sort())), (Values{1, 3, 0, 2})) << dtype;
}

TEST(Sort, OutAndGradients) {
  Tensor values = shunt::empty({0}), indices = shunt::empty({0}, TensorOptions(kLong));
  shunt::sort_out(values, indices, iota({3}), 0, true);
  EXPECT_EQ(valuesOf(values), (Values{2, 1, 0}));
  EXPECT_EQ(valuesOf(indices), (Values{2, 1, 0}));
  Tensor x = shunt::tensor({2.0, 0.0, 1.0}).requires_grad_();
  std::get<0>(x.sort()).mul(shunt::tensor({1.0, 10.0, 100.0})).sum().backward();
  EXPECT_EQ(valuesOf(x.grad()), (Values{100, 1, 10}));
}

TEST(TakeAlongDim, Broadcasts) {
  const Tensor x = iota({2, 3});
  EXPECT_EQ(valuesOf(take_along_dim(x, matrixOf({2, 0}, {1, 2}), 1)), (Values{2, 0, 5, 3}));
  EXPECT_EQ(valuesOf(take_along_dim(iota({1, 3}), matrixOf({1, 2}, {2, 1}), 1)), (Values{1, 2}));
  EXPECT_EQ(valuesOf(take_along_dim(x, matrixOf({5, 0}, {2}))), (Values{5, 0})) << "without dim: of all in a row";
  EXPECT_EQ(valuesOf(take_along_dim(x, x.argmax(1, true), 1)), (Values{2, 5}));
}

TEST(Flip, ReversesDimensions) {
  const Tensor x = iota({2, 3});
  EXPECT_EQ(valuesOf(x.flip({1})), (Values{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(valuesOf(x.flip({0, -1})), (Values{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(valuesOf(x.t().flip({0})), (Values{2, 5, 1, 4, 0, 3}));
  EXPECT_EQ(x.t().flip({0}).strides(), x.t().strides()) << "the layout stays";
  EXPECT_EQ(valuesOf(x.flip(IntArrayRef{})), counted(6));
  EXPECT_FALSE(x.flip(IntArrayRef{}).is_alias_of(x));
  EXPECT_EQ(valuesOf(iota({}).flip({0})), (Values{0}));
  EXPECT_EQ(x.slice(0, 0, 0).flip({0}).sizes(), IntArrayRef({0, 3}));
  EXPECT_EQ(valuesOf(shunt::tensor({1, 2}).expand({2, 2}).flip({1})), (Values{2, 1, 2, 1}));
}

TEST(Diag, BothWays) {
  EXPECT_EQ(valuesOf(iota({2, 3}).diag(1)), (Values{1, 5}));
  EXPECT_EQ(valuesOf(iota({2}).add(1).diag()), (Values{1, 0, 0, 2}));
  EXPECT_EQ(valuesOf(iota({1}).add(1).diag(-1)), (Values{0, 0, 1, 0}));
  EXPECT_FALSE(iota({2, 2}).diag().is_alias_of(iota({2, 2})));
}

TEST(Embedding, RowsAndPadding) {
  Tensor weight = iota({3, 2}).requires_grad_();
  const Tensor rows = embedding(weight, matrixOf({2, 0, 2, 1}, {2, 2}), 1);
  EXPECT_EQ(rows.sizes(), IntArrayRef({2, 2, 2}));
  EXPECT_EQ(valuesOf(rows), (Values{4, 5, 0, 1, 4, 5, 2, 3}));
  rows.sum().backward();
  EXPECT_EQ(valuesOf(weight.grad()), (Values{1, 1, 0, 0, 2, 2})) << "none for the padding";
  EXPECT_EQ(embedding(weight, matrixOf({1}, {}).to(kInt)).sizes(), IntArrayRef({2}));
  EXPECT_THAT(errorOf([&] { embedding(weight, iota({2})); }), HasSubstr("Long, Int; but got Float"));
  EXPECT_THAT(errorOf([&] { embedding(weight, iota({1}).to(kLong), -1, false, true); }), HasSubstr("sparse=True"));
}

TEST(Embedding, GradientsDividedByTheFrequencyOfTheirIndex) {
  Tensor weight = iota({4, 2}).requires_grad_();
  const Tensor at = matrixOf({2, 0, 2, 1, 1, 2}, {2, 3});
  const Tensor plain = embedding(weight, at, 1);
  const Tensor scaled = embedding(weight, at, 1, true);
  EXPECT_EQ(valuesOf(scaled), valuesOf(plain));
  const Tensor factors = iota({2, 3, 2});
  scaled.mul(factors).sum().backward();
  // Row 2 is named at places 0, 2 and 5: (0 + 4 + 10) / 3 and (1 + 5 + 11) / 3. Row 1 is the padding.
  const Values grad = valuesOf(weight.grad());
  EXPECT_THAT(grad, Pointwise(DoubleNear(1e-6), Values{2, 3, 0, 0, 14 / 3., 17 / 3., 0, 0}));
  EXPECT_EQ(valuesOf(embedding(iota({4, 2}).to(kLong), at, -1, true)), (Values{4, 5, 0, 1, 4, 5, 2, 3, 2, 3, 4, 5}))
      << "a table of integers has no gradient to be divided";
  for (const ScalarType type : {kHalf, kBFloat16, kDouble}) {
    Tensor other = iota({4, 2}).to(type).requires_grad_();
    embedding(other, at.to(kInt), -1, true).sum().backward();
    EXPECT_THAT(valuesOf(other.grad()), Pointwise(DoubleNear(0.01), Values{1, 1, 1, 1, 1, 1, 0, 0})) << type;
  }
}

}  // namespace
}  // namespace shunt::testing
