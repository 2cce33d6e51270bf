// linalg_solve, linalg_inv and linalg_solve_triangular with their kernels.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/result.h"
#include "kernels/common/view_util.h"
#include "kernels/linalg/factors.h"

#include <shunt/ops.h>
#include <shunt/tensor/expand_utils.h>

namespace shunt::native {
namespace {

/// The part of `sizes` before the matrices.
std::vector<int64_t> batchOf(IntArrayRef sizes) { return {sizes.begin(), sizes.end() - 2}; }

std::vector<int64_t> joined(std::vector<int64_t> batch, std::initializer_list<int64_t> last) {
  batch.insert(batch.end(), last);
  return batch;
}

/// Where the matrix of number `i` of a batch of these sizes begins in a dense batch that is broadcast to it, in
/// matrices.
int64_t placeIn(IntArrayRef dense, IntArrayRef batch, int64_t i) {
  int64_t place = 0, step = 1;
  for (size_t d = 0; d < batch.size(); ++d) {
    const size_t at = batch.size() - 1 - d;
    const int64_t index = i % batch[at];
    i /= batch[at];
    if (d >= dense.size()) continue;
    const int64_t size = dense[dense.size() - 1 - d];
    if (size != 1) place += index * step;
    step *= size;
  }
  return place;
}

/// B is a vector, or a batch of them as A is one of matrices.
bool isOfVectors(const TensorImpl& a, const TensorImpl& b) {
  const IntArrayRef sizes = a.sizes();
  return b.dim() == 1 || (b.dim() + 1 == a.dim() && b.sizes() == IntArrayRef(sizes.data(), sizes.size() - 1));
}

/// "2x3": the matrices' sizes, for messages.
std::string shapeOfMatrices(IntArrayRef sizes) {
  return detail::str(sizes[sizes.size() - 2], "x", sizes[sizes.size() - 1]);
}

void checkRightSides(const char* name, const TensorImpl& a, const TensorImpl& b, bool left) {
  SHUNT_CHECK(b.dim() >= 2, name, ": The input tensor B must have at least 2 dimensions.");
  const IntArrayRef x = a.sizes(), y = b.sizes();
  SHUNT_CHECK(y[left ? y.size() - 2 : y.size() - 1] == x[x.size() - 1], name,
              ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (",
              shapeOfMatrices(x), " and ", shapeOfMatrices(y), ")");
  linalg::checkLapackSize(name, std::max(y[y.size() - 2], y[y.size() - 1]));
}

void checkSameDtype(const char* name, const TensorImpl& a, const TensorImpl& b) {
  SHUNT_CHECK(a.dtype() == b.dtype(), name, ": Expected A and B to have the same dtype, but found A of type ",
              a.dtype(), " and B of type ", b.dtype(), " instead");
}

/// Columns of `x` (column-major, n x k) become the solutions for those of each matrix of the batch.
void solveByFactors(const linalg::Factors& f, bool transposed, const Tensor& x) {
  const TensorImpl& impl = *x.unsafeGetTensorImpl();
  if (!hasData(impl) || x.numel() == 0) return;
  const IntArrayRef sizes = impl.sizes();
  const int64_t n = sizes[sizes.size() - 2], k = sizes[sizes.size() - 1];
  const std::vector<int64_t> batch = batchOf(sizes);
  linalg::dispatchLapackTypes(impl.dtype(), "lu_cpu", [&]<class T>(std::type_identity<T>) {
    const T* lu = f.lu.data_ptr<T>();
    const int32_t* pivots = f.pivots.data_ptr<int32_t>();
    T* right = x.data_ptr<T>();
    for (int64_t i = 0; i < linalg::countBatch(sizes, 2); ++i, right += n * k) {
      const int64_t at = placeIn(f.info.sizes(), batch, i);
      linalg::luSolve(transposed, n, k, lu + at * n * n, pivots + at * n, right);
    }
  });
}

/// In the order of memory that linalg_solve's results have: each matrix by columns, by rows without `left`.
Tensor solution(const linalg::Factors& f, const Tensor& b, bool left) {
  const TensorImpl &lu = *f.lu.unsafeGetTensorImpl(), &right = *b.unsafeGetTensorImpl();
  const std::vector<int64_t> batch = infer_size(batchOf(lu.sizes()), batchOf(right.sizes()));
  const IntArrayRef sizes = right.sizes();
  const int64_t rows = sizes[sizes.size() - 2], columns = sizes[sizes.size() - 1];
  if (left) {
    Tensor x = linalg::copiedByColumns(b, joined(batch, {rows, columns}));
    solveByFactors(f, f.transposed, x);
    return x;
  }
  Tensor x = linalg::copiedByColumns(native::transpose(b, -2, -1), joined(batch, {columns, rows}));
  solveByFactors(f, !f.transposed, x);
  return native::transpose(x, -2, -1);
}

/// The solution for one right side, without the dimension of columns, and as if it were a batch of matrices.
Tensor ofVectors(const Tensor& x) {
  const TensorImpl& impl = *x.unsafeGetTensorImpl();
  const IntArrayRef sizes(impl.sizes().data(), impl.sizes().size() - 1);
  const Tensor vectors = makeView(impl, sizes, IntArrayRef(impl.strides().data(), sizes.size()), 0);
  return linalg::copiedByColumns(vectors, sizes);
}

void checkSolved(const Tensor& info) {
  const int64_t failed = linalg::firstFailed(info);
  if (failed >= 0)
    throw LinAlgError(detail::str("torch.linalg.solve: ", linalg::batchElement(info, failed),
                                  "The solver failed because the input matrix is singular."));
}

void checkInverted(const Tensor& info) {
  const int64_t failed = linalg::firstFailed(info);
  if (failed >= 0)
    throw LinAlgError(detail::str("linalg.inv: ", linalg::batchElement(info, failed), "The diagonal element ",
                                  info.data_ptr<int32_t>()[failed],
                                  " is zero, the inversion could not be completed because the input matrix is "
                                  "singular."));
}

void setIdentity(const Tensor& out) {
  const TensorImpl& impl = *out.unsafeGetTensorImpl();
  if (!hasData(impl)) return;
  const int64_t n = impl.sizes()[impl.sizes().size() - 1];
  zeroBelowAutograd(out);
  linalg::dispatchLapackTypes(impl.dtype(), "lu_cpu", [&]<class T>(std::type_identity<T>) {
    T* matrix = out.data_ptr<T>();
    for (int64_t i = 0; i < linalg::countBatch(impl.sizes(), 2); ++i, matrix += n * n)
      for (int64_t k = 0; k < n; ++k) matrix[k * (n + 1)] = 1;
  });
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> _linalg_solve_ex(const Tensor& A, const Tensor& B, bool left,
                                                            bool check_errors) {
  const TensorImpl &a = implOf(A, "linalg_solve", "A"), &b = implOf(B, "linalg_solve", "B");
  linalg::checkSquare("linalg.solve", a);
  checkSameDtype("linalg.solve", a, b);
  const bool vectors = isOfVectors(a, b);
  const Tensor right = vectors ? native::unsqueeze(B, -1) : B;
  checkRightSides("linalg.solve", a, *right.unsafeGetTensorImpl(), left);
  SHUNT_CHECK(left || !vectors,
              "linalg.solve: Vector broadcasting of the left hand side is not supported for "
              "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  infer_size(batchOf(a.sizes()), batchOf(right.sizes()));  // refuses before the work begins
  const linalg::Factors factors = linalg::factorsOf(A);
  Tensor x = solution(factors, right, left);
  if (vectors) x = ofVectors(x);
  if (check_errors && hasData(a)) checkSolved(factors.info);
  return {x, factors.lu, factors.pivots, factors.info};
}

std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors) {
  const auto results = ops::_linalg_solve_ex::call(A, B, left, check_errors);
  return {std::get<0>(results), std::get<3>(results)};
}

Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) {
  return std::get<0>(ops::_linalg_solve_ex::call(A, B, left, true));
}

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  const TensorImpl& a = implOf(A, "linalg_inv_ex", "A");
  linalg::checkSquare("linalg.inv", a);
  const linalg::Factors factors = linalg::factorsOf(A);
  Tensor inverse = linalg::newByColumns(a, a.sizes(), a.dtype());
  setIdentity(inverse);
  solveByFactors(factors, factors.transposed, inverse);
  if (check_errors && hasData(a)) checkInverted(factors.info);
  return {inverse, factors.info};
}

Tensor linalg_inv(const Tensor& A) { return std::get<0>(ops::linalg_inv_ex::call(A, true)); }

Tensor linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left, bool unitriangular) {
  const TensorImpl &a = implOf(self, "linalg_solve_triangular"), &b = implOf(B, "linalg_solve_triangular", "B");
  linalg::checkSquare("linalg.solve_triangular", a);
  checkRightSides("linalg.solve_triangular", a, b, left);
  checkSameDtype("linalg.solve_triangular", a, b);
  const std::vector<int64_t> batch = infer_size(batchOf(a.sizes()), batchOf(b.sizes()));
  const int64_t rows = b.sizes()[b.sizes().size() - 2], columns = b.sizes()[b.sizes().size() - 1];
  // The factor as it lies in memory where that is by rows or by columns, without gaps; of row-major ones the
  // transposed.
  const bool by_rows = a.is_contiguous();
  const Tensor factor = by_rows ? self : linalg::copiedByColumns(self, a.sizes());
  const int64_t n = a.sizes()[a.sizes().size() - 1];
  Tensor x = linalg::copiedByColumns(B, joined(batch, {rows, columns}));
  linalg::dispatchLapackTypes(a.dtype(), "triangular_solve_cpu", [&]<class T>(std::type_identity<T>) {
    if (!hasData(a) || x.numel() == 0) return;
    const linalg::Triangle triangle{left, by_rows != upper, unitriangular, by_rows};
    const T* matrix = factor.data_ptr<T>();
    T* right = x.data_ptr<T>();
    const std::vector<int64_t> own = batchOf(a.sizes());
    for (int64_t i = 0; i < linalg::countBatch(x.sizes(), 2); ++i, right += rows * columns)
      linalg::triangularSolve(triangle, rows, columns, matrix + placeIn(own, batch, i) * n * n, right);
  });
  return x;
}

}  // namespace shunt::native
