// Matrix products of every dtype, layout and rank against a product in double.
#include <gmock/gmock.h>

#include "tests/reduce/reference.h"

namespace shunt::testing {
namespace {

const std::vector<ScalarType> kGemmTypes = {kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble};

/// alpha * a * b + beta * c of matrices, or of each matrix of batches, in double. c may be empty.
std::vector<double> expected(const Tensor& a, const Tensor& b, const std::vector<double>& c = {}, double beta = 0,
                             double alpha = 1) {
  std::vector<int64_t> sizes = a.sizes().vec();
  sizes.back() = b.sizes().back();
  std::vector<double> result;
  forIndices(sizes, [&](const std::vector<int64_t>& index) {
    std::vector<int64_t> i = index, j = index;
    double sum = 0;
    for (int64_t k = 0; k < a.sizes().back(); ++k) {
      i.back() = k;
      j[j.size() - 2] = k;
      sum += valueAt(a, i) * valueAt(b, j);
    }
    result.push_back(alpha * sum + (c.empty() ? 0 : beta * c[result.size()]));
  });
  return result;
}

/// Wraps a double as the dtype's modular arithmetic does.
std::vector<double> wrapped(std::vector<double> values, ScalarType type) {
  for (double& v : values) {
    if (type == kByte) v = static_cast<uint8_t>(static_cast<int64_t>(v));
    if (type == kChar) v = static_cast<int8_t>(static_cast<int64_t>(v));
  }
  return values;
}

/// Sums of k products of normal numbers, and one rounding to the dtype.
double tolerance(ScalarType type, int64_t k) {
  const double in_float = type == kDouble ? epsilonOf(kDouble) : epsilonOf(kFloat);
  return isFloatingType(type) ? epsilonOf(type) + static_cast<double>(k + 1) * in_float : 0;
}

struct Size {
  int64_t m, k, n;
};
const std::vector<Size> kSizes = {{1, 1, 1}, {8, 8, 8}, {2, 3, 4}, {32, 64, 128}, {1, 5, 7},   {7, 5, 1},
                                  {5, 1, 6}, {0, 3, 4}, {3, 0, 4}, {3, 4, 0},     {33, 65, 17}};

TEST(Mm, EqualsTheDefinitionInEveryTypeAndLayout) {
  for (const ScalarType type : kGemmTypes)
    for (const Size& s : kSizes)
      for (const Tensor& a : layoutsOf(randomTensor({s.m, s.k}, type)))
        for (const Tensor& b : layoutsOf(randomTensor({s.k, s.n}, type, 2))) {
          const Tensor c = shunt::mm(a, b);
          ASSERT_EQ(c.sizes(), IntArrayRef({s.m, s.n}));
          ASSERT_TRUE(c.is_contiguous());
          EXPECT_TRUE(near(valuesOf(c), wrapped(expected(a, b), type), tolerance(type, s.k), 8))
              << type << " " << a.sizes() << a.strides() << " " << b.sizes() << b.strides();
        }
}

TEST(Mm, TakesExpandedOperands) {
  const Tensor row = randomTensor({1, 6}, kFloat), b = randomTensor({6, 3}, kFloat, 2);
  const Tensor a = row.expand({4, 6});
  EXPECT_TRUE(near(valuesOf(shunt::mm(a, b)), expected(a, b), 1e-5));
  const Tensor column = randomTensor({4, 1}, kFloat).expand({4, 6});
  EXPECT_TRUE(near(valuesOf(shunt::mm(column, b)), expected(column, b), 1e-5));
}

TEST(Mm, LargeProductsDoNotDependOnThreads) {
  const Tensor a = randomTensor({1100, 300}, kFloat), b = randomTensor({300, 200}, kFloat, 2);
  const int before = get_num_threads();
  set_num_threads(1);
  const std::vector<double> one = valuesOf(shunt::mm(a, b));
  EXPECT_TRUE(near(one, expected(a, b), tolerance(kFloat, 300), 8));
  for (const int threads : {2, 4}) {
    set_num_threads(threads);
    EXPECT_EQ(valuesOf(shunt::mm(a, b)), one);
    EXPECT_EQ(valuesOf(shunt::mm(a.t().contiguous().t(), b)).size(), one.size());
  }
  set_num_threads(before);
}

TEST(Mm, WritesOut) {
  const Tensor a = randomTensor({3, 4}, kFloat), b = randomTensor({4, 5}, kFloat, 2);
  const std::vector<double> product = valuesOf(shunt::mm(a, b));
  Tensor fitting = shunt::full({3, 5}, NAN), empty = shunt::empty({0}), strided = shunt::empty({5, 3}).t();
  const void* memory = fitting.data_ptr();
  for (Tensor* out : {&fitting, &empty, &strided}) {
    shunt::mm_out(*out, a, b);
    EXPECT_EQ(valuesOf(*out), product);
  }
  EXPECT_EQ(fitting.data_ptr(), memory);
  Tensor square = randomTensor({4, 4}, kFloat);
  const std::vector<double> squared = valuesOf(shunt::mm(square, square));
  shunt::mm_out(square, square, square);
  EXPECT_EQ(valuesOf(square), squared);
}

TEST(Addmm, AddsScaled) {
  for (const ScalarType type : kGemmTypes)
    for (const Size& s : kSizes) {
      const Tensor a = randomTensor({s.m, s.k}, type), b = randomTensor({s.k, s.n}, type, 2);
      for (const Tensor& self : layoutsOf(randomTensor({s.m, s.n}, type, 3)))
        EXPECT_TRUE(near(valuesOf(shunt::addmm(self, a, b, 2, 3)), wrapped(expected(a, b, valuesOf(self), 2, 3), type),
                         3 * tolerance(type, s.k), 16))
            << type << self.sizes();
      const Tensor bias = randomTensor({s.n}, type, 4);
      const std::vector<double> broadcast = valuesOf(bias.expand({s.m, s.n}));
      EXPECT_TRUE(near(valuesOf(shunt::addmm(bias, a, b)), wrapped(expected(a, b, broadcast, 1, 1), type),
                       2 * tolerance(type, s.k), 8));
    }
}

TEST(Addmm, ZeroBetaNeverReads) {
  const Tensor a = randomTensor({2, 3}, kFloat), b = randomTensor({3, 2}, kFloat, 2);
  for (const ScalarType type : {kHalf, kBFloat16, kFloat, kDouble}) {
    const Tensor nans = shunt::full({2, 2}, NAN, type);
    const Tensor x = a.to(type), y = b.to(type);
    EXPECT_EQ(valuesOf(shunt::addmm(nans, x, y, 0)), valuesOf(shunt::mm(x, y))) << type;
    Tensor in_place = nans.clone();
    in_place.addmm_(x, y, 0);
    EXPECT_EQ(valuesOf(in_place), valuesOf(shunt::mm(x, y))) << type;
  }
}

TEST(Addmm, WorksInPlaceAndOut) {
  const Tensor a = randomTensor({3, 4}, kFloat), b = randomTensor({4, 3}, kFloat, 2),
               c = randomTensor({3, 3}, kFloat, 3);
  const std::vector<double> sum = valuesOf(shunt::addmm(c, a, b, 0.5, 2));
  for (Tensor self : layoutsOf(c.clone())) {
    self.addmm_(a, b, 0.5, 2);
    EXPECT_TRUE(near(valuesOf(self), sum, 1e-6));
  }
  Tensor out = shunt::empty({0});
  shunt::addmm_out(out, c, a, b, 0.5, 2);
  EXPECT_EQ(valuesOf(out), sum);
}

TEST(Bmm, MultipliesEachMatrix) {
  for (const ScalarType type : kGemmTypes)
    for (const int64_t batch : {0, 1, 3, 40})
      for (const Tensor& a : layoutsOf(randomTensor({batch, 4, 6}, type)))
        for (const Tensor& b : layoutsOf(randomTensor({batch, 6, 5}, type, 2)))
          EXPECT_TRUE(near(valuesOf(shunt::bmm(a, b)), wrapped(expected(a, b), type), tolerance(type, 6), 8))
              << type << batch;
  const Tensor a = randomTensor({3, 2, 4}, kFloat), b = randomTensor({3, 4, 2}, kFloat, 2),
               c = randomTensor({3, 2, 2}, kFloat, 3);
  EXPECT_TRUE(near(valuesOf(shunt::baddbmm(c, a, b, 2, 0.5)), expected(a, b, valuesOf(c), 2, 0.5), 1e-5));
  Tensor in_place = c.clone();
  in_place.baddbmm_(a, b, 2, 0.5);
  EXPECT_EQ(valuesOf(in_place), valuesOf(shunt::baddbmm(c, a, b, 2, 0.5)));
}

TEST(DotMv, EqualTheDefinition) {
  for (const ScalarType type : kGemmTypes)
    for (const int64_t n : {0, 1, 7, 100})
      for (const Tensor& x : layoutsOf(randomTensor({n}, type)))
        for (const Tensor& y : layoutsOf(randomTensor({n}, type, 2))) {
          double sum = 0;
          for (int64_t i = 0; i < n; ++i) sum += valueAt(x, {i}) * valueAt(y, {i});
          EXPECT_TRUE(near(valuesOf(shunt::dot(x, y)), wrapped({sum}, type), tolerance(type, n), 8));
          for (const Tensor& m : layoutsOf(randomTensor({5, n}, type, 3)))
            EXPECT_TRUE(near(valuesOf(shunt::mv(m, x)),
                             wrapped(valuesOf(shunt::mm(m.to(kDouble), x.to(kDouble).view({n, 1}))), type),
                             tolerance(type, n), 8))
                << type << n;
        }
  const Tensor one = shunt::ones({1}).expand({4});
  EXPECT_EQ(shunt::dot(one, shunt::tensor({1., 2., 3., 4.})).item<double>(), 10);
  EXPECT_EQ(valuesOf(shunt::mv(shunt::ones({2, 4}), one)), (std::vector<double>{4, 4}));
  EXPECT_EQ(valuesOf(shunt::outer(shunt::tensor({1., 2.}), shunt::tensor({3., 4.}))),
            (std::vector<double>{3, 4, 6, 8}));
}

TEST(Matmul, CombinesEveryRank) {
  struct Case {
    std::vector<int64_t> a, b, result;
  };
  const std::vector<Case> cases = {{{3}, {3}, {}},
                                   {{2, 3}, {3}, {2}},
                                   {{3}, {3, 4}, {4}},
                                   {{2, 3}, {3, 4}, {2, 4}},
                                   {{5, 2, 3}, {3}, {5, 2}},
                                   {{5, 2, 3}, {3, 4}, {5, 2, 4}},
                                   {{3}, {5, 3, 4}, {5, 4}},
                                   {{2, 3}, {5, 3, 4}, {5, 2, 4}},
                                   {{5, 2, 3}, {5, 3, 4}, {5, 2, 4}},
                                   {{6, 1, 2, 3}, {5, 3, 4}, {6, 5, 2, 4}},
                                   {{0, 2, 3}, {3, 4}, {0, 2, 4}}};
  for (const Case& c : cases) {
    const Tensor a = randomTensor(c.a, kDouble), b = randomTensor(c.b, kDouble, 2);
    const Tensor product = shunt::matmul(a, b);
    ASSERT_EQ(product.sizes(), IntArrayRef(c.result));
    // By broadcasting to batches: products of all pairs, then a sum.
    const Tensor left = a.dim() == 1 ? a.unsqueeze(0) : a, right = b.dim() == 1 ? b.unsqueeze(1) : b;
    const Tensor sum = (left.unsqueeze(-1) * right.unsqueeze(-3)).sum({-2});
    EXPECT_TRUE(near(valuesOf(product), valuesOf(sum.reshape(c.result)), 1e-14)) << left.sizes() << right.sizes();
  }
  EXPECT_THAT(errorOf([] { shunt::matmul(shunt::tensor(1.), shunt::tensor({1.})); }),
              ::testing::StartsWith("both arguments to matmul need to be at least 1D, but they are 0D and 1D"));
}

TEST(Linear, MultipliesByTheTransposedWeight) {
  const Tensor weight = randomTensor({4, 3}, kDouble), bias = randomTensor({4}, kDouble, 2);
  for (const auto& sizes : std::vector<std::vector<int64_t>>{{3}, {2, 3}, {2, 5, 3}, {2, 5, 1, 3}}) {
    const Tensor x = randomTensor(sizes, kDouble, 3);
    const Tensor product = shunt::matmul(x, weight.t());
    EXPECT_TRUE(near(valuesOf(shunt::linear(x, weight)), valuesOf(product), 0));
    EXPECT_TRUE(near(valuesOf(shunt::linear(x, weight, bias)), valuesOf(product + bias), 1e-15)) << x.sizes();
  }
}

TEST(Linear, BiasNeitherEnlargesNorPromotesTheResult) {
  const Tensor vec = randomTensor({3}, kFloat), weight = randomTensor({2, 3}, kFloat, 2);
  EXPECT_THAT(errorOf([&] { shunt::linear(vec, weight, shunt::ones({4, 2})); }),
              ::testing::HasSubstr("broadcast shape"));
  EXPECT_EQ(shunt::linear(vec, weight, shunt::ones({2}, kDouble)).scalar_type(), kFloat);
  const Tensor batch = randomTensor({2, 4, 3}, kFloat, 3);
  EXPECT_TRUE(near(valuesOf(shunt::linear(batch, weight, shunt::ones({}))),
                   valuesOf(shunt::linear(batch, weight).add(1)), 1e-6));
}

TEST(ProductErrors, NameTheShapes) {
  const Tensor a = randomTensor({2, 3}, kFloat), b = randomTensor({4, 5}, kFloat), v = randomTensor({3}, kFloat);
  EXPECT_THAT(errorOf([&] { shunt::mm(a, b); }),
              ::testing::StartsWith("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"));
  EXPECT_THAT(errorOf([&] { shunt::mm(v, b); }), ::testing::StartsWith("self must be a matrix, got 1-D tensor"));
  EXPECT_THAT(errorOf([&] { shunt::mm(a, v); }), ::testing::StartsWith("mat2 must be a matrix, got 1-D tensor"));
  EXPECT_THAT(errorOf([&] { shunt::addmm(v, v, b); }), ::testing::StartsWith("mat1 must be a matrix, got 1-D tensor"));
  EXPECT_THAT(errorOf([&] { shunt::addmm(randomTensor({4}, kFloat), a, a.t()); }),
              ::testing::StartsWith("The expanded size of the tensor (2) must match the existing size (4)"));
  const Tensor wide = a.t().to(kDouble);
  EXPECT_EQ(errorOf([&] { shunt::mm(a, wide); }),
            "mm: expected m1 and m2 to have the same dtype, but got: Float != Double (arguments 'self' and 'mat2')");
  EXPECT_EQ(errorOf([&] { shunt::addmm(shunt::ones({}), a, wide); }),
            "addmm: expected m1 and m2 to have the same dtype, but got: Float != Double (arguments 'mat1' and 'mat2')");
  EXPECT_EQ(errorOf([&] { shunt::bmm(a.unsqueeze(0), wide.unsqueeze(0)); }),
            "expected scalar type Float but found Double (arguments 'self' and 'mat2' need one dtype) (in aten::bmm)");
  EXPECT_EQ(errorOf([&] { shunt::mv(a, wide.select(1, 0)); }),
            "expected scalar type Float but found Double (arguments 'self' and 'vec' need one dtype) (in aten::mv)");
  EXPECT_THAT(errorOf([&] { shunt::bmm(a, b); }), ::testing::StartsWith("batch1 must be a 3D tensor, got 2D"));
  EXPECT_THAT(
      errorOf([&] { shunt::bmm(a.unsqueeze(0), b.unsqueeze(0)); }),
      ::testing::StartsWith("Expected size for first two dimensions of batch2 tensor to be: [1, 3] but got: [1, 4]."));
  EXPECT_THAT(errorOf([&] { shunt::dot(a, v); }),
              ::testing::StartsWith("1D tensors expected, but got 2D and 1D tensors"));
  EXPECT_THAT(errorOf([&] { shunt::dot(v, randomTensor({4}, kFloat)); }),
              ::testing::StartsWith("inconsistent tensor size"));
  EXPECT_EQ(errorOf([&] { shunt::mv(b, v); }),
            "size mismatch, got 4, 4x5,3: argument 'self' has 5 columns, and 'vec' has 3 elements (in aten::mv)");
  EXPECT_THAT(errorOf([] { shunt::mm(shunt::ones({2, 2}, kBool), shunt::ones({2, 2}, kBool)); }),
              ::testing::HasSubstr("not implemented for 'Bool'"));
  EXPECT_THAT(errorOf([&] { shunt::mm(Tensor(), b); }), ::testing::HasSubstr("undefined"));
}

}  // namespace
}  // namespace shunt::testing
