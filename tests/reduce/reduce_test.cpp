// Reductions of every dtype, layout and set of dimensions against double arithmetic.
#include <gmock/gmock.h>

#include "tests/reduce/reference.h"

namespace shunt::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const std::vector<ScalarType> kEveryType = {kByte, kChar,     kShort, kInt,    kLong,
                                            kHalf, kBFloat16, kFloat, kDouble, kBool};
const std::vector<ScalarType> kFloatingTypes = {kHalf, kBFloat16, kFloat, kDouble};

struct ShapeCase {
  std::vector<int64_t> sizes, dims;  // no dims: all
};
const std::vector<ShapeCase>& shapeCases() {
  static const std::vector<ShapeCase> cases = {
      {{}, {}},         {{1}, {0}},          {{7}, {}},           {{16}, {0}},       {{63}, {0}},
      {{64}, {0}},      {{200}, {0}},        {{5000}, {}},        {{32, 10}, {0}},   {{32, 10}, {1}},
      {{32, 10}, {-1}}, {{32, 128}, {0}},    {{3, 1, 5}, {1}},    {{3, 4, 5}, {0}},  {{3, 4, 5}, {1}},
      {{3, 4, 5}, {2}}, {{3, 4, 5}, {0, 2}}, {{3, 4, 5}, {1, 2}}, {{3, 4, 5}, {}},   {{2, 3, 4, 5, 3}, {1, 3}},
      {{300, 17}, {0}}, {{9, 600}, {0}},     {{9, 600}, {1}},     {{2, 9, 33}, {1}}, {{1, 1, 1}, {}},
      {{5000, 3}, {0}}, {{70000}, {0}},      {{0, 3}, {0}},       {{3, 0}, {0}},     {{0}, {}},
  };
  return cases;
}

int64_t countOf(const ShapeCase& c) {
  int64_t n = 1;
  for (size_t d = 0; d < c.sizes.size(); ++d) {
    const auto dim = static_cast<int64_t>(d), ndim = static_cast<int64_t>(c.sizes.size());
    if (c.dims.empty() ||
        std::any_of(c.dims.begin(), c.dims.end(), [&](int64_t x) { return x == dim || x + ndim == dim; }))
      n *= c.sizes[d];
  }
  return n;
}

std::string describe(const Tensor& t, const ShapeCase& c) {
  return detail::str(t.dtype(), " ", t.sizes(), " strides ", t.strides(), " dims ", IntArrayRef(c.dims));
}

TEST(Sum, EqualsTheSumInDouble) {
  for (const ScalarType type : kEveryType)
    for (const ShapeCase& c : shapeCases())
      for (const Tensor& t : layoutsOf(randomTensor(c.sizes, type))) {
        const Tensor s = shunt::sum(t, c.dims);
        EXPECT_EQ(s.dtype(), isFloatingType(type) ? type : kLong);
        const double terms = std::sqrt(static_cast<double>(countOf(c))) + 1;
        // Rounding once at the end for 16 bits; float adds up along the lanes' chains.
        const double tolerance =
            epsilonOf(type) + (isFloatingType(type) ? terms * epsilonOf(type == kDouble ? kDouble : kFloat) : 0);
        EXPECT_TRUE(near(valuesOf(s), reducedBy(t, c.dims, 0, std::plus<>()), tolerance)) << describe(t, c);
      }
}

TEST(Sum, KeepsDimensions) {
  const Tensor t = randomTensor({3, 4, 5}, kFloat);
  EXPECT_EQ(shunt::sum(t, {0, 2}, true).sizes(), IntArrayRef({1, 4, 1}));
  EXPECT_EQ(shunt::sum(t, {0, 2}, false).sizes(), IntArrayRef({4}));
  EXPECT_EQ(shunt::sum(t, std::vector<int64_t>{}, true).sizes(), IntArrayRef({1, 1, 1}));
  EXPECT_EQ(shunt::sum(t).dim(), 0);
}

