// The products of mm and addmm, as others run them (matrix_product.h).
#include "kernels/linalg/operands.h"

#include <shunt/elementwise/matrix_product.h>

#include <algorithm>

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

std::optional<MatrixProduct> MatrixProduct::of(ScalarType dtype, const MatrixLayout& a, const MatrixLayout& b,
                                               double beta, double alpha) {
  const linalg::Orientation left = orientationOf(a), right = orientationOf(b);
  const bool is_known = dtype == ScalarType::Float || dtype == ScalarType::Double;
  if (!is_known || !left.usable || !right.usable || a.columns != b.rows) return std::nullopt;
  MatrixProduct p;
  p.function_ = dtype == ScalarType::Float ? &multiply<float> : &multiply<double>;
  p.m_ = a.rows;
  p.n_ = b.columns;
  p.k_ = a.columns;
  p.a_stride_ = left.ld;
  p.b_stride_ = right.ld;
  p.a_transposed_ = left.transposed;
  p.b_transposed_ = right.transposed;
  p.beta_ = beta;
  p.alpha_ = alpha;
  return p;
}

}  // namespace shunt::elementwise
