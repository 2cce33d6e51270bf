// Products of one row or one column: values by each engine, that operators take the engine of the table, and that the
// bits depend on nothing but the operands. Once more with each kind of OpenBLAS's kernels that this CPU can run.
#include "kernels/linalg/one_row.h"
#include "kernels/linalg/blas.h"

#include <shunt/core/isa.h>
#include <shunt/core/parallel.h>
#include <shunt/shunt.h>

#include "tests/support/run_command.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace shunt {
namespace {

using linalg::MatrixView;
using linalg::RowEngine;

constexpr RowEngine kEngines[] = {RowEngine::kGemm, RowEngine::kGemv, RowEngine::kSmall, RowEngine::kDots};
const int64_t kSides[] = {1, 2, 3, 7, 8, 16, 17, 31, 64, 100, 128, 257, 1000, 1500};

/// One row of k, and a matrix of k x n, transposed or not, with a gap between its lines.
template <class T>
struct Product {
  Product(int64_t n, int64_t k, bool transposed, int64_t gap, int64_t stride, std::mt19937& random)
      : n(n), k(k), ld((transposed ? k : n) + gap), stride(stride), transposed(transposed) {
    for (std::vector<T>* v : {&row, &matrix}) {
      v->resize(static_cast<size_t>(v == &row ? k * stride : (transposed ? n : k) * ld));
      for (T& x : *v) x = static_cast<T>(static_cast<int>(random() % 2001) - 1000) / 64;
    }
  }
  MatrixView<T> a() const { return {row.data(), stride == 1 ? k : stride, stride != 1}; }
  MatrixView<T> b() const { return {matrix.data(), ld, transposed}; }
  const T& at(int64_t l, int64_t j) const { return matrix[static_cast<size_t>(transposed ? j * ld + l : l * ld + j)]; }
  T& at(int64_t l, int64_t j) { return const_cast<T&>(std::as_const(*this).at(l, j)); }
  T& in(int64_t l) { return row[static_cast<size_t>(l * stride)]; }
  const T& in(int64_t l) const { return row[static_cast<size_t>(l * stride)]; }

  TensorOptions options() const { return TensorOptions(sizeof(T) == sizeof(float) ? kFloat : kDouble); }
  Tensor rowTensor() const { return from_blob(const_cast<T*>(row.data()), {1, k}, {k * stride, stride}, options()); }
  Tensor matrixTensor() const {
    return from_blob(const_cast<T*>(matrix.data()), {k, n}, {transposed ? 1 : ld, transposed ? ld : 1}, options());
  }

  bool isResult(const T* result) const {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t l = 0; l < k; ++l) {
        const double product = static_cast<double>(in(l)) * static_cast<double>(at(l, j));
        sum += product;
        magnitude += std::abs(product);
      }
      const double allowed = magnitude * std::numeric_limits<T>::epsilon() / 2 * static_cast<double>(k + 1);
      if (!(std::abs(static_cast<double>(result[j]) - sum) <= allowed)) return false;
    }
    return true;
  }

  int64_t n, k, ld, stride;
  bool transposed;
  std::vector<T> row, matrix;
};

template <class T>
std::vector<T> valuesOf(const Tensor& t) {
  const T* data = static_cast<const T*>(t.data_ptr());
  return {data, data + t.numel()};
}