TEST(Sum, ComputesInTheRequestedType) {
  const Tensor t = shunt::tensor({1.75, -2.5, 300.25}, kFloat);
  EXPECT_EQ(shunt::sum(t, kLong).item<int64_t>(), 1 - 2 + 300);
  EXPECT_EQ(shunt::sum(t, kDouble).item<double>(), 299.5);
  EXPECT_EQ(shunt::sum(t, kDouble).dtype(), kDouble);
  EXPECT_EQ(shunt::sum(shunt::tensor({0, 0, 3}), kBool).dtype(), kBool);
  EXPECT_TRUE(shunt::sum(shunt::tensor({0, 0, 3}), kBool).item<bool>());
  // Bytes wrap only when asked to be summed as bytes.
  const Tensor bytes = shunt::tensor({200, 100}, kByte);
  EXPECT_EQ(shunt::sum(bytes).item<int64_t>(), 300);
  EXPECT_EQ(shunt::sum(bytes, kByte).item<int64_t>(), 44);
}

TEST(Sum, StaysAccurateOverAMillionFloats) {
  Tensor t(detail::makeCpuTensor(int64_t{1} << 20, {}, kFloat));
  std::fill_n(t.data_ptr<float>(), t.numel(), 0.1f);
  EXPECT_NEAR(shunt::sum(t).item<double>() / static_cast<double>(t.numel()), 0.1f, 1e-7);
  const Tensor wide = t.view({int64_t{1} << 18, 4});
  for (const double v : valuesOf(shunt::sum(wide, {0}))) EXPECT_NEAR(v / (1 << 18), 0.1f, 1e-7);
}

TEST(Sum, OfReducedTypesIsNotCutOff) {
  // A sum kept in bfloat16 would stop at 256.
  Tensor t(detail::makeCpuTensor(4096, {}, kBFloat16));
  std::fill_n(t.data_ptr<BFloat16>(), 4096, BFloat16(1.0f));
  EXPECT_EQ(shunt::sum(t).item<double>(), 4096);
}

TEST(Sum, WritesOut) {
  const Tensor t = randomTensor({3, 4}, kFloat);
  Tensor out(detail::makeCpuTensor(0, {}, kFloat));
  shunt::sum_out(out, t, {1});
  EXPECT_EQ(valuesOf(out), valuesOf(shunt::sum(t, {1})));
}

TEST(Mean, DividesByTheCount) {
  for (const ScalarType type : kFloatingTypes)
    for (const ShapeCase& c : shapeCases())
      for (const Tensor& t : layoutsOf(randomTensor(c.sizes, type))) {
        std::vector<double> expected = reducedBy(t, c.dims, 0, std::plus<>());
        for (double& v : expected) v /= static_cast<double>(countOf(c));
        EXPECT_TRUE(near(valuesOf(shunt::mean(t, c.dims)), expected, 4 * epsilonOf(type))) << describe(t, c);
      }
  EXPECT_THAT(errorOf([] { shunt::mean(shunt::tensor({1, 2})); }),
              ::testing::StartsWith("mean(): could not infer output dtype. Input dtype must be either a floating point "
                                    "or complex dtype. Got: Long"));
  EXPECT_EQ(shunt::mean(shunt::tensor({1, 2}), kFloat).item<double>(), 1.5);
}

TEST(Prod, MultipliesElements) {
  for (const ScalarType type : {kInt, kLong, kFloat, kDouble, kBool})
    for (const auto& [sizes, dim] :
         std::vector<std::pair<std::vector<int64_t>, int64_t>>{{{6}, 0}, {{3, 5}, 0}, {{3, 5}, 1}, {{4, 0}, 1}}) {
      const Tensor t = randomTensor(sizes, type);
      EXPECT_TRUE(
          near(valuesOf(shunt::prod(t, dim)), reducedBy(t, {dim}, 1, std::multiplies<>()), 8 * epsilonOf(type)));
    }
  EXPECT_EQ(shunt::prod(shunt::tensor({2, 3, 7})).item<int64_t>(), 42);
}

TEST(Extremes, AreExactInEveryType) {
  const auto largest = [](double a, double b) { return b > a || std::isnan(b) ? b : a; };
  const auto smallest = [](double a, double b) { return b < a || std::isnan(b) ? b : a; };
  for (const ScalarType type : kEveryType)
    for (const ShapeCase& c : shapeCases()) {
      if (countOf(c) == 0) continue;
      for (const Tensor& t : layoutsOf(randomTensor(c.sizes, type))) {
        EXPECT_EQ(shunt::amax(t, c.dims).dtype(), type);
        EXPECT_EQ(valuesOf(shunt::amax(t, c.dims)), reducedBy(t, c.dims, -kInf, largest)) << describe(t, c);
        EXPECT_EQ(valuesOf(shunt::amin(t, c.dims)), reducedBy(t, c.dims, kInf, smallest)) << describe(t, c);
        if (c.dims.empty()) EXPECT_EQ(valuesOf(shunt::max(t)), reducedBy(t, {}, -kInf, largest));
        if (c.dims.empty()) EXPECT_EQ(valuesOf(shunt::min(t)), reducedBy(t, {}, kInf, smallest));
      }
    }
}

