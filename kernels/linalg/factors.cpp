// linalg_det, linalg_slogdet and linalg_cholesky with their kernels, and what factors.h declares.
#include "kernels/linalg/factors.h"

#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/result.h"
#include "kernels/common/view_util.h"

#include <shunt/elementwise/math/log.h>
#include <shunt/ops.h>

#include <cmath>
#include <utility>

namespace shunt::linalg {

void checkSquare(const char* name, const TensorImpl& a) {
  SHUNT_CHECK(a.dim() >= 2, name, ": The input tensor A must have at least 2 dimensions.");
  const IntArrayRef sizes = a.sizes();
  const int64_t rows = sizes[sizes.size() - 2], columns = sizes[sizes.size() - 1];
  SHUNT_CHECK(rows == columns, name, ": A must be batches of square matrices, but they are ", rows, " by ", columns,
              " matrices");
  SHUNT_CHECK(isFloatingType(a.dtype()), name, ": Expected a floating point or complex tensor as input. Got ",
              a.dtype());
  checkLapackSize(name, rows);
}

Tensor newByColumns(const TensorImpl& like, IntArrayRef sizes, ScalarType dtype) {
  std::vector<int64_t> turned = sizes.vec(), strides(sizes.size());
  const bool matrices = sizes.size() >= 2;
  if (matrices) std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  native::contiguousStrides(turned, strides.data());
  if (matrices) std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return Tensor(detail::makeTensor(sizes, strides, dtype, like.device()));
}

Tensor copiedByColumns(const Tensor& t, IntArrayRef sizes) {
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  Tensor copy = newByColumns(impl, sizes, impl.dtype());
  if (native::hasData(impl) && copy.numel() != 0) native::copyBelowAutograd(copy, t);
  return copy;
}

int64_t countBatch(IntArrayRef sizes, size_t dims) {
  int64_t count = 1;
  for (size_t i = 0; i + dims < sizes.size(); ++i) count *= sizes[i];
  return count;
}

Factors factorsOf(const Tensor& a) {
  const TensorImpl& impl = *a.unsafeGetTensorImpl();
  const IntArrayRef sizes = impl.sizes();
  const size_t batch_dims = sizes.size() - 2;
  const int64_t n = sizes[batch_dims];
  Factors f;
  f.transposed = impl.is_contiguous();
  f.lu = copiedByColumns(f.transposed ? native::transpose(a, -2, -1) : a, sizes);
  f.pivots = native::newResult(impl, IntArrayRef(sizes.data(), batch_dims + 1), kInt);
  f.info = native::newResult(impl, IntArrayRef(sizes.data(), batch_dims), kInt);
  dispatchLapackTypes(impl.dtype(), "lu_cpu", [&]<class T>(std::type_identity<T>) {
    if (!native::hasData(impl)) return;
    T* matrix = f.lu.data_ptr<T>();
    LapackInt *pivots = f.pivots.data_ptr<int32_t>(), *info = f.info.data_ptr<int32_t>();
    for (int64_t i = 0; i < f.info.numel(); ++i) info[i] = n == 0 ? 0 : luFactor(n, matrix + i * n * n, pivots + i * n);
  });
  return f;
}

int64_t firstFailed(const Tensor& info) {
  const int32_t* values = info.data_ptr<int32_t>();
  for (int64_t i = 0; i < info.numel(); ++i)
    if (values[i] != 0) return i;
  return -1;
}

std::string batchElement(const Tensor& info, int64_t element) {
  return info.dim() == 0 ? "" : detail::str("(Batch element ", element, "): ");
}

namespace {

/// Calls f(diagonal's elements' reader, odd number of exchanges, matrix' number) for each matrix.
template <class T, class F>
void forEachDiagonal(const Factors& factors, int64_t n, F&& f) {
  const T* matrix = factors.lu.data_ptr<T>();
  const LapackInt* pivots = factors.pivots.data_ptr<int32_t>();
  for (int64_t i = 0; i < factors.info.numel(); ++i, matrix += n * n, pivots += n) {
    bool odd = false;
    for (int64_t k = 0; k < n; ++k) odd ^= pivots[k] != k + 1;
    f([&](int64_t k) { return matrix[k * (n + 1)]; }, odd, i);
  }
}

/// Everything outside of the triangle that holds the factor becomes 0.
template <class T>
void clearOther(bool upper, int64_t n, T* matrix) {
  for (int64_t column = 0; column < n; ++column) {
    const int64_t begin = upper ? column + 1 : 0, end = upper ? n : column;
    for (int64_t row = begin; row < end; ++row) matrix[column * n + row] = 0;
  }
}

void checkPositive(const Tensor& info) {
  const int64_t failed = firstFailed(info);
  if (failed < 0) return;
  throw LinAlgError(detail::str("linalg.cholesky: ", batchElement(info, failed),
                                "The factorization could not be completed because the input is not positive-definite "
                                "(the leading minor of order ",
                                info.data_ptr<int32_t>()[failed], " is not positive-definite)."));
}

}  // namespace
}  // namespace shunt::linalg

