#include "kernels/rows/reduce_expected.h"

#include <bit>

namespace shunt::reduce {
namespace {

SHUNT_ALWAYS_INLINE uint64_t namedDims(const DimSet& dims, int64_t ndim) {
  return dims.to_ullong() & ((uint64_t{1} << ndim) - 1);
}
/// Whether the dimensions follow one another.
SHUNT_ALWAYS_INLINE bool isOneSpan(uint64_t named) { return (named & (named + (named & -named))) == 0; }

/// Sets the call's input and its shape, if these are for the expected loop. Left to the interpreter: reductions of one
/// element, which are none for its plan, and long ones, for which its loop is as good.
SHUNT_ALWAYS_INLINE bool takeShape(const TensorImpl* t, const DimSet& dims, rows::Call& call) {
  const int64_t ndim = t->dim();
  if (ndim >= kMaxDims) return false;
  const uint64_t named = namedDims(dims, ndim);
  const rows::Shape shape(*t, std::countr_zero(named), std::popcount(named));
  const bool columns = spanOf(rows::kExpected.functor) == Span::kColumns;
  if (columns ? shape.inner < kFewestColumns : shape.inner != 1) return false;
  if (!isOneSpan(named) || !shape.worthLoop() || shape.n > (columns ? kLongestColumn : kBlock)) return false;
  static_cast<rows::Shape&>(call) = shape;
  call.dtype = rows::expectedDtype(0);
  call.in[0] = rows::dataOf(t, call.dtype);
  return true;
}

}  // namespace

Span spanOf(const TensorImpl& t, const DimSet& dims) {
  if (t.dim() >= kMaxDims) return Span::kNone;
  const uint64_t named = namedDims(dims, t.dim());
  if (!isOneSpan(named)) return Span::kNone;
  const rows::Shape shape(t, std::countr_zero(named), std::popcount(named));
  return shape.inner == 1 ? Span::kRows : shape.inner >= kFewestColumns ? Span::kColumns : Span::kNone;
}

Tensor reduceExpected(const Tensor& self, const DimSet& dims, bool keepdim, const Reduction& reduction) {
  const TensorImpl* t = self.unsafeGetTensorImpl();
  if (!rows::isExpected(t, 0) || idOf(reduction, spanOf(rows::kExpected.functor)) != rows::kExpected.functor)
      [[unlikely]]
    return reduceMissed(self, dims, keepdim, reduction, ::shunt::detail::plannedMisses());
  rows::Call call;
  if (!takeShape(t, dims, call)) [[unlikely]]
    return reduceMissed(self, dims, keepdim, reduction, ::shunt::detail::plannedMisses());
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
  if (!rows::isExpected(t, 0) || idOf(maximum, want_values, spanOf(rows::kExpected.functor)) != rows::kExpected.functor)
      [[unlikely]]
    return argReduceMissed(self, dims, out_sizes, maximum, want_values, ::shunt::detail::plannedMisses());
  rows::Call call;
  if (!takeShape(t, dims, call)) [[unlikely]]
    return argReduceMissed(self, dims, out_sizes, maximum, want_values, ::shunt::detail::plannedMisses());
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