TEST(Extremes, PropagateNaNFromAnyPlace) {
  for (const ScalarType type : kFloatingTypes)
    for (const int64_t n : {1, 5, 16, 40, 64, 100, 5000})
      for (const int64_t at : {int64_t{0}, n / 3, n / 2, n - 1}) {
        Tensor t = randomTensor(n, type);
        dispatchFloatingTypes(type, "test", [&]<class T>(std::type_identity<T>) { t.data_ptr<T>()[at] = T(NAN); });
        EXPECT_TRUE(std::isnan(shunt::amax(t).item<double>())) << type << " " << n << " " << at;
        EXPECT_TRUE(std::isnan(shunt::min(t).item<double>())) << type << " " << n << " " << at;
        EXPECT_EQ(shunt::argmax(t).item<int64_t>(), at);
        EXPECT_EQ(shunt::argmin(t).item<int64_t>(), at);
        const Tensor columns = shunt::stack({randomTensor(n, type, 2), t, randomTensor(n, type, 3)}, 1);
        EXPECT_TRUE(std::isnan(shunt::amax(columns, {0})[1].item<double>()));
        EXPECT_EQ(shunt::argmax(columns, 0)[1].item<int64_t>(), at);
        EXPECT_FALSE(std::isnan(shunt::amax(columns, {0})[2].item<double>()));
      }
}

TEST(Extremes, OfNothingAreErrors) {
  const Tensor empty = randomTensor({0, 3}, kFloat);
  EXPECT_THAT(errorOf([&] { shunt::amax(empty, {0}); }),
              ::testing::StartsWith("amax(): Expected reduction dim 0 to have non-zero size."));
  EXPECT_THAT(errorOf([&] { shunt::max(empty); }),
              ::testing::StartsWith("max(): Expected reduction dim to be specified for input.numel() == 0."));
  EXPECT_THAT(errorOf([&] { shunt::argmin(empty); }),
              ::testing::StartsWith("argmin(): Expected reduction dim to be specified for input.numel() == 0."));
  EXPECT_THAT(errorOf([&] { shunt::max(empty, 0); }), ::testing::StartsWith("max(): Expected reduction dim 0"));
  EXPECT_EQ(shunt::amax(empty, {1}).sizes(), IntArrayRef({0}));
}

TEST(AnyAll, SeeTruthValues) {
  for (const ScalarType type : kEveryType)
    for (const auto& [sizes, dim] :
         std::vector<std::pair<std::vector<int64_t>, int64_t>>{{{40}, 0}, {{3, 5}, 0}, {{30, 5}, 1}, {{0, 2}, 0}})
      for (const Tensor& t : layoutsOf(randomTensor(sizes, type))) {
        EXPECT_EQ(shunt::any(t, dim).dtype(), type == kByte ? kByte : kBool);
        EXPECT_EQ(valuesOf(shunt::any(t, dim)),
                  reducedBy(t, {dim}, 0, [](double a, double b) { return a != 0 || b != 0; }));
        EXPECT_EQ(valuesOf(shunt::all(t, dim)),
                  reducedBy(t, {dim}, 1, [](double a, double b) { return a != 0 && b != 0; }));
      }
  EXPECT_TRUE(shunt::all(shunt::tensor({std::nan(""), 1.0})).item<bool>());
  EXPECT_FALSE(shunt::any(randomTensor(0, kFloat)).item<bool>());
  EXPECT_TRUE(shunt::all(randomTensor(0, kFloat)).item<bool>());
}

