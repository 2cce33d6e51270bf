#include "kernels/pointwise/expected.h"

#include "kernels/pointwise/expected_parts.h"
#include "kernels/pointwise/fast_call.h"

#include <shunt/core/parallel.h>

namespace shunt::elementwise {
namespace {

/// Rows of consecutive elements: one of them where all shapes are the same.
struct ExpectedCall {
  const TensorImpl* shape_of = nullptr;
  int64_t row = -1;  // elements, where an operand is repeated for each
  View in[kMaxInputs];
  int64_t step[kMaxInputs];  // from a row to the next, in bytes, once for each row
};
/// Apart, since addresses of these are given away.
struct Slots {
  ScalarSlot numbers[kMaxInputs];
  ScalarSlot scalars[kMaxScalars];
};

SHUNT_ALWAYS_INLINE std::byte* dataOf(const TensorImpl& t, ScalarType dtype) {
  return t.storage()->data() + t.storage_offset() * sizeOf(dtype);
}

SHUNT_ALWAYS_INLINE bool isOneElement(uint8_t kind) { return kind == Record::kOneElement || kind == kOneOfSeveralDims; }

/// Of the dense operands the first of those with the most dimensions; where there is none, of those of one element.
template <int N>
SHUNT_ALWAYS_INLINE bool findShape(const Parts<N>& p, const Record& e, ExpectedCall& call) {
  bool any_dense = false, found = true;
  p.forEachInput([&](int i) __attribute__((always_inline)) { any_dense |= e.kind[i] == Record::kSameShape; });
  p.forEachInput([&](int i) __attribute__((always_inline)) {
    if ((any_dense ? e.kind[i] != Record::kSameShape : !isOneElement(e.kind[i])) || !found) return;
    const TensorImpl* t = p.tensors[i];
    found = t != nullptr && t->signature() == e.signature[i];
    if (found && (call.shape_of == nullptr || t->dim() > call.shape_of->dim())) call.shape_of = t;
  });
  return found && call.shape_of != nullptr;
}

template <int N>
SHUNT_ALWAYS_INLINE bool takeNumber(const Parts<N>& p, int i, const Record& e, ExpectedCall& call, Slots& slots) {
  const Scalar* number = p.numbers[i];
  if (p.tensors[i] != nullptr || number == nullptr) return false;
  if (isCategory(e.kind[i])) {  // stored by takeScalars
    call.in[i] = {slots.numbers[i].bytes, 0, p.op.loopInput(i, e.common)};
    return categoryOf(*number) == e.kind[i];
  }
  if (isMixed(p.op, e) || !numberFits(*number, e.common)) return false;
  if (e.common == kFloat && number->isBoolean()) return false;  // takeScalars leaves out the checks, which refuse some
  storeFast(*number, e.common, slots.numbers[i]);
  call.in[i] = {slots.numbers[i].bytes, 0, e.common};
  return true;
}

/// All operands that make rows make the same.
SHUNT_ALWAYS_INLINE bool takeRow(int64_t row, ExpectedCall& call) {
  if (row < 0 || (call.row >= 0 && call.row != row)) return false;
  call.row = row;
  return true;
}

SHUNT_ALWAYS_INLINE bool takeColumn(const TensorImpl* t, int i, const Record& e, ExpectedCall& call) {
  if (t == nullptr || t->signature() != e.signature[i]) return false;
  const int64_t row = rowBesideColumn(*call.shape_of, *t);
  call.in[i] = {dataOf(*t, dtypeOf(e, i)), 0, dtypeOf(e, i)};
  return row >= kLeastRow && takeRow(row, call);
}

SHUNT_ALWAYS_INLINE bool takeDense(const TensorImpl& t, int i, const Record& e, ExpectedCall& call) {
  const ScalarType dtype = dtypeOf(e, i);
  call.in[i] = {dataOf(t, dtype), sizeOf(dtype), dtype};
  call.step[i] = sizeOf(dtype);
  if (&t == call.shape_of || sameSizes(t, *call.shape_of)) [[likely]]
    return true;
  call.step[i] = 0;
  return takeRow(rowOf(*call.shape_of, t), call);
}

/// Only kinds, dtypes and layouts are constants; shapes are compared.
template <int N>
SHUNT_ALWAYS_INLINE bool takeInput(const Parts<N>& p, int i, const Record& e, ExpectedCall& call, Slots& slots) {
  call.step[i] = 0;
  if (isNumber(e.kind[i])) return takeNumber(p, i, e, call, slots);
  const TensorImpl* t = p.tensors[i];
  if (e.kind[i] == Record::kSameShape) return takeDense(*t, i, e, call);
  if (e.kind[i] == kColumn) return takeColumn(t, i, e, call);
  if (!isOneElement(e.kind[i]) || t == nullptr || t->signature() != e.signature[i]) return false;
  // By the number of dimensions types are promoted.
  if (e.kind[i] == Record::kOneElement ? t->dim() != 0 : t->dim() == 0 || t->dim() > call.shape_of->dim()) return false;
  // What a 0-dim tensor that is a number does in promotion depends on the numbers beside it.
  if ((isMixed(p.op, e) || anyOf(e, isNumber)) && t->is_wrapped_number()) return false;
  call.in[i] = {dataOf(*t, dtypeOf(e, i)), 0, dtypeOf(e, i)};
  return true;
}

template <int N>
SHUNT_ALWAYS_INLINE bool takeScalars(const Request& r, const Parts<N>& p, const Record& e, Slots& slots) {
  p.forEachInput([&](int i) __attribute__((always_inline)) {
    if (isCategory(e.kind[i])) storeNumber(*p.numbers[i], p.op.loopInput(i, e.common), slots.numbers[i]);
  });
  if (p.op.num_scalars == 0 && p.op.check == nullptr) return true;
  if (e.common == kFloat && !anyOf(e, isCategory)) {
    // As in the interpreter: no check can fail here unless a scalar is a bool (functor_checks.h).
    bool plain = true;
    unrolled<kMaxScalars>([&](int s) __attribute__((always_inline)) {
      if (s >= p.op.num_scalars) return;
      plain &= !p.scalars[s]->isBoolean();
      storeRaw<float>(slots.scalars[s].bytes, static_cast<float>(p.scalars[s]->toDouble()));
    });
    return plain;
  }
  prepareScalarsApart(r, e.common, slots.scalars);
  return true;
}

/// From here on the interpreter's interleaved loop saves more than the call costs.
constexpr int64_t kMostUninterleaved = 2048;

/// Whether the interpreter's result is dense whatever the operands' strides in dimensions that address nothing: its
/// fast path (run.cpp). Otherwise it follows those strides, so they must be the usual ones.
template <int N>
SHUNT_ALWAYS_INLINE bool ignoresIdleStrides(const Parts<N>& p, const Record& e) {
  bool uniform = true;
  p.forEachInput([&](int i) __attribute__((always_inline)) {
    const bool mask = ((p.op.masks >> i) & 1) != 0;
    uniform &= e.kind[i] == Record::kSameShape && (mask || dtypeOf(e, i) == e.common);
  });
  return uniform;
}

template <int N>
SHUNT_ALWAYS_INLINE bool takeInputs(const Request& r, const Parts<N>& p, const Record& e, Record::Form form,
                                    ExpectedCall& call, Slots& slots) {
  const ScalarType forced = e.kind[kForcedPlace] == kForced ? e.common : ScalarType::Undefined;
  if (e.form != form || p.op.num_inputs != N || p.op.id != e.functor || p.forced != forced || !findShape(p, e, call))
    return false;
  bool taken = true;
  p.forEachInput([&](int i) __attribute__((always_inline)) { taken = taken && takeInput(p, i, e, call, slots); });
  if (!taken) return false;
  return (ignoresIdleStrides(p, e) && call.row < 0) || (call.shape_of->numel() != 0 && haveUsualStrides(r));
}

/// Whether the interpreter's loop is the faster one for so many elements: interleaved, or shared by threads.
template <int N>
SHUNT_ALWAYS_INLINE bool isLarge(const Parts<N>& p, const Record& e, const ExpectedCall& call) {
  const bool interleaved = ignoresIdleStrides(p, e) && call.row < 0 && e.common == kFloat && p.op.interleaved;
  return call.shape_of->numel() > (interleaved ? kMostUninterleaved : kDefaultGrain);
}

template <int N>
SHUNT_ALWAYS_INLINE void loop(const Request& r, const Parts<N>& p, const Record& e, ExpectedCall& call,
                              const Slots& slots, std::byte* out, ScalarType result) {
  const int64_t numel = call.shape_of->numel(), row = call.row < 0 ? numel : call.row;
  bool valid = true;
  for (int64_t at = 0; at < numel; at += row) {
    valid &= expectedLoop(View{out + at * sizeOf(result), sizeOf(result), result}, call.in, row, slots.scalars,
                          e.common, p.op);
    unrolled<N>([&](int i) __attribute__((always_inline)) {
      if (e.kind[i] == Record::kSameShape) call.in[i].p += call.step[i] * row;
      if (e.kind[i] == kColumn) call.in[i].p += sizeOf(dtypeOf(e, i));
    });
  }
  if (!valid) [[unlikely]]
    throwInvalidElement(r);
}

/// As for the interpreter's fast path (run.cpp: canWrite), and operands elsewhere in the output's storage.
template <int N>
SHUNT_ALWAYS_INLINE bool canTake(const Parts<N>& p, const Record& e, const ExpectedCall& call, const TensorImpl* out) {
  namespace signature = ::shunt::detail::signature;
  constexpr auto kInner = LayoutClass::kInnerContiguous, kStrided = LayoutClass::kStrided;
  const LayoutClass layout = signature::layoutOf(e.output);
  const uint16_t dense = signature::make(p.op.loopOutput(e.common), kCPU, LayoutClass::kContiguous);
  if (!signature::sameKind(e.output, dense) || layout == kInner || layout == kStrided) return false;
  if (out == nullptr || p.op.invalid != nullptr || out->signature() != e.output || !sameSizes(*out, *call.shape_of))
    return false;
  bool apart = true;
  p.forEachInput([&](int i) __attribute__((always_inline)) {
    const TensorImpl* t = p.tensors[i];
    if (t == nullptr || t == out || t->storage() != out->storage()) return;
    apart = apart && isApart(*out, *t);
  });
  return apart;
}

/// What became of a call with given output.
enum class Taken : uint8_t { kNo, kLarge, kDone };

template <int N>
SHUNT_ALWAYS_INLINE Taken writeExpected(const Request& r, Record::Form form, Tensor& given) {
  const Parts<N> p(r);
  const ScalarType result = p.op.loopOutput(kExpected.common);
  ExpectedCall call;
  Slots slots;
  const TensorImpl* out = given.unsafeGetTensorImpl();
  if (!takeInputs(r, p, kExpected, form, call, slots) || !canTake(p, kExpected, call, out)) return Taken::kNo;
  if (isLarge(p, kExpected, call)) return Taken::kLarge;
  if (!takeScalars(r, p, kExpected, slots)) return Taken::kNo;
  loop<N>(r, p, kExpected, call, slots, dataOf(*out, result), result);
  return Taken::kDone;
}

template <int N>
bool expectsOf(const Request& r, const Tensor* out, const Record& e) {
  const Parts<N> p(r);
  ExpectedCall call;
  Slots slots;
  return takeInputs(r, p, e, e.form, call, slots) &&
         (out == nullptr || canTake(p, e, call, out->unsafeGetTensorImpl()));
}

}  // namespace

bool expectsDense(const Request& r, const Tensor* out, const Record& record) {
  constexpr decltype(&expectsOf<1>) kByInputs[] = {expectsOf<1>, expectsOf<2>, expectsOf<3>};
  return kByInputs[r.op.num_inputs - 1](r, out, record);
}

void prepareScalarsApart(const Request& r, ScalarType common, ScalarSlot* slots) { prepareScalars(r, common, slots); }

int64_t rowOf(const TensorImpl& whole, const TensorImpl& t) { return endsIn(whole, t) ? t.numel() : -1; }

int64_t rowBesideColumn(const TensorImpl& whole, const TensorImpl& t) {
  const IntArrayRef x = whole.sizes(), y = t.sizes();
  if (x.size() != y.size() || x.empty() || y.back() != 1) return -1;
  for (size_t d = 0; d + 1 < x.size(); ++d)
    if (x[d] != y[d]) return -1;
  return x.back();
}

bool isApart(const TensorImpl& out, const TensorImpl& t) {
  const std::byte *begin = out.data(), *other = t.data();
  // The same elements. With other strides, if only of dimensions of one, the interpreter refuses them.
  if (begin == other && t.dtype() == out.dtype() && sameSizes(t, out) && t.strides() == out.strides()) return true;
  return other + t.numel() * t.itemsize() <= begin || begin + out.numel() * out.itemsize() <= other;
}

bool haveUsualStrides(const Request& r) {
  for (int i = 0; i < r.op.num_inputs; ++i)
    if (const TensorImpl* t = r.inputs[i].tensor; t != nullptr && (t->numel() == 0 || !hasRowMajorStrides(*t)))
      return false;
  return true;
}

template <int N>
Tensor functionalExpected(const Request& r) {
  const Parts<N> p(r);
  const ScalarType result = p.op.loopOutput(kExpected.common);
  ExpectedCall call;
  Slots slots;
  if (!takeInputs(r, p, kExpected, Record::kFunctional, call, slots)) [[unlikely]]
    return functionalMissed(r, ::shunt::detail::plannedMisses());
  if (isLarge(p, kExpected, call)) [[unlikely]]
    return functionalLarge(r);
  if (!takeScalars(r, p, kExpected, slots)) [[unlikely]]
    return functionalMissed(r, ::shunt::detail::plannedMisses());
  Tensor out(::shunt::detail::makeCpuTensor(call.shape_of->sizes(), {}, result));
  loop<N>(r, p, kExpected, call, slots, dataOf(*out.unsafeGetTensorImpl(), result), result);
  return out;
}

template <int N>
void outExpected(const Request& r, Tensor& out) {
  const Taken taken = writeExpected<N>(r, Record::kOut, out);
  if (taken == Taken::kLarge) [[unlikely]]
    return outLarge(r, out);
  if (taken == Taken::kNo) [[unlikely]]
    outMissed(r, out, ::shunt::detail::plannedMisses());
}

template <int N>
void inplaceExpected(const Request& r, Tensor& self) {
  const Taken taken = writeExpected<N>(r, Record::kInplace, self);
  if (taken == Taken::kLarge) [[unlikely]]
    return inplaceLarge(r, self);
  if (taken == Taken::kNo) [[unlikely]]
    inplaceMissed(r, self, ::shunt::detail::plannedMisses());
}

Tensor functionalLarge(const Request& r) { return runFunctional(r); }
void outLarge(const Request& r, Tensor& out) { runOutRequest(r, out); }
void inplaceLarge(const Request& r, Tensor& self) { runInplaceRequest(r, self); }

#define SHUNT_INSTANTIATE(n)                             \
  template Tensor functionalExpected<n>(const Request&); \
  template void outExpected<n>(const Request&, Tensor&); \
  template void inplaceExpected<n>(const Request&, Tensor&);
SHUNT_INSTANTIATE(1)
SHUNT_INSTANTIATE(2)
SHUNT_INSTANTIATE(3)
#undef SHUNT_INSTANTIATE

}  // namespace shunt::elementwise