namespace shunt::native {

std::tuple<Tensor, Tensor, Tensor> _linalg_det(const Tensor& A) {
  const TensorImpl& a = implOf(A, "linalg_det", "A");
  linalg::checkSquare("linalg.det", a);
  const linalg::Factors factors = linalg::factorsOf(A);
  Tensor det = newResult(a, factors.info.sizes(), a.dtype());
  const int64_t n = a.sizes()[a.sizes().size() - 1];
  linalg::dispatchLapackTypes(a.dtype(), "lu_cpu", [&]<class T>(std::type_identity<T>) {
    if (!hasData(a)) return;
    T* out = det.data_ptr<T>();
    linalg::forEachDiagonal<T>(factors, n, [&](auto&& diagonal, bool odd, int64_t i) {
      T product = odd ? T(-1) : T(1);
      for (int64_t k = 0; k < n; ++k) product *= diagonal(k);
      out[i] = product;
    });
  });
  return {det, factors.lu, factors.pivots};
}

Tensor linalg_det(const Tensor& A) { return std::get<0>(ops::_linalg_det::call(A)); }

std::tuple<Tensor, Tensor, Tensor, Tensor> _linalg_slogdet(const Tensor& A) {
  const TensorImpl& a = implOf(A, "linalg_slogdet", "A");
  linalg::checkSquare("linalg.slogdet", a);
  const linalg::Factors factors = linalg::factorsOf(A);
  Tensor sign = newResult(a, factors.info.sizes(), a.dtype()), logs = newResult(a, factors.info.sizes(), a.dtype());
  const int64_t n = a.sizes()[a.sizes().size() - 1];
  linalg::dispatchLapackTypes(a.dtype(), "lu_cpu", [&]<class T>(std::type_identity<T>) {
    if (!hasData(a)) return;
    T *sign_out = sign.data_ptr<T>(), *log_out = logs.data_ptr<T>();
    linalg::forEachDiagonal<T>(factors, n, [&](auto&& diagonal, bool odd, int64_t i) {
      T s = odd ? T(-1) : T(1), sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        const T d = diagonal(k);
        s *= d > 0 ? T(1) : d < 0 ? T(-1) : d == 0 ? T(0) : d;  // NaN stays
        sum += math::log(std::abs(d));
      }
      sign_out[i] = s;
      log_out[i] = sum;
    });
  });
  return {sign, logs, factors.lu, factors.pivots};
}

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  const auto results = ops::_linalg_slogdet::call(A);
  return {std::get<0>(results), std::get<1>(results)};
}

std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  const TensorImpl& a = implOf(self, "linalg_cholesky_ex");
  linalg::checkSquare("linalg.cholesky", a);
  const IntArrayRef sizes = a.sizes();
  const int64_t n = sizes[sizes.size() - 1];
  Tensor factor = linalg::copiedByColumns(self, sizes);
  Tensor info = newResult(a, IntArrayRef(sizes.data(), sizes.size() - 2), kInt);
  linalg::dispatchLapackTypes(a.dtype(), "cholesky_cpu", [&]<class T>(std::type_identity<T>) {
    if (!hasData(a)) return;
    T* matrix = factor.data_ptr<T>();
    int32_t* failed = info.data_ptr<int32_t>();
    for (int64_t i = 0; i < info.numel(); ++i, matrix += n * n) {
      failed[i] = n == 0 ? 0 : linalg::choleskyFactor(upper, n, matrix);
      linalg::clearOther(upper, n, matrix);
    }
  });
  if (check_errors && hasData(a)) linalg::checkPositive(info);
  return {factor, info};
}

Tensor linalg_cholesky(const Tensor& self, bool upper) {
  return std::get<0>(ops::linalg_cholesky_ex::call(self, upper, true));
}

}  // namespace shunt::native
