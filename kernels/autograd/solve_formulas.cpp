// Gradients of factors, determinants, inverses and solutions of linear equations: formulas.h.
//
// Where a formula solves equations of its own it ignores info: the forward call has said what there was to say, and of
// a singular matrix infinities and NaNs come out, as in the result.
#include "kernels/autograd/formulas.h"

namespace shunt::autograd {
namespace {

Tensor turned(const Tensor& t) { return t.transpose(-2, -1); }

Tensor inverseOf(const Tensor& t) { return std::get<0>(ops::linalg_inv_ex::call(t, false)); }

Tensor perMatrix(const Tensor& t) { return t.unsqueeze(-1).unsqueeze(-1); }

Tensor identityLike(const Tensor& matrices) {
  return eye(matrices.size(-1), matrices.options()).expand(matrices.sizes());
}

/// The adjugates of matrices of which `det` is 0.
///
/// Note [The adjugate of a singular matrix]
/// Bordered by a column b and a row c, [[A, b], [c, 0]] = M has an inverse [[E, x], [y, z]] where A has one, and also
/// where A's rank is one less than full, unless b or c happens to lie in the range. adj(A) = det(A) E - det(M) x y: for
/// regular A that follows from M's block form, and both sides are polynomials of A over powers of det(M), so it holds
/// for singular A, too, together with its derivatives. Of less rank M has no inverse, and both adj(A) and det(M)
/// are 0; that adj(A) then changes to first order where the rank is two less, the formula doesn't see.
/// b and c are 2 + sin(1), 2 + sin(2), ...: no combination of them with algebraic coefficients is 0.
Tensor adjugateOfSingular(const Tensor& A, const Tensor& det) {
  const int64_t n = A.size(-1);
  std::vector<int64_t> sizes = A.sizes().vec();
  sizes.back() = 1;
  const Tensor generic = arange(1, n + 1, A.options()).sin().add(2);
  const Tensor column = generic.unsqueeze(-1).expand(sizes), zero = zeros({1}, A.options());
  sizes[sizes.size() - 2] = 1;
  const Tensor corner = zero.expand(sizes);
  const Tensor bordered = cat({cat({A, column}, -1), cat({turned(column), corner}, -1)}, -2);
  const Tensor det_bordered = linalg_det(bordered), none = perMatrix(det_bordered.eq(0));
  const Tensor inverse = inverseOf(where(none, identityLike(bordered), bordered));
  const Tensor top = inverse.narrow(-2, 0, n), left = inverse.narrow(-2, n, 1).narrow(-1, 0, n);
  const Tensor outer = perMatrix(det_bordered).mul(top.narrow(-1, n, 1)).mul(left);
  return perMatrix(det).mul(top.narrow(-1, 0, n)).sub(outer);
}

}  // namespace

Tensor linalg_det_backward(const Tensor& grad, const Tensor& det, const Tensor& A) {
  if (A.numel() == 0) return zeros_like(A);
  // Each formula sees the identity in place of matrices that are the other's: what isn't chosen has finite gradients.
  const Tensor singular = perMatrix(det.eq(0)), identity = identityLike(A);
  const Tensor regular = perMatrix(det).mul(inverseOf(where(singular, identity, A)));
  const Tensor adjugate = where(singular, adjugateOfSingular(where(singular, A, identity), det), regular);
  return perMatrix(grad).mul(turned(adjugate));
}

Tensor linalg_slogdet_backward(const Tensor& grad, const Tensor& A) {
  if (!grad.defined()) return zeros_like(A);
  return perMatrix(grad).mul(turned(inverseOf(A)));
}

Tensor linalg_cholesky_backward(const Tensor& grad, bool upper, const Tensor& factor) {
  const Tensor lower = upper ? turned(factor) : factor;
  const Tensor products = turned(lower).matmul(upper ? turned(grad) : grad);
  // The lower triangle with half of the diagonal, and its mirror image: a symmetric S, and L^-T S L^-1.
  const Tensor half = products.tril().add(products.tril(-1)).mul(0.5);
  const Tensor symmetric = half.add(turned(half)).mul(0.5);
  const Tensor solved = linalg_solve_triangular(turned(lower), symmetric, true);
  return linalg_solve_triangular(lower, solved, false, false);
}

Tensor linalg_inv_backward(const Tensor& grad, const Tensor& inverse) {
  return turned(inverse).matmul(grad).matmul(turned(inverse)).neg();
}

std::tuple<Tensor, Tensor> linalg_solve_backward(const Tensor& grad, const Tensor& result, const Tensor& A,
                                                 IntArrayRef B_sizes, bool left, std::array<bool, 2> wanted) {
  const IntArrayRef sizes = A.sizes();
  const bool vectors = B_sizes.size() == 1 ||
                       (B_sizes.size() + 1 == sizes.size() && B_sizes == IntArrayRef(sizes.data(), sizes.size() - 1));
  const Tensor of_x = vectors ? grad.unsqueeze(-1) : grad, x = vectors ? result.unsqueeze(-1) : result;
  const Tensor of_b = std::get<0>(ops::_linalg_solve_ex::call(turned(A), of_x, left, false));
  Tensor of_a;
  if (wanted[0]) of_a = (left ? of_b.matmul(turned(x)) : turned(x).matmul(of_b)).neg();
  return {of_a, !wanted[1] ? Tensor() : vectors ? of_b.squeeze(-1) : of_b};
}

std::tuple<Tensor, Tensor> linalg_solve_triangular_backward(const Tensor& grad, const Tensor& A, const Tensor& result,
                                                            bool upper, bool left, bool unitriangular,
                                                            std::array<bool, 2> wanted) {
  const Tensor of_b = linalg_solve_triangular(turned(A), grad, !upper, left, unitriangular);
  Tensor of_a;
  if (wanted[0]) {
    const Tensor whole = (left ? of_b.matmul(turned(result)) : turned(result).matmul(of_b)).neg();
    const int64_t diagonal = unitriangular ? 1 : 0;
    of_a = upper ? whole.triu(diagonal) : whole.tril(-diagonal);
  }
  return {of_a, wanted[1] ? of_b : Tensor()};
}

}  // namespace shunt::autograd
