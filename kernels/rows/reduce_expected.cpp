#include "kernels/rows/reduce_expected.h"

namespace shunt::reduce {
namespace {

/// How many dimensions `dims` names, if these are the last ones; else -1.
SHUNT_ALWAYS_INLINE int64_t lastDims(const DimSet& dims, int64_t ndim) {
  if (ndim >= kMaxDims) return -1;
  const uint64_t all = (uint64_t{1} << ndim) - 1;
  const uint64_t named = dims.to_ullong() & all;
  const int64_t count = __builtin_popcountll(named);
  const uint64_t others = (uint64_t{1} << (ndim - count)) - 1;
  return named == (all & ~others) ? count : -1;
}

/// Sets the call's input and its rows along the last dimensions, if they are for the expected loop. Left to the
/// interpreter: rows of one element, which are none for its plan, and of several blocks, for which its loop is as good.
SHUNT_ALWAYS_INLINE bool takeRows(const TensorImpl* t, const DimSet& dims, rows::Call& call) {
  const int64_t count = lastDims(dims, t->dim());
  const rows::Rows shape(*t, count);
  if (count < 0 || !shape.worthLoop() || shape.n > kBlock) return false;
  call.dtype = rows::expectedDtype(0);
  call.in[0] = rows::dataOf(t, call.dtype);
  call.rows = shape.rows;
  call.n = shape.n;
  return true;
}

}  // namespace

bool reducesLastDims(const TensorImpl& t, const DimSet& dims) { return lastDims(dims, t.dim()) >= 0; }

Tensor reduceExpected(const Tensor& self, const DimSet& dims, bool keepdim, const Reduction& reduction) {
  const TensorImpl* t = self.unsafeGetTensorImpl();
  if (!rows::isExpected(t, 0) || idOf(reduction) != rows::kExpected.functor) [[unlikely]]
    return reduce(self, dims, keepdim, reduction);
  rows::Call call;
  if (!takeRows(t, dims, call)) [[unlikely]]
    return reduce(self, dims, keepdim, reduction);
  const OutputSizes sizes(t->sizes(), dims, keepdim);
  call.result = reductionOf(rows::kExpected.functor).out_dtype;  // a constant, also where `reduction` is none
  Tensor out(::shunt::detail::makeCpuTensor(sizes.ref(), {}, call.result));
  call.out[0] = rows::dataOf(out.unsafeGetTensorImpl(), call.result);
  rows::expectedLoop(call);
  return out;
}

ArgResult argReduceExpected(const Tensor& self, const DimSet& dims, IntArrayRef out_sizes, bool maximum,
                            bool want_values) {
  const TensorImpl* t = self.unsafeGetTensorImpl();
  if (!rows::isExpected(t, 0) || idOf(maximum, want_values) != rows::kExpected.functor) [[unlikely]]
    return argReduce(self, dims, out_sizes, maximum, want_values);
  rows::Call call;
  if (!takeRows(t, dims, call)) [[unlikely]]
    return argReduce(self, dims, out_sizes, maximum, want_values);
  ArgResult out;
  call.result = call.dtype;
  if (wantsValues(rows::kExpected.functor)) {
    out.values = Tensor(::shunt::detail::makeCpuTensor(out_sizes, {}, call.result));
    call.out[1] = rows::dataOf(out.values.unsafeGetTensorImpl(), call.result);
  }
  out.indices = Tensor(::shunt::detail::makeCpuTensor(out_sizes, {}, kLong));
  call.out[0] = rows::dataOf(out.indices.unsafeGetTensorImpl(), kLong);
  rows::expectedLoop(call);
  return out;
}

}  // namespace shunt::reduce
