// The products of mm and addmm, as others run them (matrix_product.h).
#include "kernels/linalg/one_row.h"
#include "kernels/linalg/operands.h"
#include "kernels/linalg/row_dots.h"
#include "kernels/linalg/small_gemm.h"

#include <shunt/elementwise/matrix_product.h>

#include <algorithm>
#include <utility>

namespace shunt::elementwise {
namespace {

linalg::Orientation orientationOf(const MatrixLayout& m) {
  return linalg::orientationOf(m.rows, m.columns, m.row_stride, m.column_stride);
}

}  // namespace

template <class T>
void MatrixProduct::multiply(const MatrixProduct& p, const std::byte* a, const std::byte* b, std::byte* out) {
  const linalg::MatrixView<T> left = {reinterpret_cast<const T*>(a), p.a_stride_, p.a_transposed_};
  const linalg::MatrixView<T> right = {reinterpret_cast<const T*>(b), p.b_stride_, p.b_transposed_};
  linalg::gemm<T>(p.m_, p.n_, p.k_, static_cast<T>(p.alpha_), left, right, static_cast<T>(p.beta_),
                  reinterpret_cast<T*>(out), std::max<int64_t>(p.n_, 1));
}

template <class T>
void MatrixProduct::multiplyEach(const MatrixProduct& p, const std::byte* a, const std::byte* b, std::byte* out) {
  linalg::gemmEach<T>(p.count_, p.m_, p.n_, p.k_, T(1), {reinterpret_cast<const T*>(a), p.a_stride_, p.a_transposed_},
                      p.a_distance_, {reinterpret_cast<const T*>(b), p.b_stride_, p.b_transposed_}, p.b_distance_, T(0),
                      reinterpret_cast<T*>(out));
}

template <class T>
void MatrixProduct::multiplyByDots(const MatrixProduct& p, const std::byte* a, const std::byte* b, std::byte* out) {
  const auto* row = reinterpret_cast<const T*>(p.of_column_ ? b : a);
  const auto* matrix = reinterpret_cast<const T*>(p.of_column_ ? a : b);
  linalg::rowDots(p.of_column_ ? p.m_ : p.n_, p.k_, matrix, p.of_column_ ? p.a_stride_ : p.b_stride_, row,
                  static_cast<T>(p.beta_), reinterpret_cast<T*>(out));
}

void MatrixProduct::multiplyByKernel(const MatrixProduct& p, const std::byte* a, const std::byte* b, std::byte* out) {
  linalg::runSmallKernel(p.kernel_, p.of_column_ ? b : a, p.of_column_ ? a : b, out);
}

/// Finds what gemm will do with such matrices each time, where that is worth it: kernels of our own, and of LIBXSMM's.
template <class T>
void MatrixProduct::chooseWay() {
  using linalg::RowEngine;
  function_ = &multiply<T>;
  if (m_ == 0 || n_ == 0 || k_ == 0 || alpha_ != 1) return;
  of_column_ = m_ != 1 && n_ == 1;
  const T beta = static_cast<T>(beta_);
  linalg::MatrixView<T> left = {nullptr, a_stride_, a_transposed_}, right = {nullptr, b_stride_, b_transposed_};
  if (of_column_) {
    left.transposed = !left.transposed;
    right.transposed = !right.transposed;
    std::swap(left, right);
  }
  const bool is_row = m_ == 1 || of_column_;
  const int64_t columns = of_column_ ? m_ : n_;
  if (!is_row) {
    if (linalg::isSmallProduct(m_, n_, k_, a_transposed_, b_transposed_, sizeof(T)))
      kernel_ = linalg::keptSmallKernel(m_, n_, k_, T(1), left, right, beta, n_);
  } else if (!left.transposed || left.ld == 1) {
    const RowEngine engine = linalg::rowEngine(columns, k_, right.transposed, sizeof(T));
    if (engine == RowEngine::kDots && right.transposed) function_ = &multiplyByDots<T>;
    if (engine == RowEngine::kSmall)
      kernel_ = linalg::keptSmallKernel(1, columns, k_, T(1), {nullptr, k_, false}, right, beta, columns);
  }
  if (kernel_ != nullptr) function_ = &multiplyByKernel;
}

std::optional<MatrixProduct> MatrixProduct::of(ScalarType dtype, const MatrixLayout& a, const MatrixLayout& b,
                                               double beta, double alpha) {
  const linalg::Orientation left = orientationOf(a), right = orientationOf(b);
  const bool is_known = dtype == ScalarType::Float || dtype == ScalarType::Double;
  if (!is_known || !left.usable || !right.usable || a.columns != b.rows) return std::nullopt;
  MatrixProduct p;
  p.m_ = a.rows;
  p.n_ = b.columns;
  p.k_ = a.columns;
  p.a_stride_ = left.ld;
  p.b_stride_ = right.ld;
  p.a_transposed_ = left.transposed;
  p.b_transposed_ = right.transposed;
  p.beta_ = beta;
  p.alpha_ = alpha;
  dtype == ScalarType::Float ? p.chooseWay<float>() : p.chooseWay<double>();
  return p;
}

std::optional<MatrixProduct> MatrixProduct::ofEach(ScalarType dtype, int64_t count, const MatrixLayout& a,
                                                   int64_t a_distance, const MatrixLayout& b, int64_t b_distance) {
  std::optional<MatrixProduct> p = of(dtype, a, b, 0, 1);
  if (!p || count == 1) return p;
  p->function_ = dtype == ScalarType::Float ? &multiplyEach<float> : &multiplyEach<double>;
  p->count_ = count;
  p->a_distance_ = a_distance;
  p->b_distance_ = b_distance;
  return p;
}

}  // namespace shunt::elementwise