template <class T>
bool sameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Calls f(product) for both dtypes, both orders and all sizes.
template <class F>
void forProducts(F&& f) {
  std::mt19937 random(1);
  for (const int64_t n : kSides)
    for (const int64_t k : kSides) {
      if (n * k > 200'000) continue;
      for (const bool transposed : {false, true}) {
        SCOPED_TRACE(testing::Message() << n << " sums of " << k << (transposed ? ", transposed" : ""));
        const auto gap = static_cast<int64_t>(random() % 3);
        const int64_t stride = random() % 4 == 0 ? 3 : 1;
        f(Product<float>(n, k, transposed, gap, stride, random));
        f(Product<double>(n, k, transposed, gap, stride, random));
      }
    }
}

template <class T>
std::vector<T> byEngine(RowEngine engine, const Product<T>& p) {
  std::vector<T> out(static_cast<size_t>(p.n), std::numeric_limits<T>::quiet_NaN());
  if (!linalg::multiplyRowBy(engine, p.n, p.k, p.a(), p.b(), out.data())) out.clear();
  return out;
}

TEST(OneRow, EachEngineGivesTheDefinition) {
  int by_small = 0, by_dots = 0;
  forProducts([&]<class T>(const Product<T>& p) {
    for (const RowEngine engine : kEngines) {
      const std::vector<T> out = byEngine(engine, p);
      if (out.empty()) {
        EXPECT_TRUE(engine == RowEngine::kSmall || engine == RowEngine::kDots) << "those that don't take all";
        continue;
      }
      by_small += engine == RowEngine::kSmall;
      by_dots += engine == RowEngine::kDots;
      EXPECT_TRUE(p.isResult(out.data())) << "engine " << static_cast<int>(engine);
    }
  });
  EXPECT_EQ(by_small > 100, detail::activeIsa() != Isa::kBaseline);
  EXPECT_EQ(by_dots > 100, detail::activeIsa() != Isa::kBaseline);
}

// 0 * inf is NaN, in its sum and in no other.
TEST(OneRow, EachEngineMultipliesZeroes) {
  forProducts([&]<class T>(Product<T> p) {
    const int64_t l = p.k / 2, j = p.n / 2;
    p.in(l) = 0;
    p.at(l, j) = std::numeric_limits<T>::infinity();
    for (const RowEngine engine : kEngines) {
      const std::vector<T> out = byEngine(engine, p);
      for (size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(std::isnan(out[i]), i == static_cast<size_t>(j)) << "engine " << static_cast<int>(engine);
    }
  });
}

TEST(OneRow, OperatorsTakeTheEngineOfTheTable) {
  std::set<RowEngine> taken;
  forProducts([&]<class T>(const Product<T>& p) {
    if (p.n == 1 || p.k == 1) return;  // tensors whose strides say nothing of an order
    if (p.stride != 1) return;
    const RowEngine engine = linalg::rowEngine(p.n, p.k, p.transposed, sizeof(T));
    taken.insert(engine);
    const std::vector<T> expected = byEngine(engine, p);
    const Tensor a = p.rowTensor(), b = p.matrixTensor();
    const Tensor row = a.select(0, 0), column = a.t(), matrix = b.t();
    EXPECT_TRUE(sameBits(valuesOf<T>(shunt::mm(a, b)), expected));
    EXPECT_TRUE(sameBits(valuesOf<T>(shunt::bmm(a.unsqueeze(0), b.unsqueeze(0))), expected));
    EXPECT_TRUE(sameBits(valuesOf<T>(shunt::linear(a, matrix)), expected));
    EXPECT_TRUE(sameBits(valuesOf<T>(shunt::matmul(row, b)), expected));
    EXPECT_TRUE(sameBits(valuesOf<T>(shunt::mv(matrix, row)), expected)) << "a column is a row transposed";
    EXPECT_TRUE(sameBits(valuesOf<T>(shunt::mm(matrix, column)), expected));
  });
  EXPECT_EQ(taken.contains(RowEngine::kDots),
            linalg::kernelsOfBlas() != linalg::BlasKernels::kOther && detail::activeIsa() != Isa::kBaseline);
  EXPECT_EQ(taken.contains(RowEngine::kGemv), linalg::kernelsOfBlas() != linalg::BlasKernels::kOther);
}

TEST(OneRow, SumsWithBetaAndAlpha) {
  forProducts([&]<class T>(const Product<T>& p) {
    const Tensor a = p.rowTensor(), b = p.matrixTensor();
    const Tensor nans = shunt::full({p.n}, NAN, p.options()), ones = shunt::ones({p.n}, p.options());
    const std::vector<T> product = valuesOf<T>(shunt::mm(a, b));
    EXPECT_TRUE(sameBits(valuesOf<T>(shunt::addmm(nans, a, b, 0)), product)) << "beta 0 reads nothing";
    const std::vector<T> sum = valuesOf<T>(shunt::addmm(ones, a, b)),
                         scaled = valuesOf<T>(shunt::addmm(ones, a, b, 0.5, 2));
    double largest = 1;
    for (int64_t l = 0; l < p.k; ++l) largest += 16 * std::abs(static_cast<double>(p.in(l)));
    const double allowed = 4 * largest * std::numeric_limits<T>::epsilon() * static_cast<double>(p.k + 1);
    for (size_t i = 0; i < product.size(); ++i) {
      ASSERT_NEAR(sum[i], 1 + product[i], allowed);
      ASSERT_NEAR(scaled[i], 0.5 + 2 * product[i], allowed);
    }
  });
}

// Nowhere does the intermediate value overflow that the product by definition has not.
TEST(OneRow, AlphaMultipliesTheSum) {
  const Tensor a = shunt::full({1, 40}, 1e20), b = shunt::full({40, 24}, 1e-30), c = shunt::zeros({24});
  for (const Tensor& matrix : {b, b.t().contiguous().t()})
    for (const float v : valuesOf<float>(shunt::addmm(c, a, matrix, 1, 1e30))) EXPECT_NEAR(v, 4e21, 1e16);
}

TEST(OneRow, MayBeEmpty) {
  for (const int64_t n : {0, 5})
    for (const int64_t k : {0, 6}) {
      const Tensor a = shunt::ones({1, k}), b = shunt::ones({k, n}), bias = shunt::ones({n});
      const float sum = static_cast<float>(k);
      for (const float v : valuesOf<float>(shunt::mm(a, b))) EXPECT_EQ(v, sum);
      for (const float v : valuesOf<float>(shunt::addmm(bias, a, b))) EXPECT_EQ(v, 1 + sum);
      for (const float v : valuesOf<float>(shunt::mv(b.t(), a.select(0, 0)))) EXPECT_EQ(v, sum);
    }
}

TEST(OneRow, BitsDependOnTheOperandsAlone) {
  const int before = get_num_threads();
  forProducts([&]<class T>(const Product<T>& p) {
    const auto multiply = [&] { return valuesOf<T>(shunt::mm(p.rowTensor(), p.matrixTensor())); };
    const std::vector<T> expected = multiply();
    for (const size_t offset : {1u, 3u, 5u}) {
      std::vector<T> row(p.row.size() + offset), matrix(p.matrix.size() + offset);
      std::copy(p.row.begin(), p.row.end(), row.begin() + static_cast<ptrdiff_t>(offset));
      std::copy(p.matrix.begin(), p.matrix.end(), matrix.begin() + static_cast<ptrdiff_t>(offset));
      const Tensor a = from_blob(row.data() + offset, {1, p.k}, p.rowTensor().strides(), p.options());
      const Tensor b = from_blob(matrix.data() + offset, {p.k, p.n}, p.matrixTensor().strides(), p.options());
      ASSERT_TRUE(sameBits(valuesOf<T>(shunt::mm(a, b)), expected)) << "moved by " << offset << " elements";
    }
    set_num_threads(3);
    EXPECT_TRUE(sameBits(multiply(), expected));
    set_num_threads(before);
  });
  const Tensor tall = shunt::randn({5000, 4000}), x = shunt::randn({4000});
  set_num_threads(1);
  const std::vector<float> one = valuesOf<float>(shunt::mv(tall, x));
  set_num_threads(4);
  EXPECT_TRUE(sameBits(valuesOf<float>(shunt::mv(tall, x)), one)) << "cut into blocks of rows";
  std::thread([&] { EXPECT_TRUE(sameBits(valuesOf<float>(shunt::mv(tall, x)), one)); }).join();
  set_num_threads(before);
}

TEST(OneRow, HoldsWithEachKindOfKernels) {
  std::vector<std::string> cores = {"Nehalem", "Prescott"};
  if (detail::bestIsa() != Isa::kBaseline) cores.emplace_back("Haswell");
  if (detail::bestIsa() == Isa::kV4) cores.emplace_back("SkylakeX");
  for (const std::string& core : cores) {
    const std::string command = "env OPENBLAS_CORETYPE=" + core + " /proc/" + std::to_string(getpid()) +
                                "/exe --gtest_filter=-*HoldsWithEachKindOfKernels";
    const auto result = test::runCommand(command);
    EXPECT_NE(result.text.find("[  PASSED  ] 7 tests"), std::string::npos) << core << '\n' << result.text;
  }
}

}  // namespace
}  // namespace shunt
