// What the fast path (run.cpp) and its form in thunks (expected.cpp) share: contiguous operands of one shape, and
// numbers. Pure functions of the caller's data.
#pragma once

#include "kernels/pointwise/promote.h"
#include "kernels/pointwise/run.h"

namespace shunt::elementwise {

/// Whether the number keeps its category below the dtype's, so that the dtype is the common one.
SHUNT_ALWAYS_INLINE bool numberFits(const Scalar& number, ScalarType dtype) {
  return number.isFloatingPoint() ? isFloatingType(dtype) : number.isBoolean() || dtype != kBool;
}

SHUNT_ALWAYS_INLINE void storeFast(const Scalar& number, ScalarType dtype, ScalarSlot& slot) {
  if (dtype == kFloat) [[likely]]
    storeRaw<float>(slot.bytes, static_cast<float>(number.toDouble()));
  else
    storeNumber(number, dtype, slot);
}

/// With an operand of another shape PyTorch derives the output's strides from the inputs', also those of dimensions of
/// size 1, so these must be the usual ones for the output to be contiguous.
inline bool hasRowMajorStrides(const TensorImpl& t) {
  int64_t step = 1;
  for (int64_t d = t.dim() - 1; d >= 0; --d) {
    if (t.strides()[static_cast<size_t>(d)] != step) return false;
    step *= t.sizes()[static_cast<size_t>(d)];
  }
  return true;
}

SHUNT_ALWAYS_INLINE bool sameSizes(const TensorImpl& a, const TensorImpl& b) {
  const IntArrayRef x = a.sizes(), y = b.sizes();
  if (x.size() != y.size()) return false;
  for (size_t d = 0; d < x.size(); ++d)
    if (x[d] != y[d]) return false;
  return true;
}

/// Whether `t`'s sizes, but for ones at their beginning, are the last ones of `whole`'s, which has more of them: `t` is
/// repeated along the first dimensions of `whole`.
SHUNT_ALWAYS_INLINE bool endsIn(const TensorImpl& whole, const TensorImpl& t) {
  const IntArrayRef x = whole.sizes(), y = t.sizes();
  if (x.size() < y.size()) return false;
  size_t ones = 0;
  while (ones < y.size() && y[ones] == 1) ++ones;
  for (size_t d = ones; d < y.size(); ++d)
    if (x[x.size() - y.size() + d] != y[d]) return false;
  return x.size() > y.size() || ones > 0;
}

/// Checks and stores the functor's scalars for the common dtype.
inline void prepareScalars(const Request& r, ScalarType common, ScalarSlot* slots) {
  const KernelDescriptor& op = r.op;
  ScalarType dtypes[kMaxInputs];
  for (int i = 0; i < op.num_inputs; ++i) dtypes[i] = dtypeOf(r.inputs[i]);
  runCheck(r, dtypes, common);
  for (int s = 0; s < op.num_scalars; ++s) storeScalar(*r.scalars[s], common, slots[s]);
}

}  // namespace shunt::elementwise
