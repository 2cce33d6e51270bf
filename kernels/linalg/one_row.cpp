#include "kernels/linalg/one_row.h"

#include "kernels/linalg/blas.h"
#include "kernels/linalg/one_row_table.h"
#include "kernels/linalg/row_dots.h"
#include "kernels/linalg/small_gemm.h"

#include <shunt/core/isa.h>

#include <algorithm>
#include <bit>

namespace shunt::linalg {

namespace {

int bucketOf(int64_t size) {
  return std::min(static_cast<int>(std::bit_width(static_cast<uint64_t>(size))) - 1, kRowBuckets - 1);
}

RowChoice choiceFor(int64_t n, int64_t k, bool b_transposed, bool is_double) {
  const RowGrid& grid = rowTableFor(kernelsOfBlas())[is_double][b_transposed];
  return static_cast<RowChoice>(grid[bucketOf(n)][bucketOf(k)]);
}

RowEngine firstOf(RowChoice c) {
  switch (c) {
    case RowChoice::kSmallOrGemv:
    case RowChoice::kSmallOrGemm:
      return RowEngine::kSmall;
    case RowChoice::kDotsOrGemv:
    case RowChoice::kDotsOrGemm:
      return RowEngine::kDots;
    case RowChoice::kGemv:
      return RowEngine::kGemv;
    case RowChoice::kGemm:
      break;
  }
  return RowEngine::kGemm;
}

/// What takes the product where the first one has no way.
RowEngine secondOf(RowChoice c) {
  return c == RowChoice::kSmallOrGemv || c == RowChoice::kDotsOrGemv ? RowEngine::kGemv : RowEngine::kGemm;
}

/// The matrix's transpose times the row's. Not all versions of gemv leave the output unread where beta is 0.
template <class T>
void rowByGemv(int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T beta, T* c) {
  if (beta == 0) std::fill_n(c, n, T(0));
  gemv(n, k, T(1), {b.data, b.ld, !b.transposed}, a.data, a.transposed ? a.ld : 1, beta == 0 ? T(1) : beta, c);
}

/// The same for rows that lie alike: kernels and their bits depend on how an operand is described.
template <class T>
MatrixView<T> plainRow(MatrixView<T> a, int64_t k) {
  return a.transposed && a.ld != 1 ? a : MatrixView<T>{a.data, k, false};
}

template <class T>
bool rowByDots(int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T beta, T* c) {
  return b.transposed && !a.transposed && rowDots(n, k, b.data, b.ld, a.data, beta, c);
}

template <class T>
bool multiplyBy(RowEngine engine, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T beta, T* c) {
  switch (engine) {
    case RowEngine::kSmall:
      return smallRow(n, k, a, b, beta, c);
    case RowEngine::kDots:
      return rowByDots(n, k, a, b, beta, c);
    case RowEngine::kGemv:
      rowByGemv(n, k, a, b, beta, c);
      return true;
    case RowEngine::kGemm:
      break;
  }
  blasGemm(1, n, k, T(1), a, b, beta, c, n);
  return true;
}

template <class T>
void multiply(int64_t n, int64_t k, T alpha, MatrixView<T> a, MatrixView<T> b, T beta, T* c) {
  a = plainRow(a, k);
  if (alpha != 1) [[unlikely]]
    return blasGemm(1, n, k, alpha, a, b, beta, c, n);
  const RowChoice choice = choiceFor(n, k, b.transposed, sizeof(T) == sizeof(double));
  if (!multiplyBy(firstOf(choice), n, k, a, b, beta, c)) multiplyBy(secondOf(choice), n, k, a, b, beta, c);
}

}  // namespace

void multiplyRow(int64_t n, int64_t k, float alpha, MatrixView<float> a, MatrixView<float> b, float beta, float* c) {
  multiply(n, k, alpha, a, b, beta, c);
}
void multiplyRow(int64_t n, int64_t k, double alpha, MatrixView<double> a, MatrixView<double> b, double beta,
                 double* c) {
  multiply(n, k, alpha, a, b, beta, c);
}

bool multiplyRowBy(RowEngine engine, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c) {
  return multiplyBy(engine, n, k, plainRow(a, k), b, 0.0f, c);
}
bool multiplyRowBy(RowEngine engine, int64_t n, int64_t k, MatrixView<double> a, MatrixView<double> b, double* c) {
  return multiplyBy(engine, n, k, plainRow(a, k), b, 0.0, c);
}

RowEngine rowEngine(int64_t n, int64_t k, bool b_transposed, size_t element_size) {
  const RowChoice choice = choiceFor(n, k, b_transposed, element_size == sizeof(double));
  const RowEngine first = firstOf(choice);
  const bool takes = first == RowEngine::kSmall  ? fitsSmallKernel(1, n, k, b_transposed, element_size)
                     : first == RowEngine::kDots ? detail::activeIsa() != Isa::kBaseline
                                                 : true;
  return takes ? first : secondOf(choice);
}

}  // namespace shunt::linalg
