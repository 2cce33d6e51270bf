// The composite operators matmul and outer. They call other operators and nothing else.
#include "generated/native_functions.h"
#include "kernels/wrappers/copy_forms.h"

#include <shunt/autograd/variable_utils.h>
#include <shunt/tensor/expand_utils.h>

namespace shunt::native {

namespace {

/// Whether `big`'s leading dimensions become rows of one matrix, for a product with `other_dim` dimensions. Not where
/// that would move its elements: a batch of transposed matrices.
bool isFolded(const Tensor& big, int64_t other_dim) {
  if (big.dim() < 3 || other_dim > 2) return false;
  const IntArrayRef sizes = big.sizes(), strides = big.strides();
  const bool transposed = big.dim() == 3 && other_dim == 2 && strides[2] != 1 && strides[0] == sizes[1] * sizes[2];
  return !transposed;
}

Tensor foldedMatmul(const Tensor& big, const Tensor& small) {
  const IntArrayRef sizes = big.sizes();
  std::vector<int64_t> result(sizes.begin(), sizes.end() - 1);
  int64_t rows = 1;
  for (const int64_t s : result) rows *= s;
  const Tensor folded = ops::reshape::call(big, {rows, sizes.back()});
  if (small.dim() == 1) return ops::_unsafe_view::call(ops::mv::call(folded, small), result);
  result.push_back(small.size(1));
  return ops::_unsafe_view::call(ops::mm::call(folded, small), result);
}

/// Both are matrices or batches of matrices; batch dimensions broadcast.
Tensor batchedMatmul(const Tensor& a, const Tensor& b) {
  const Tensor left = a.dim() == 1 ? ops::unsqueeze::call(a, 0) : a;
  const Tensor right = b.dim() == 1 ? ops::unsqueeze::call(b, 1) : b;
  const int64_t n = left.size(-2), m1 = left.size(-1), m2 = right.size(-2), p = right.size(-1);
  const IntArrayRef x = left.sizes(), y = right.sizes();
  const std::vector<int64_t> batch = infer_size(x.slice(0, x.size() - 2), y.slice(0, y.size() - 2));
  int64_t count = 1;
  for (const int64_t s : batch) count *= s;
  const auto expanded = [&](const Tensor& t, int64_t rows, int64_t cols) {
    std::vector<int64_t> full = batch;
    full.push_back(rows);
    full.push_back(cols);
    return ops::reshape::call(ops::expand::call(t, full, false), {count, rows, cols});
  };
  const Tensor product = ops::bmm::call(expanded(left, n, m1), expanded(right, m2, p));
  std::vector<int64_t> result = batch;
  if (a.dim() > 1) result.push_back(n);
  if (b.dim() > 1) result.push_back(p);
  return ops::_unsafe_view::call(product, result);
}

}  // namespace

/// Not of two matrices. With a name of its own, so that a thunk of matmul holds the rest and calls this.
SHUNT_NOINLINE Tensor matmulOfOtherDims(const Tensor& self, const Tensor& other) {
  const int64_t a = self.dim(), b = other.dim();
  SHUNT_CHECK(a != 0 && b != 0, "both arguments to matmul need to be at least 1D, but they are ", a, "D and ", b, "D");
  if (a == 1 && b == 1) return ops::dot::call(self, other);
  if (a == 2 && b == 1) return ops::mv::call(self, other);
  if (a == 1 && b == 2) {
    Tensor row = ops::mm::call(ops::unsqueeze::call(self, 0), other);
    return ops::squeeze__dim::call(row, 0);  // in place: the result is no view
  }
  if (isFolded(self, b)) return foldedMatmul(self, other);
  if (isFolded(other, a)) {
    // The transposed product, so that the big operand's rows stay together.
    const Tensor big = ops::transpose_int::call(other, -1, -2);
    if (a == 1) return foldedMatmul(big, self);
    const Tensor product = foldedMatmul(big, ops::t::call(self));
    return ops::contiguous::call(ops::transpose_int::call(product, -1, -2), MemoryFormat::Contiguous);
  }
  return batchedMatmul(self, other);
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  if (self.dim() == 2 && other.dim() == 2) [[likely]]
    return ops::mm::call(self, other);
  return matmulOfOtherDims(self, other);
}

namespace {

/// Whether a result may be written into `out` as it is.
bool fitsInto(const Tensor& out, ScalarType dtype, IntArrayRef sizes) {
  return out.defined() && out.scalar_type() == dtype && out.sizes() == sizes && out.is_contiguous();
}

bool foldedMatmulInto(const Tensor& big, const Tensor& small, const Tensor& out) {
  const IntArrayRef sizes = big.sizes();
  std::vector<int64_t> result(sizes.begin(), sizes.end() - 1);
  int64_t rows = 1;
  for (const int64_t s : result) rows *= s;
  if (small.dim() == 2) result.push_back(small.size(1));
  if (!fitsInto(out, big.scalar_type(), result)) return false;
  const Tensor folded = ops::reshape::call(big, {rows, sizes.back()});
  if (small.dim() == 1) {
    Tensor flat = ops::view::call(out, {rows});
    ops::mv_out::call(folded, small, flat);
  } else {
    Tensor flat = ops::view::call(out, {rows, small.size(1)});
    ops::mm_out::call(folded, small, flat);
  }
  return true;
}

}  // namespace

Tensor& matmul_out(const Tensor& self, const Tensor& other, Tensor& out) {
  SHUNT_CHECK(self.defined() && other.defined() && out.defined(), "matmul(): argument '",
              !self.defined()    ? "self"
              : !other.defined() ? "other"
                                 : "out",
              "' is an undefined tensor; expected one with data");
  if (autograd::compute_requires_grad(self, other, out)) autograd::throw_error_out_requires_grad("matmul");
  const int64_t a = self.dim(), b = other.dim();
  if (a == 2 && b == 2) return ops::mm_out::call(self, other, out);
  if (a == 1 && b == 1) return ops::dot_out::call(self, other, out);
  if (a == 2 && b == 1) return ops::mv_out::call(self, other, out);
  if (b > 0 && isFolded(self, b) && foldedMatmulInto(self, other, out)) return out;
  return wrappers::copyToOut("matmul", out, matmul(self, other));
}

namespace {

Tensor outerColumn(const Tensor& self, const Tensor& vec2) {
  SHUNT_CHECK(self.dim() == 1, "outer: Expected 1-D argument self, but got ", self.dim(), "-D");
  SHUNT_CHECK(vec2.dim() == 1, "outer: Expected 1-D argument vec2, but got ", vec2.dim(), "-D");
  return ops::reshape::call(self, {self.size(0), 1});
}

}  // namespace

Tensor outer(const Tensor& self, const Tensor& vec2) { return ops::mul_Tensor::call(outerColumn(self, vec2), vec2); }
Tensor& outer_out(const Tensor& self, const Tensor& vec2, Tensor& out) {
  return ops::mul_out::call(outerColumn(self, vec2), vec2, out);
}

}  // namespace shunt::native
