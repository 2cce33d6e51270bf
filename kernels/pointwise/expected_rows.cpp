// Operands by their strides as a thunk takes them: the interpreter's plan, then the expected loop along the inner
// dimension. See expected.h.
#include "kernels/pointwise/expected_parts.h"

#include <shunt/core/parallel.h>

namespace shunt::elementwise {
namespace {

SHUNT_ALWAYS_INLINE bool hasStride(uint8_t kind, int64_t stride, ScalarType dtype) {
  return kind == kAnyStride || stride == (kind == kUnitStride ? sizeOf(dtype) : 0);
}

/// Whether the inner dimension of every operand is as it was in the call that was recorded, and long enough to be worth
/// it.
template <int N>
SHUNT_ALWAYS_INLINE bool fits(const Parts<N>& p, const Record& e, const Plan& plan, bool given) {
  const Iteration& it = plan.iteration();
  if (p.op.id != e.functor || p.op.num_inputs != N || plan.common() != e.common || it.numel == 0) return false;
  if (it.ndim > 1 && it.shape[0] < kLeastRow) return false;
  if (given && p.op.invalid != nullptr) return false;
  const ScalarType result = p.op.loopOutput(e.common);
  bool same = it.dtypes[0] == result && hasStride(e.kind[kOutputKind], it.strides[0][0], result);
  p.forEachInput([&](int i) __attribute__((always_inline)) {
    if (e.kind[i] == Record::kNumber) {
      same = same && p.numbers[i] != nullptr;
      return;
    }
    same = same && p.tensors[i] != nullptr && p.tensors[i]->signature() == e.signature[i];
    same = same && hasStride(e.kind[i], it.strides[1 + i][0], dtypeOf(e, i));
  });
  return same && plan.outputIsApart();
}

/// Elements of one operand where the loop can take them, a chunk at a time.
struct alignas(64) Gathered {
  std::byte bytes[kChunk * 8];
};

/// Elements of all operands at the beginning of a row, and what leads from one row to the next.
template <int N>
struct RowOfAll {
  std::byte* p[1 + N];
  int64_t step[1 + N];
};

/// One row; chunk by chunk where some of it is gathered or scattered.
template <int N>
SHUNT_ALWAYS_INLINE bool runRow(const Parts<N>& p, const Record& e, const Iteration& it, const RowOfAll<N>& at,
                                Gathered* buffers) {
  const ScalarType result = p.op.loopOutput(e.common);
  const bool scatters = e.kind[kOutputKind] == kAnyStride;
  bool gathers = scatters, valid = true;
  p.forEachInput([&](int i) __attribute__((always_inline)) { gathers |= e.kind[i] == kAnyStride; });
  const int64_t row = it.shape[0], most = gathers ? kChunk : row;
  int64_t begin = 0;
  do {
    const int64_t n = gathers && row - begin > most ? most : row - begin;
    View in[kMaxInputs];
    p.forEachInput([&](int i) __attribute__((always_inline)) {
      const ScalarType dtype = e.kind[i] == Record::kNumber ? p.op.loopInput(i, e.common) : dtypeOf(e, i);
      const int64_t stride = it.strides[1 + i][0];
      if (e.kind[i] == kAnyStride) gather(buffers[1 + i].bytes, at.p[1 + i] + begin * stride, stride, n, sizeOf(dtype));
      if (e.kind[i] == kAnyStride)
        in[i] = {buffers[1 + i].bytes, sizeOf(dtype), dtype};
      else if (e.kind[i] == kUnitStride)
        in[i] = {at.p[1 + i] + begin * sizeOf(dtype), sizeOf(dtype), dtype};
      else
        in[i] = {at.p[1 + i], 0, dtype};
    });
    std::byte* out = scatters ? buffers[0].bytes : at.p[0] + begin * sizeOf(result);
    valid &= runLoop(p, e, out, in, n, it.scalars);
    if (scatters) scatter(at.p[0] + begin * it.strides[0][0], out, it.strides[0][0], n, sizeOf(result));
    begin += n;
  } while (gathers && begin < row);
  return valid;
}

/// Row by row, whatever the layouts.
template <int N>
SHUNT_ALWAYS_INLINE void runRows(const Request& r, const Parts<N>& p, const Record& e, const Iteration& it) {
  Gathered buffers[1 + N];
  const int64_t rows = it.ndim > 1 ? it.shape[1] : 1;
  PlanePosition planes(it);
  bool valid = true;
  do {
    RowOfAll<N> at;
    unrolled<1 + N>([&](int k) __attribute__((always_inline)) {
      at.p[k] = planes.p[k];
      at.step[k] = it.ndim > 1 ? it.strides[k][1] : 0;
    });
    for (int64_t row = 0; row < rows; ++row) {
      valid &= runRow(p, e, it, at, buffers);
      unrolled<1 + N>([&](int k) __attribute__((always_inline)) { at.p[k] += at.step[k]; });
    }
  } while (planes.nextPlane());
  if (!valid) [[unlikely]]
    throwInvalidElement(r);
}

/// What all three forms do behind the plan. A function of its own, since it is all that another record needs of them:
/// where the one misses, the next looks at the same plan.
template <int N>
SHUNT_NOINLINE void rowsExpected(const Request& r, Plan& plan, Tensor& out, Record::Form form) {
  const Parts<N> p(r);
  if (!fits(p, kExpected, plan, form != Record::kFunctional)) [[unlikely]]
    return rowsMissed(r, plan, out, form, ::shunt::detail::plannedMisses());
  if (plan.iteration().numel > kDefaultGrain) [[unlikely]]
    return rowsLarge(plan);
  runRows(r, p, kExpected, plan.iteration());
}

template <int N>
bool fitsOf(const Request& r, const Plan& plan, bool given, const Record& e) {
  return fits(Parts<N>(r), e, plan, given);
}

}  // namespace

bool expectsStrides(const Request& r, const Plan& plan, bool given, const Record& record) {
  constexpr decltype(&fitsOf<1>) kByInputs[] = {fitsOf<1>, fitsOf<2>, fitsOf<3>};
  return kByInputs[r.op.num_inputs - 1](r, plan, given, record);
}

void rowsLarge(Plan& plan) {
  ++path_counters.planned;
  plan.execute();
}

template <int N>
Tensor functionalStrided(const Request& r) {
  Tensor out;
  Plan plan(r, OutputKind::kNew, out);
  rowsExpected<N>(r, plan, out, Record::kFunctional);
  return out;
}

template <int N>
void outStrided(const Request& r, Tensor& out) {
  Plan plan(r, OutputKind::kOut, out);
  rowsExpected<N>(r, plan, out, Record::kOut);
}

template <int N>
void inplaceStrided(const Request& r, Tensor& self) {
  Plan plan(r, OutputKind::kInplace, self);
  rowsExpected<N>(r, plan, self, Record::kInplace);
}

#define SHUNT_INSTANTIATE(n)                            \
  template Tensor functionalStrided<n>(const Request&); \
  template void outStrided<n>(const Request&, Tensor&); \
  template void inplaceStrided<n>(const Request&, Tensor&);
SHUNT_INSTANTIATE(1)
SHUNT_INSTANTIATE(2)
SHUNT_INSTANTIATE(3)
#undef SHUNT_INSTANTIATE

}  // namespace shunt::elementwise
