// softmax as a thunk runs it: for the operands that its plan expects (Note [Expected operands] in
// pointwise/expected.h).
#include "kernels/nn/softmax.h"

namespace shunt::nn {
namespace {

/// Sets the call's operands, if they are those recorded and an output like them. A 0-dim tensor is no row.
SHUNT_ALWAYS_INLINE bool takes(const TensorImpl* t, int64_t dim, const TensorImpl* out, bool log, rows::Call& call) {
  const uint64_t id = rows::kExpected.functor;
  if (!rows::isExpected(t, 0) || idOf(log, isDownColumns(id)) != id || !rows::isExpected(out, 0) || t->dim() == 0)
    return false;
  const rows::Shape shape(*t, dim < 0 ? dim + t->dim() : dim, 1);
  const ScalarType dtype = rows::expectedDtype(0);
  if (!fits(shape, id, dtype)) return false;
  static_cast<rows::Shape&>(call) = shape;
  call.dtype = call.result = dtype;
  call.in[0] = rows::dataOf(t, dtype);
  call.out[0] = rows::dataOf(out, dtype);
  return true;
}

}  // namespace

void softmaxExpected(const Tensor& self, int64_t dim, const Tensor& out, bool log) {
  rows::Call call;
  if (!takes(self.unsafeGetTensorImpl(), dim, out.unsafeGetTensorImpl(), log, call)) [[unlikely]]
    return softmaxMissed(self, dim, out, log, ::shunt::detail::plannedMisses());
  rows::expectedLoop(call);
}

void softmaxBackwardExpected(const Tensor& grad, const Tensor& output, int64_t dim, const Tensor& out, bool log) {
  const TensorImpl* y = output.unsafeGetTensorImpl();
  rows::Call call;
  if (!takes(grad.unsafeGetTensorImpl(), dim, out.unsafeGetTensorImpl(), log, call) || !rows::isExpected(y, 1))
      [[unlikely]]
    return softmaxBackwardMissed(grad, output, dim, out, log, ::shunt::detail::plannedMisses());
  call.in[1] = rows::dataOf(y, call.dtype);
  rows::expectedLoop(call);
}

}  // namespace shunt::nn
