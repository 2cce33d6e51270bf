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

/// How a request's elements lie.
struct Placed {
  Span span = Span::kNone;
  Shape shape;
};
SHUNT_ALWAYS_INLINE Placed placedIn(const TensorImpl& t, const DimSet& dims) {
  Placed placed;
  if (t.dim() >= kMaxDims) return placed;
  const uint64_t named = namedDims(dims, t.dim());
  if (!isOneSpan(named)) return placed;
  placed.shape = shapeOf(t, named);
  const int64_t inner = placed.shape.inner;
  placed.span = inner == 1 ? Span::kRows : inner >= kFewestColumns ? Span::kColumns : Span::kNone;
  return placed;
}

/// Where there is a loop for it: otherwise every call of the thunk would miss.
SHUNT_COLD void record(const Request& r, Span span) {
  const TensorImpl* t = r.self.unsafeGetTensorImpl();
  if (span == Span::kNone) return;
  rows::record({r.op.family, reinterpret_cast<const void*>(&run), reinterpret_cast<const void*>(&runExpected),
                reinterpret_cast<const void*>(&runMissed), r.op.loop(r.op, r.computeType(), span), idOf(r.op, span),
                r.self.scalar_type(), static_cast<uint16_t>(r.result)},
               {t});
}

/// Whether a loop of that span takes the shape. Left to the engine: reductions of one element, which are none for its
/// plan, and long ones.
SHUNT_ALWAYS_INLINE bool fits(const Descriptor& op, Span span, const Shape& shape) {
  const bool columns = span == Span::kColumns;
  if (columns ? shape.inner < kFewestColumns : shape.inner != 1) return false;
  return shape.worthLoop() && shape.n <= (columns ? op.longest_column : op.longest_row);
}

SHUNT_ALWAYS_INLINE void setResults(const Request& r, const Results& out, ScalarType result, Call& call) {
  call.result = result;
  call.number = r.number;
  call.out[0] = dataOf(out.first.unsafeGetTensorImpl(), result);
  if (r.op.second != Second::kNone)
    call.out[1] = dataOf(out.second.unsafeGetTensorImpl(), r.op.second == Second::kIndices ? kLong : result);
}

SHUNT_ALWAYS_INLINE void setInput(const TensorImpl& t, const Shape& shape, ScalarType dtype, Call& call) {
  static_cast<Shape&>(call) = shape;
  call.dtype = dtype;
  call.in[0] = dataOf(&t, dtype);
}

SHUNT_ALWAYS_INLINE LoopFn loopFor(const Descriptor& op, ComputeType type, const TensorImpl& t, const Placed& placed) {
  if (placed.span == Span::kNone || !isDenseCpu(t) || !fits(op, placed.span, placed.shape)) return nullptr;
  return op.loop(op, type, placed.span);
}

/// Whether the results could be made without a plan.
SHUNT_ALWAYS_INLINE bool runWithoutPlan(const Request& r, const TensorImpl& t, const Placed& placed,
                                        const Results& out) {
  const LoopFn loop = loopFor(r.op, r.computeType(), t, placed);
  if (loop == nullptr) return false;
  Call call;
  setInput(t, placed.shape, t.dtype(), call);
  setResults(r, out, r.result, call);
  loop(call);
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
  const TensorImpl& t = *r.self.unsafeGetTensorImpl();
  const Placed placed = placedIn(t, r.dims);
  if (recording()) [[unlikely]]
    record(r, placed.span);
  Results out = makeResults(r, t, r.result,
                            [&](IntArrayRef sizes, ScalarType dtype) { return native::newResult(t, sizes, dtype); });
  if (native::hasData(t) && !runWithoutPlan(r, t, placed, out)) r.op.engine(r, out);
  return out;
}

LoopFn loopWithoutPlan(const Descriptor& op, ComputeType type, const TensorImpl& like, const DimSet& dims,
                       Shape& shape) {
  const Placed placed = placedIn(like, dims);
  shape = placed.shape;
  // One row is no reduction for the engine's plan, but a sum: from nothing, like the loop's.
  Placed two_rows = placed;
  if (placed.span == Span::kColumns && shape.n == 1) two_rows.shape.n = 2;
  return loopFor(op, type, like, two_rows);
}

Results runExpected(const Request& r) {
  const TensorImpl* t = r.self.unsafeGetTensorImpl();
  const ScalarType result = expectedResult();  // a constant, also where the request's is none
  if (!isExpected(t, 0) || idOf(r.op, expectedSpan()) != kExpected.functor || r.result != result) [[unlikely]]
    return runMissed(r, ::shunt::detail::plannedMisses());
  const int64_t ndim = t->dim();
  const uint64_t named = ndim < kMaxDims ? namedDims(r.dims, ndim) : 0;
  const Shape shape = shapeOf(*t, named);
  if (ndim >= kMaxDims || !isOneSpan(named) || !fits(r.op, expectedSpan(), shape)) [[unlikely]]
    return runMissed(r, ::shunt::detail::plannedMisses());
  Call call;
  setInput(*t, shape, expectedDtype(0), call);
  Results out = makeResults(r, *t, result, [](IntArrayRef sizes, ScalarType dtype) __attribute__((always_inline)) {
    return Tensor(::shunt::detail::makeCpuTensor(sizes, {}, dtype));
  });
  setResults(r, out, result, call);
  expectedLoop(call);
  return out;
}

Results runMissed(const Request& r, jit::MissCount* misses) { return ::shunt::detail::runMissed(misses, &run, r); }

}  // namespace shunt::rows
