// Matrix products of 16-bit types: sums in float and one rounding, whichever code the CPU gets; the same bits
// interpreted, in thunks, in batches, on threads and in children. It runs once more for each kind of CPU that the
// libraries tell apart.
#include "kernels/linalg/gemm.h"

#include <shunt/jit/jit.h>

#include <gtest/gtest.h>

#include "tests/reduce/reference.h"

#include <sys/wait.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace shunt::testing {
namespace {

const std::vector<ScalarType> kTypes = {kBFloat16, kHalf};

/// Half a unit in the last place, relative, and half of the smallest denormal.
double relativeRounding(ScalarType type) { return epsilonOf(type) / 2; }
double absoluteRounding(ScalarType type) { return type == kHalf ? 0x1p-25 : 0x1p-134; }

/// Whether each element is alpha * a * b + beta * c, summed in float in any order and rounded once. c may be undefined.
::testing::AssertionResult isProduct(const Tensor& got, const Tensor& a, const Tensor& b, const Tensor& c = {},
                                     double beta = 0, double alpha = 1) {
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  if (got.sizes() != IntArrayRef({m, n})) return ::testing::AssertionFailure() << "sizes " << got.sizes();
  const ScalarType type = got.scalar_type();
  std::vector<double> x = valuesOf(a), y = valuesOf(b.t());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t l = 0; l < k; ++l) {
        const double product = x[static_cast<size_t>(i * k + l)] * y[static_cast<size_t>(j * k + l)];
        sum += product;
        magnitude += std::abs(product);
      }
      const double added = c.defined() ? beta * valueAt(c, {i, j}) : 0;
      const double exact = alpha * sum + added;
      const double in_float = (std::abs(alpha) * magnitude + std::abs(added)) * static_cast<double>(k + 3) * 0x1p-24;
      const double allowed = in_float + relativeRounding(type) * (std::abs(exact) + in_float) + absoluteRounding(type);
      if (!(std::abs(valueAt(got, {i, j}) - exact) <= allowed))
        return ::testing::AssertionFailure() << "element " << i << ", " << j << " is " << valueAt(got, {i, j})
                                             << ", expected " << exact << " within " << allowed;
    }
  return ::testing::AssertionSuccess();
}

std::string bytesOf(const Tensor& t) {
  const Tensor flat = t.contiguous();
  return {static_cast<const char*>(flat.data_ptr()), static_cast<size_t>(flat.numel() * flat.element_size())};
}

struct Size {
  int64_t m, k, n;
};
// The last two: columns in several panels, and rows in several blocks.
const std::vector<Size> kSizes = {{1, 1, 1},    {8, 8, 8},      {1, 64, 10},    {64, 1, 64},
                                  {17, 5, 3},   {64, 200, 32},  {1, 17, 1},     {33, 65, 17},
                                  {1, 17, 300}, {128, 784, 10}, {2, 17000, 70}, {700, 130, 190}};

TEST(Products16, AreSumsInFloatRoundedOnce) {
  for (const ScalarType type : kTypes)
    for (const Size& s : kSizes) {
      const bool small = s.m * s.k * s.n < 1 << 20;
      for (const Tensor& a : layoutsOf(randomTensor({s.m, s.k}, type)))
        for (const Tensor& b : layoutsOf(randomTensor({s.k, s.n}, type, 2))) {
          if (!small && a.is_contiguous() && !b.is_contiguous()) continue;  // the reference is slow
          SCOPED_TRACE(::testing::Message() << type << ' ' << a.sizes() << a.strides() << b.sizes() << b.strides());
          EXPECT_TRUE(isProduct(shunt::mm(a, b), a, b));
          const Tensor c = randomTensor({s.m, s.n}, type, 3);
          if (small || s.m == 2) EXPECT_TRUE(isProduct(shunt::addmm(c, a, b, 0.7, -1.3), a, b, c, 0.7, -1.3));
        }
    }
}

// Where the product and C cancel, a product rounded before C is added shows.
TEST(Products16, AreNotRoundedBeforeTheSum) {
  for (const ScalarType type : kTypes)
    for (const int64_t k : {4, 64, 300}) {
      const Tensor a = randomTensor({20, k}, type), b = randomTensor({k, 30}, type, 2);
      for (const double beta : {-1.0, 0.25})
        for (const double alpha : {1.0, 0.3, 3.0}) {
          const Tensor c = shunt::mm(a, b).mul(-alpha / beta).contiguous();
          EXPECT_TRUE(isProduct(shunt::addmm(c, a, b, beta, alpha), a, b, c, beta, alpha))
              << type << k << ' ' << beta << alpha;
          Tensor in_place = c.clone();
          in_place.addmm_(a, b, beta, alpha);
          EXPECT_TRUE(isProduct(in_place, a, b, c, beta, alpha));
        }
    }
}

