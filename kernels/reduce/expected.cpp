#include "kernels/reduce/expected.h"

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

}  // namespace

// Left to the interpreter: rows of one element, which are none for its plan, and of several blocks, for which its loop is as good.
Tensor reduceExpected(const Tensor& self, const DimSet& dims, bool keepdim, const Reduction& reduction) {
  const TensorImpl* t = self.unsafeGetTensorImpl();
  if (!rows::isExpected(t, 0) || idOf(reduction) != rows::kExpected.functor) [[unlikely]]
    return reduce(self, dims, keepdim, reduction);
  const int64_t count = lastDims(dims, t->dim());
  const rows::Rows shape(*t, count);
  if (count < 0 || !shape.worthLoop() || shape.n > kBlock) [[unlikely]] return reduce(self, dims, keepdim, reduction);
  const OutputSizes sizes(t->sizes(), dims, keepdim);
  const ScalarType result = reductionOf(rows::kExpected.functor).out_dtype;  // a constant, also where `reduction` is none
  Tensor out(::shunt::detail::makeCpuTensor(sizes.ref(), {}, result));
  rows::Call call;
  call.dtype = rows::expectedDtype(0);
  call.result = result;
  call.in[0] = rows::dataOf(t, call.dtype);
  call.out[0] = rows::dataOf(out.unsafeGetTensorImpl(), call.result);
  call.rows = shape.rows;
  call.n = shape.n;
  rows::expectedLoop(call);
  return out;
}

}  // namespace shunt::reduce
