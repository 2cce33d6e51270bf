// The operators mm, addmm, bmm, baddbmm with their in-place and out= forms: checks, outputs, the call of gemm.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/result.h"
#include "kernels/common/view_util.h"
#include "kernels/linalg/operands.h"
#include "kernels/wrappers/copy_forms.h"

#include <shunt/core/parallel.h>
#include <shunt/tensor/expand_utils.h>

#include <cstring>

namespace shunt::native {

namespace {

using linalg::GemmScalar;
using linalg::MatrixView;
using linalg::Operand;

/// m x k times k x n, batch times.
struct Shape {
  int64_t batch, m, n, k;
};

/// Calls f(std::type_identity<T>) for the dtypes that products exist for.
template <class F>
void dispatchGemmTypes(ScalarType t, const char* op, F&& f) {
  if (t == kFloat) [[likely]]
    return f(std::type_identity<float>{});
  if (t == kBool) ::shunt::detail::throwNotImplementedFor(op, t);
  dispatchAllTypes(t, op, [&]<class T>(std::type_identity<T> type) {
    if constexpr (!std::is_same_v<T, bool>) f(type);
  });
}

[[noreturn]] SHUNT_COLD void throwShapes(IntArrayRef a, IntArrayRef b) {
  throw Error(
      detail::str("mat1 and mat2 shapes cannot be multiplied (", a[0], "x", a[1], " and ", b[0], "x", b[1], ")"));
}

[[noreturn]] SHUNT_COLD void throwDtypes(const char* op, ScalarType a, ScalarType b, const char* first) {
  throw Error(detail::str(op, ": expected m1 and m2 to have the same dtype, but got: ", a, " != ", b, " (arguments '",
                          first, "' and 'mat2')"));
}

Shape shapeOfMm(const TensorImpl& a, const TensorImpl& b) {
  const IntArrayRef x = a.sizes(), y = b.sizes();
  if (x[1] != y[0]) [[unlikely]]
    throwShapes(x, y);
  return {1, x[0], y[1], x[1]};
}

Shape shapeOfBmm(const TensorImpl& a, const TensorImpl& b) {
  SHUNT_CHECK(a.dim() == 3, "batch1 must be a 3D tensor, got ", a.dim(), "D");
  SHUNT_CHECK(b.dim() == 3, "batch2 must be a 3D tensor, got ", b.dim(), "D");
  const IntArrayRef x = a.sizes(), y = b.sizes();
  SHUNT_CHECK(y[0] == x[0] && y[1] == x[2], "Expected size for first two dimensions of batch2 tensor to be: [", x[0],
              ", ", x[2], "] but got: [", y[0], ", ", y[1], "].");
  return {x[0], x[1], y[2], x[2]};
}

/// C = alpha * A * B + beta * C for each matrix of a batch. C is contiguous.
template <class T>
void multiply(const Shape& s, const Operand& a, const Operand& b, const Scalar& beta, const Scalar& alpha,
              const TensorImpl& c) {
  using A = typename GemmScalar<T>::type;
  const A scale = alpha.to<A>(), keep = beta.to<A>();  // refused for meta tensors, too
  if (!hasData(c)) return;
  linalg::gemmEach<T>(s.batch, s.m, s.n, s.k, scale, a.view<T>(), a.batchStride(), b.view<T>(), b.batchStride(), keep,
                      reinterpret_cast<T*>(c.data()));
}

void multiplyInto(const char* op, const Shape& s, const Tensor& a, const Tensor& b, const Scalar& beta,
                  const Scalar& alpha, const TensorImpl& contiguous_out) {
  const Operand left(a), right(b);
  dispatchGemmTypes(contiguous_out.dtype(), op,
                    [&]<class T>(std::type_identity<T>) { multiply<T>(s, left, right, beta, alpha, contiguous_out); });
}

/// out = self, broadcast to out's sizes. The usual case is a row, the bias.
void fillWith(const TensorImpl& out, const Tensor& out_tensor, const Tensor& self) {
  if (!hasData(out)) return;
  const TensorImpl& from = *self.unsafeGetTensorImpl();
  const bool is_row = from.dim() == 1 && out.dim() == 2 && from.numel() == out.sizes()[1] && from.is_contiguous();
  if (!is_row || from.dtype() != out.dtype()) return copyBelowAutograd(out_tensor, self);
  const auto bytes = static_cast<size_t>(from.numel() * from.itemsize());
  if (bytes == 0) return;
  for (int64_t i = 0; i < out.sizes()[0]; ++i)
    std::memcpy(out.data() + static_cast<size_t>(i) * bytes, from.data(), bytes);
}

/// mat1 and mat2 of an operator: checked for everything but the sum's `self`.
struct Product {
  const char* op;
  const Tensor& a;
  const Tensor& b;
  bool batched;
  Shape shape;
  ScalarType dtype;
};

Product checkedMm(const char* op, const Tensor& a, const Tensor& b) {
  const TensorImpl& x = implOf(a, op);
  const TensorImpl& y = implOf(b, op, "mat2");
  SHUNT_CHECK(x.dim() == 2, "self must be a matrix, got ", x.dim(), "-D tensor");
  SHUNT_CHECK(y.dim() == 2, "mat2 must be a matrix, got ", y.dim(), "-D tensor");
  const Shape s = shapeOfMm(x, y);
  if (x.dtype() != y.dtype()) [[unlikely]]
    throwDtypes(op, x.dtype(), y.dtype(), "self");
  return {op, a, b, false, s, x.dtype()};
}

Product checkedBmm(const char* op, const Tensor& a, const Tensor& b, const char* first, const char* second) {
  const TensorImpl& x = implOf(a, op, first);
  const TensorImpl& y = implOf(b, op, second);
  const Shape s = shapeOfBmm(x, y);
  SHUNT_CHECK(x.dtype() == y.dtype(), "expected scalar type ", x.dtype(), " but found ", y.dtype(), " (arguments '",
              first, "' and '", second, "' need one dtype)");
  return {op, a, b, true, s, x.dtype()};
}

Product checkedAddmm(const char* op, const Tensor& self, const Tensor& a, const Tensor& b, bool batched) {
  const TensorImpl& added = implOf(self, op);
  if (batched) {
    const Product p = checkedBmm(op, a, b, "batch1", "batch2");
    SHUNT_CHECK(added.dtype() == p.dtype, "Input dtypes must be the same, got: input ", added.dtype(),
                ", batch1: ", p.dtype, ", batch2: ", p.dtype);
    return p;
  }
  const TensorImpl& x = implOf(a, op, "mat1");
  const TensorImpl& y = implOf(b, op, "mat2");
  SHUNT_CHECK(x.dim() == 2, "mat1 must be a matrix, got ", x.dim(), "-D tensor");
  SHUNT_CHECK(y.dim() == 2, "mat2 must be a matrix, got ", y.dim(), "-D tensor");
  const Shape s = shapeOfMm(x, y);
  if (x.dtype() != y.dtype()) [[unlikely]]
    throwDtypes(op, x.dtype(), y.dtype(), "mat1");
  SHUNT_CHECK(added.dtype() == x.dtype(), op,
              ": expected self to have the same dtype as mat1 and mat2, but got: ", added.dtype(), " != ", x.dtype());
  return {op, a, b, false, s, x.dtype()};
}

Tensor newOutput(const Product& p) {
  const int64_t sizes[] = {p.shape.batch, p.shape.m, p.shape.n};
  return newResult(*p.a.unsafeGetTensorImpl(), p.batched ? IntArrayRef(sizes, 3) : IntArrayRef(sizes + 1, 2), p.dtype);
}

Tensor plainProduct(const Product& p) {
  Tensor out = newOutput(p);
  multiplyInto(p.op, p.shape, p.a, p.b, 0, 1, *out.unsafeGetTensorImpl());
  return out;
}

/// Without a product a batched sum is beta times self, under the rules of that multiplication.
void checkBeta(const Product& p, const Scalar& beta) {
  const bool multiplies =
      p.batched && p.shape.k == 0 && p.shape.batch * p.shape.m * p.shape.n != 0 && beta.toDouble() != 0;
  SHUNT_CHECK(!multiplies || !beta.isFloatingPoint() || isFloatingType(p.dtype), "result type ", get_default_dtype(),
              " can't be cast to the desired output type ", p.dtype);
}

Tensor sumWithProduct(const Product& p, const Tensor& self, const Scalar& beta, const Scalar& alpha) {
  checkBeta(p, beta);
  Tensor out = newOutput(p);
  const TensorImpl& impl = *out.unsafeGetTensorImpl();
  if (!is_expandable_to(self.sizes(), impl.sizes())) ops::expand::call(self, impl.sizes(), false);  // throws
  if (beta.toDouble() != 0) fillWith(impl, out, self);
  multiplyInto(p.op, p.shape, p.a, p.b, beta, alpha, impl);
  return out;
}

/// Whether a product may be written straight into `out`.
bool isDirect(const Tensor& out, const Product& p) {
  if (!out.defined()) return false;
  const TensorImpl& impl = *out.unsafeGetTensorImpl();
  const int64_t sizes[] = {p.shape.batch, p.shape.m, p.shape.n};
  return impl.device() == p.a.device() && impl.dtype() == p.dtype && impl.is_contiguous() &&
         impl.sizes() == (p.batched ? IntArrayRef(sizes, 3) : IntArrayRef(sizes + 1, 2)) && !out.is_alias_of(p.a) &&
         !out.is_alias_of(p.b);
}

Tensor& productOut(const Product& p, Tensor& out) {
  if (!isDirect(out, p)) return wrappers::copyToOut(p.op, out, plainProduct(p));
  multiplyInto(p.op, p.shape, p.a, p.b, 0, 1, *out.unsafeGetTensorImpl());
  return out;
}

Tensor& sumOut(const Product& p, const Tensor& self, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  if (!isDirect(out, p) || out.is_alias_of(self) || !is_expandable_to(self.sizes(), out.sizes()))
    return wrappers::copyToOut(p.op, out, sumWithProduct(p, self, beta, alpha));
  checkBeta(p, beta);
  const TensorImpl& impl = *out.unsafeGetTensorImpl();
  if (beta.toDouble() != 0) fillWith(impl, out, self);
  multiplyInto(p.op, p.shape, p.a, p.b, beta, alpha, impl);
  return out;
}

Tensor& sumInPlace(const Product& p, Tensor& self, const Scalar& beta, const Scalar& alpha) {
  if (!isDirect(self, p)) return wrappers::copyInplace(p.op, self, sumWithProduct(p, self, beta, alpha));
  checkBeta(p, beta);
  multiplyInto(p.op, p.shape, p.a, p.b, beta, alpha, *self.unsafeGetTensorImpl());
  return self;
}

}  // namespace

Tensor mm(const Tensor& self, const Tensor& mat2) { return plainProduct(checkedMm("mm", self, mat2)); }
Tensor& mm_out(const Tensor& self, const Tensor& mat2, Tensor& out) {
  return productOut(checkedMm("mm", self, mat2), out);
}

Tensor bmm(const Tensor& self, const Tensor& mat2) {
  return plainProduct(checkedBmm("bmm", self, mat2, "self", "mat2"));
}
Tensor& bmm_out(const Tensor& self, const Tensor& mat2, Tensor& out) {
  return productOut(checkedBmm("bmm", self, mat2, "self", "mat2"), out);
}

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  return sumWithProduct(checkedAddmm("addmm", self, mat1, mat2, false), self, beta, alpha);
}
Tensor& addmm_(Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  return sumInPlace(checkedAddmm("addmm_", self, mat1, mat2, false), self, beta, alpha);
}
Tensor& addmm_out(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha,
                  Tensor& out) {
  return sumOut(checkedAddmm("addmm", self, mat1, mat2, false), self, beta, alpha, out);
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  return sumWithProduct(checkedAddmm("baddbmm", self, batch1, batch2, true), self, beta, alpha);
}
Tensor& baddbmm_(Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha) {
  return sumInPlace(checkedAddmm("baddbmm_", self, batch1, batch2, true), self, beta, alpha);
}
Tensor& baddbmm_out(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
                    const Scalar& alpha, Tensor& out) {
  return sumOut(checkedAddmm("baddbmm", self, batch1, batch2, true), self, beta, alpha, out);
}

}  // namespace shunt::native
