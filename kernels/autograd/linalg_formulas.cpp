// Gradients of matrix products: formulas.h.
#include "kernels/autograd/formulas.h"

namespace shunt::autograd {
namespace {

Tensor like(const Tensor& saved, const Tensor& grad) {
  return saved.scalar_type() == grad.scalar_type() ? saved : saved.to(grad.scalar_type());
}

}  // namespace

Tensor mm_mat1_backward(const Tensor& grad, const Tensor& mat2, const Scalar& alpha) {
  return maybe_multiply(grad.mm(like(mat2, grad).t()), alpha);
}

Tensor mm_mat2_backward(const Tensor& grad, const Tensor& mat1, IntArrayRef strides, const Scalar& alpha) {
  const Tensor saved = like(mat1, grad);
  // mat2 is often a transposed weight (linear): computed transposed, its gradient lies in memory as the weight does,
  // and the accumulator can keep it without a copy.
  const bool transposed = strides[0] == 1 && strides[1] == saved.size(1) && saved.size(1) > 1;
  return maybe_multiply(transposed ? grad.t().mm(saved).t() : saved.t().mm(grad), alpha);
}

Tensor bmm_mat1_backward(const Tensor& grad, const Tensor& mat2, const Scalar& alpha) {
  return maybe_multiply(grad.bmm(like(mat2, grad).transpose(1, 2)), alpha);
}

Tensor bmm_mat2_backward(const Tensor& grad, const Tensor& mat1, const Scalar& alpha) {
  return maybe_multiply(like(mat1, grad).transpose(1, 2).bmm(grad), alpha);
}

Tensor mv_self_backward(const Tensor& grad, const Tensor& vec) { return grad.outer(like(vec, grad)); }

Tensor mv_vec_backward(const Tensor& grad, const Tensor& self) { return like(self, grad).t().mv(grad); }

Tensor dot_backward(const Tensor& grad, const Tensor& other) { return grad.mul(like(other, grad)); }

}  // namespace shunt::autograd