TEST(Products16, WithoutColumnsOrAlphaAreScaledC) {
  for (const ScalarType type : kTypes) {
    const Tensor c = randomTensor({5, 6}, type);
    const Tensor none_a = shunt::empty({5, 0}, type), none_b = shunt::empty({0, 6}, type);
    EXPECT_TRUE(isProduct(shunt::mm(none_a, none_b), none_a, none_b));
    EXPECT_TRUE(isProduct(shunt::addmm(c, none_a, none_b, 0.3), none_a, none_b, c, 0.3));
    const Tensor a = randomTensor({5, 7}, type), b = randomTensor({7, 6}, type, 2);
    EXPECT_TRUE(isProduct(shunt::addmm(c, a, b, 0.3, 0), a, b, c, 0.3, 0));
  }
}

TEST(Products16, CarryInfinitiesAndNans) {
  for (const ScalarType type : kTypes) {
    Tensor a = shunt::ones({3, 4}, type), b = shunt::ones({4, 20}, type);
    a.select(0, 0).fill_(std::numeric_limits<double>::infinity());
    a.select(0, 1).fill_(std::nan(""));
    const std::vector<double> got = valuesOf(shunt::mm(a, b));
    for (size_t j = 0; j < 20; ++j) {
      EXPECT_EQ(got[j], std::numeric_limits<double>::infinity());
      EXPECT_TRUE(std::isnan(got[20 + j]));
      EXPECT_EQ(got[40 + j], 4);
    }
    const Tensor nans = shunt::full({3, 20}, std::nan(""), type);
    EXPECT_EQ(bytesOf(shunt::addmm(nans, a, b, 0)), bytesOf(shunt::mm(a, b))) << "beta = 0 reads no C";
  }
}

/// The bits of one product of each kind.
std::string everyKind(ScalarType type) {
  const Tensor a = randomTensor({24, 40}, type), b = randomTensor({40, 18}, type, 2),
               c = randomTensor({24, 18}, type, 3);
  std::string bits = bytesOf(shunt::mm(a, b)) + bytesOf(shunt::addmm(c, a, b, 0.5, 2)) +
                     bytesOf(shunt::mv(a, b.select(1, 3))) + bytesOf(shunt::linear(a, b.t(), c.select(0, 1))) +
                     bytesOf(shunt::matmul(a, b));
  const Tensor left = a.unsqueeze(0).expand({3, 24, 40}), right = b.unsqueeze(0).expand({3, 40, 18});
  bits += bytesOf(shunt::bmm(left, right)) +
          bytesOf(shunt::baddbmm(c.unsqueeze(0).expand({3, 24, 18}), left, right, 0.5, 2));
  const Tensor large = randomTensor({600, 200}, type), wide = randomTensor({200, 150}, type, 2);
  return bits + bytesOf(shunt::mm(large, wide));
}

TEST(Products16, BitsAreTheSameEverywhere) {
  for (const ScalarType type : kTypes) {
    const std::string expected = everyKind(type);
    std::string on_thread;
    std::thread([&] { on_thread = everyKind(type); }).join();
    EXPECT_EQ(on_thread, expected);
    const int before = get_num_threads();
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      EXPECT_EQ(everyKind(type), expected) << threads;
    }
    set_num_threads(before);
    const pid_t child = fork();
    if (child == 0) _exit(everyKind(type) == expected ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

TEST(Products16, BitsAreTheSameInThunks) {
  if (!jit::enabled()) GTEST_SKIP() << "without the compiler";
  for (const ScalarType type : kTypes) {
    jit::set_enabled(false);
    const std::string expected = everyKind(type);
    jit::set_enabled(true);
    for (int i = 0; i < 40; ++i) ASSERT_EQ(everyKind(type), expected) << i;
    jit::wait_idle();
    const uint64_t before = jit::calls_in_thunks();
    EXPECT_EQ(everyKind(type), expected);
    EXPECT_EQ(jit::calls_in_thunks() > before, jit::stats().available) << "of those that are hot after 16 calls";
  }
}

/// oneDNN multiplies bfloat16 on CPUs with AVX-512 only, and may be held lower.
bool expectsOneDnn() {
  const char* held = std::getenv("ONEDNN_MAX_CPU_ISA");
  return __builtin_cpu_supports("avx512bw") && (held == nullptr || std::strncmp(held, "AVX512", 6) == 0);
}

TEST(Products16, OneDnnTakesThoseThatItHasCodeFor) { EXPECT_EQ(linalg::oneDnnMultipliesBFloat16(), expectsOneDnn()); }

}  // namespace
}  // namespace shunt::testing
