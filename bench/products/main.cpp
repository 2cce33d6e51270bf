// bench_products: measures which library multiplies one row by a matrix fastest, and prints it as the part of
// kernels/linalg/one_row_table.h for the OpenBLAS kernels in use (OPENBLAS_CORETYPE chooses others). Pin it to a core.
#include "bench/jit_settings.h"

#include "kernels/linalg/blas.h"
#include "kernels/linalg/one_row.h"
#include "kernels/linalg/one_row_table.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

namespace {

using namespace shunt::linalg;
using Clock = std::chrono::steady_clock;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kRepeats = 15;
constexpr double kNanosecondsOfRepeat = 2e4;
constexpr int64_t kMostElements = int64_t{1} << 22;  // beyond, what the largest measured size has is right

template <class F>
double nanosecondsOf(F&& f, int calls) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) f();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
}

template <class T>
struct Product {
  Product(int64_t columns, int64_t sum, bool transposed)
      : n(columns),
        k(sum),
        row(static_cast<size_t>(k), T(1)),
        matrix(static_cast<size_t>(n * k), T(0.5)),
        result(static_cast<size_t>(n)),
        a{row.data(), k, false},
        b{matrix.data(), transposed ? k : n, transposed} {}
  bool by(RowEngine engine) { return multiplyRowBy(engine, n, k, a, b, result.data()); }

  int64_t n, k;
  std::vector<T> row, matrix, result;
  MatrixView<T> a, b;
};

using Times = std::array<double, 4>;  // of each engine

/// The least of several repeats, the engines in turns.
template <class T>
Times measure(int64_t n, int64_t k, bool transposed) {
  Product<T> product(n, k, transposed);
  Times best = {kNever, kNever, kNever, kNever};
  for (int repeat = 0; repeat < kRepeats; ++repeat)
    for (size_t e = 0; e < best.size(); ++e) {
      const auto engine = static_cast<RowEngine>(e);
      if (!product.by(engine)) continue;
      const double once = std::max(nanosecondsOf([&] { product.by(engine); }, 1), 10.0);
      const int calls = std::max(1, static_cast<int>(kNanosecondsOfRepeat / once));
      best[e] = std::min(best[e], nanosecondsOf([&] { product.by(engine); }, calls));
    }
  return best;
}

/// gemm where nothing else is a tenth faster, so that the table doesn't follow noise.
char choose(const Times& t) {
  constexpr double kClearly = 0.9;
  const auto of = [&](RowEngine e) { return t[static_cast<size_t>(e)]; };
  const bool by_gemv = of(RowEngine::kGemv) < kClearly * of(RowEngine::kGemm);
  const double best = by_gemv ? of(RowEngine::kGemv) : of(RowEngine::kGemm);
  RowChoice choice = by_gemv ? RowChoice::kGemv : RowChoice::kGemm;
  if (std::min(of(RowEngine::kSmall), of(RowEngine::kDots)) < kClearly * best) {
    if (of(RowEngine::kSmall) < of(RowEngine::kDots))
      choice = by_gemv ? RowChoice::kSmallOrGemv : RowChoice::kSmallOrGemm;
    else
      choice = by_gemv ? RowChoice::kDotsOrGemv : RowChoice::kDotsOrGemm;
  }
  return static_cast<char>(choice);
}

/// Two sizes stand for those from 2^i to 2^(i+1) - 1: a round one and an odd one.
template <class T>
char cellOf(int i, int j, bool transposed, bool verbose) {
  Times sum = {};
  for (const int odd : {0, 1}) {
    const int64_t n = (int64_t{1} << i) + odd * ((int64_t{1} << i) * 3 / 8);
    const int64_t k = (int64_t{1} << j) + odd * ((int64_t{1} << j) * 3 / 8);
    const Times t = measure<T>(n, k, transposed);
    if (verbose)
      std::fprintf(stderr, "%5ld %5ld gemm %8.0f gemv %8.0f small %8.0f dots %8.0f\n", n, k, t[0], t[1], t[2], t[3]);
    for (size_t e = 0; e < sum.size(); ++e) sum[e] += t[e];
  }
  return choose(sum);
}

template <class T>
void printGrid(bool transposed, bool verbose) {
  std::printf("    // %s, the matrix %s; a row of the grid for each n, a column for each k\n    {",
              sizeof(T) == sizeof(float) ? "float" : "double", transposed ? "transposed" : "as it is");
  for (int i = 0; i < kRowBuckets; ++i) {
    char cells[kRowBuckets + 1] = {};
    for (int j = 0; j < kRowBuckets; ++j) {
      const bool measured = (int64_t{1} << (i + j)) <= kMostElements;
      cells[j] = measured ? cellOf<T>(i, j, transposed, verbose) : cells[j - 1];
    }
    std::printf("%s\"%s\"", i == 0 ? "" : i % 6 == 0 ? ",\n     " : ", ", cells);
    std::fflush(stdout);
  }
  std::printf("},\n");
}

}  // namespace

int main(int argc, char** argv) {
  bench::compileAtWill();
  const bool verbose = argc == 2 && std::strcmp(argv[1], "--verbose") == 0;
  std::printf("// OpenBLAS kernels: %s\n", blasCoreName().c_str());
  for (const bool transposed : {false, true}) printGrid<float>(transposed, verbose);
  for (const bool transposed : {false, true}) printGrid<double>(transposed, verbose);
}
