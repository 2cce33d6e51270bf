// run() and runExpected(): request.h. The second is what a thunk has in the place of the first.
#include "kernels/rows/request.h"

#include "kernels/common/result.h"

#include <bit>

namespace shunt::rows {
namespace {

using reduce::kMaxDims;
using reduce::OutputSizes;

SHUNT_ALWAYS_INLINE uint64_t namedDims(const DimSet& dims, int64_t ndim) {
  return dims.to_ullong() & ((uint64_t{1} << ndim) - 1);
}
/// Whether the dimensions follow one another.
SHUNT_ALWAYS_INLINE bool isOneSpan(uint64_t named) { return (named & (named + (named & -named))) == 0; }
SHUNT_ALWAYS_INLINE Shape shapeOf(const TensorImpl& t, uint64_t named) {
  return Shape(t, std::countr_zero(named), std::popcount(named));
}

/// The id that a record of the kernel has.
SHUNT_ALWAYS_INLINE uint64_t idOf(const Descriptor& op, Span span) { return op.id | static_cast<uint64_t>(span); }
SHUNT_ALWAYS_INLINE Span expectedSpan() { return static_cast<Span>(kExpected.functor & 3); }
SHUNT_ALWAYS_INLINE ScalarType expectedResult() { return ::shunt::detail::signature::dtypeOf(kExpected.output); }

Span spanOf(const TensorImpl& t, const DimSet& dims) {
  if (t.dim() >= kMaxDims) return Span::kNone;
  const uint64_t named = namedDims(dims, t.dim());
  if (!isOneSpan(named)) return Span::kNone;
  const Shape shape = shapeOf(t, named);
  return shape.inner == 1 ? Span::kRows : shape.inner >= kFewestColumns ? Span::kColumns : Span::kNone;
}

/// Where the thunk has a loop for it: otherwise every call would miss.
SHUNT_COLD void record(const Request& r) {
  const TensorImpl* t = r.self.unsafeGetTensorImpl();
  const Span span = spanOf(*t, r.dims);
  if (span == Span::kNone) return;
  rows::record({r.op.family, reinterpret_cast<const void*>(&run), reinterpret_cast<const void*>(&runExpected),
                reinterpret_cast<const void*>(&runMissed), r.op.loop(r.op, r.computeType(), span), idOf(r.op, span),
                r.self.scalar_type(), static_cast<uint16_t>(r.result)},
               {t});
}

/// Sets the call's input and its shape, if these are for the expected loop. Left to the interpreter: reductions of one
/// element, which are none for its plan, and long ones.
SHUNT_ALWAYS_INLINE bool takeShape(const Request& r, const TensorImpl* t, Call& call) {
  const int64_t ndim = t->dim();
  if (ndim >= kMaxDims) return false;
  const uint64_t named = namedDims(r.dims, ndim);
  const Shape shape = shapeOf(*t, named);
  const bool columns = expectedSpan() == Span::kColumns;
  if (columns ? shape.inner < kFewestColumns : shape.inner != 1) return false;
  if (!isOneSpan(named) || !shape.worthLoop() || shape.n > (columns ? r.op.longest_column : r.op.longest_row))
    return false;
  static_cast<Shape&>(call) = shape;
  call.dtype = expectedDtype(0);
  call.in[0] = dataOf(t, call.dtype);
  return true;
}

/// `make(sizes, dtype)` makes a tensor.
template <class Make>
SHUNT_ALWAYS_INLINE Results makeResults(const Request& r, const TensorImpl& t, ScalarType result, const Make& make) {
  Results out;
  if (r.op.keeps_shape) {
    out.first = make(t.sizes(), result);
    return out;
  }
  const OutputSizes sizes(t.sizes(), r.dims, r.keepdim);
  out.first = make(sizes.ref(), result);
  if (r.op.second != Second::kNone) out.second = make(sizes.ref(), r.op.second == Second::kIndices ? kLong : result);
  return out;
}

}  // namespace

Results run(const Request& r) {
  ++interpreted_calls;
  if (recording()) [[unlikely]]
    record(r);
  const TensorImpl& t = *r.self.unsafeGetTensorImpl();
  Results out = makeResults(r, t, r.result,
                            [&](IntArrayRef sizes, ScalarType dtype) { return native::newResult(t, sizes, dtype); });
  if (native::hasData(t)) r.op.engine(r, out);
  return out;
}

Results runExpected(const Request& r) {
  const TensorImpl* t = r.self.unsafeGetTensorImpl();
  const ScalarType result = expectedResult();  // a constant, also where the request's is none
  if (!isExpected(t, 0) || idOf(r.op, expectedSpan()) != kExpected.functor || r.result != result) [[unlikely]]
    return runMissed(r, ::shunt::detail::plannedMisses());
  Call call;
  if (!takeShape(r, t, call)) [[unlikely]]
    return runMissed(r, ::shunt::detail::plannedMisses());
  Results out = makeResults(r, *t, result, [](IntArrayRef sizes, ScalarType dtype) __attribute__((always_inline)) {
    return Tensor(::shunt::detail::makeCpuTensor(sizes, {}, dtype));
  });
  call.result = result;
  call.number = r.number;
  call.out[0] = dataOf(out.first.unsafeGetTensorImpl(), result);
  if (r.op.second != Second::kNone)
    call.out[1] = dataOf(out.second.unsafeGetTensorImpl(), r.op.second == Second::kIndices ? kLong : result);
  expectedLoop(call);
  return out;
}

Results runMissed(const Request& r, jit::MissCount* misses) { return ::shunt::detail::runMissed(misses, &run, r); }

}  // namespace shunt::rows
