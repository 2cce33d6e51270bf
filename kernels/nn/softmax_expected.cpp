// softmax as a thunk runs it: for the operands that its plan expects (Note [Expected operands] in
// pointwise/expected.h).
#include "kernels/nn/softmax.h"
#include "kernels/nn/softmax_table.h"

namespace shunt::nn {
namespace {

/// For longer rows the interpreter's loop is as good.
SHUNT_ALWAYS_INLINE bool fits(const rows::Rows& shape) { return shape.worthLoop() && shape.n <= kGroup; }

/// Whether the rows are the last dimension of a tensor as recorded, and of an output like it. A 0-dim tensor is no row.
SHUNT_ALWAYS_INLINE bool takes(const TensorImpl* t, int64_t dim, const TensorImpl* out, bool log) {
  if (!rows::isExpected(t, 0) || uint64_t{log} != rows::kExpected.functor || !rows::isExpected(out, 0)) return false;
  return t->dim() > 0 && (dim == -1 || dim == t->dim() - 1) && fits(rows::Rows(*t, 1));
}

SHUNT_ALWAYS_INLINE rows::Call callOf(const TensorImpl* t, const TensorImpl* out) {
  const rows::Rows shape(*t, 1);
  rows::Call call;
  call.dtype = call.result = rows::expectedDtype(0);
  call.in[0] = rows::dataOf(t, call.dtype);
  call.out[0] = rows::dataOf(out, call.dtype);
  call.rows = shape.rows;
  call.n = shape.n;
  return call;
}

}  // namespace

void softmaxExpected(const Tensor& self, int64_t dim, const Tensor& out, bool log) {
  const TensorImpl* t = self.unsafeGetTensorImpl();
  if (!takes(t, dim, out.unsafeGetTensorImpl(), log)) [[unlikely]]
    return softmax(self, dim, out, log);
  rows::expectedLoop(callOf(t, out.unsafeGetTensorImpl()));
}

void softmaxBackwardExpected(const Tensor& grad, const Tensor& output, int64_t dim, const Tensor& out, bool log) {
  const TensorImpl* t = grad.unsafeGetTensorImpl();
  const TensorImpl* y = output.unsafeGetTensorImpl();
  if (!takes(t, dim, out.unsafeGetTensorImpl(), log) || !rows::isExpected(y, 1)) [[unlikely]]
    return softmaxBackward(grad, output, dim, out, log);
  rows::Call call = callOf(t, out.unsafeGetTensorImpl());
  call.in[1] = rows::dataOf(y, call.dtype);
  rows::expectedLoop(call);
}

}  // namespace shunt::nn