TEST(ArgExtremes, GiveTheFirstIndex) {
  for (const ScalarType type : {kByte, kInt, kLong, kHalf, kFloat, kDouble})
    for (const auto& [sizes, dim] : std::vector<std::pair<std::vector<int64_t>, int64_t>>{{{100}, 0},
                                                                                          {{9000}, 0},
                                                                                          {{40000}, 0},
                                                                                          {{3, 5}, 0},
                                                                                          {{30, 10}, 1},
                                                                                          {{20, 600}, 0},
                                                                                          {{4, 6, 5}, 1},
                                                                                          {{4, 6, 5}, -1}})
      for (const Tensor& t : layoutsOf(randomTensor(sizes, type))) {
        for (const bool maximum : {true, false}) {
          const auto [values, indices] = maximum ? shunt::max(t, dim) : shunt::min(t, dim);
          EXPECT_EQ(valuesOf(values), valuesOf(maximum ? shunt::amax(t, {dim}) : shunt::amin(t, {dim})));
          EXPECT_EQ(valuesOf(indices), valuesOf(maximum ? shunt::argmax(t, dim) : shunt::argmin(t, dim)));
          // The first index whose element equals the extreme, by a scan of each line.
          const auto d = static_cast<size_t>(dim < 0 ? dim + t.dim() : dim);
          forIndices(indices.sizes(), [&](std::vector<int64_t> index) {
            const double best = valueAt(values, index);
            const auto found = static_cast<int64_t>(valueAt(indices, index));
            index.insert(index.begin() + static_cast<std::ptrdiff_t>(d), 0);
            while (valueAt(t, index) != best) ++index[d];
            EXPECT_EQ(index[d], found) << type << " " << t.sizes() << " " << t.strides();
          });
        }
      }
  const Tensor t = shunt::tensor({{1, 5, 2}, {5, 0, 5}});
  EXPECT_EQ(shunt::argmax(t).item<int64_t>(), 1);
  EXPECT_EQ(shunt::argmax(t.t()).item<int64_t>(), 1) << "row-major order of the transposed tensor: 1 5 5 0 2 5";
  EXPECT_EQ(shunt::argmax(t, std::nullopt, true).sizes(), IntArrayRef({1, 1}));
  EXPECT_THAT(errorOf([] { shunt::argmax(shunt::tensor({true, false})); }),
              ::testing::StartsWith("\"argmax_cpu\" not implemented for 'Bool'"));
}

TEST(ReduceErrors, NameTheDimension) {
  const Tensor t = randomTensor({2, 3}, kFloat);
  EXPECT_THAT(errorOf([&] { shunt::sum(t, {2}); }),
              ::testing::StartsWith("Dimension out of range (expected to be in range of [-2, 1], but got 2)"));
  EXPECT_THAT(errorOf([&] { shunt::sum(t, {0, -2}); }),
              ::testing::StartsWith("dim 0 appears multiple times in the list of dims"));
  EXPECT_THAT(errorOf([] { shunt::sum(Tensor()); }), ::testing::HasSubstr("aten::sum"));
}

TEST(SumTo, UndoesAnExpansion) {
  const Tensor t = randomTensor({2, 3, 4}, kDouble);
  EXPECT_EQ(t.sum_to_size({3, 1}).sizes(), IntArrayRef({3, 1}));
  EXPECT_TRUE(near(valuesOf(t.sum_to_size({3, 1})), reducedBy(t, {0, 2}, 0, std::plus<>()), 1e-15));
  EXPECT_TRUE(t.sum_to_size({2, 3, 4}).is_same(t) || valuesOf(t.sum_to_size({2, 3, 4})) == valuesOf(t));
  EXPECT_THAT(errorOf([&] { t.sum_to_size({2, 4}); }),
              ::testing::StartsWith("size {[2, 4]} is not expandable to size {[2, 3, 4]}."));
}

TEST(SumTo, ThreadsDoNotChangeBits) {
  std::vector<Tensor> tensors;
  for (const auto& sizes : std::vector<std::vector<int64_t>>{{1 << 20}, {1000, 1000}, {100000, 7}, {7, 100000}})
    for (const Tensor& t : layoutsOf(randomTensor(sizes, kFloat))) tensors.push_back(t);
  const int before = get_num_threads();
  std::vector<std::vector<double>> first;
  for (const int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    std::vector<std::vector<double>> results;
    for (const Tensor& t : tensors) {
      results.push_back(valuesOf(shunt::sum(t)));
      results.push_back(valuesOf(shunt::sum(t, {0})));
      results.push_back(valuesOf(shunt::mean(t, {-1})));
      results.push_back(valuesOf(shunt::argmax(t)));
    }
    if (first.empty()) first = results;
    EXPECT_EQ(results, first) << threads << " threads";
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace shunt::testing
