#include "kernels/elementwise/expected.h"

#include "kernels/elementwise/fast_call.h"

#include <shunt/core/parallel.h>

namespace shunt::elementwise {
namespace {

struct ExpectedCall {
  const TensorImpl* shape_of = nullptr;
  View in[kMaxInputs];
  ScalarSlot numbers[kMaxInputs];
  ScalarSlot scalars[kMaxScalars];
};

SHUNT_ALWAYS_INLINE constexpr int64_t sizeOf(ScalarType dtype) { return elementSize(dtype); }

SHUNT_ALWAYS_INLINE std::byte* dataOf(const TensorImpl& t, ScalarType dtype) {
  return t.storage()->data() + t.storage_offset() * sizeOf(dtype);
}

/// Only kinds, dtypes and layouts are constants; shapes are compared.
SHUNT_ALWAYS_INLINE bool takeInput(const Request& r, int i, const Record& e, ExpectedCall& call) {
  const TensorImpl* t = r.inputs[i].tensor;
  if (e.kind[i] == Record::kNumber) {
    const Scalar* number = r.inputs[i].number;
    if (t != nullptr || number == nullptr || !numberFits(*number, e.common)) return false;
    if (e.common == kFloat && number->isBoolean()) return false;  // takeScalars leaves out the checks, which refuse some
    storeFast(*number, e.common, call.numbers[i]);
    call.in[i] = {call.numbers[i].bytes, 0, e.common};
    return true;
  }
  if (t == nullptr || t->signature() != e.signature[i]) return false;
  const auto dtype = static_cast<ScalarType>(e.signature[i] & 0x1f);
  if (e.kind[i] == Record::kOneElement) {
    if (t->dim() != 0) return false;
    call.in[i] = {dataOf(*t, dtype), 0, dtype};
    return true;
  }
  if (call.shape_of == nullptr) {
    if (t->dim() == 0) return false;
    call.shape_of = t;
  } else if (t != call.shape_of && !sameSizes(*t, *call.shape_of)) {
    return false;
  }
  call.in[i] = {dataOf(*t, dtype), sizeOf(dtype), dtype};
  return true;
}

/// Calls f(0) to f(N - 1), each with a constant.
template <int N, class F>
SHUNT_ALWAYS_INLINE void unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) { (f(I), ...); }
  (std::make_integer_sequence<int, N>());
}

SHUNT_ALWAYS_INLINE bool takeScalars(const Request& r, const Record& e, ExpectedCall& call) {
  if (r.op.num_scalars == 0 && r.op.check == nullptr) return true;
  if (e.common == kFloat) {
    // As in the interpreter: no check can fail here unless a scalar is a bool (functor_checks.h).
    bool plain = true;
    unrolled<kMaxScalars>([&](int s) __attribute__((always_inline)) {
      if (s >= r.op.num_scalars) return;
      plain &= !r.scalars[s]->isBoolean();
      storeRaw<float>(call.scalars[s].bytes, static_cast<float>(r.scalars[s]->toDouble()));
    });
    return plain;
  }
  prepareScalars(r, e.common, call.scalars);
  return true;
}

/// Whether the interpreter's result is dense whatever the operands' strides in dimensions that address nothing: its fast path
/// (run.cpp). Otherwise it follows those strides, so they must be the usual ones.
SHUNT_ALWAYS_INLINE bool ignoresIdleStrides(const Request& r, const Record& e) {
  bool uniform = true;
  unrolled<kMaxInputs>([&](int i) __attribute__((always_inline)) {
    if (i >= r.op.num_inputs) return;
    const bool mask = ((r.op.masks >> i) & 1) != 0;
    uniform &= e.kind[i] == Record::kSameShape && (mask || static_cast<ScalarType>(e.signature[i] & 0x1f) == e.common);
  });
  return uniform;
}

SHUNT_ALWAYS_INLINE bool take(const Request& r, const Record& e, Record::Form form, ExpectedCall& call) {
  if (e.form != form || r.op.id != e.functor || r.common != ScalarType::Undefined) return false;
  bool usual = true, taken = true;
  const bool any_strides = ignoresIdleStrides(r, e);
  unrolled<kMaxInputs>([&](int i) __attribute__((always_inline)) {
    if (i >= r.op.num_inputs || !taken) return;
    taken = e.kind[i] != Record::kOther && takeInput(r, i, e, call);
    if (!any_strides && taken && e.kind[i] == Record::kSameShape) usual &= hasRowMajorStrides(*r.inputs[i].tensor);
  });
  if (!taken || call.shape_of == nullptr || call.shape_of->numel() > kDefaultGrain) return false;
  if (!usual) return false;
  return takeScalars(r, e, call);
}

SHUNT_ALWAYS_INLINE void loop(const Request& r, const Record& e, const ExpectedCall& call, std::byte* out) {
  const ScalarType result = r.op.loopOutput(e.common);
  if (!expectedLoop(View{out, sizeOf(result), result}, call.in, call.shape_of->numel(), call.scalars, e.common)) [[unlikely]]
    throwInvalidElement(r);
}

/// The same conditions as for the interpreter's fast path (run.cpp: canWrite).
SHUNT_ALWAYS_INLINE bool canTake(const Request& r, const Record& e, const ExpectedCall& call, const TensorImpl* out) {
  if (out == nullptr || r.op.invalid != nullptr || out->signature() != e.output || !sameSizes(*out, *call.shape_of)) return false;
  bool apart = true;
  unrolled<kMaxInputs>([&](int i) __attribute__((always_inline)) {
    if (i >= r.op.num_inputs) return;
    const TensorImpl* t = r.inputs[i].tensor;
    apart &= t == nullptr || t == out || t->storage() != out->storage();
  });
  return apart;
}

SHUNT_ALWAYS_INLINE bool writeExpected(const Request& r, Record::Form form, Tensor& given) {
  ExpectedCall call;
  const TensorImpl* out = given.unsafeGetTensorImpl();
  if (!take(r, kExpected, form, call) || !canTake(r, kExpected, call, out)) return false;
  loop(r, kExpected, call, dataOf(*out, r.op.loopOutput(kExpected.common)));
  return true;
}

}  // namespace

Tensor runFunctionalExpected(const Request& r) {
  ExpectedCall call;
  if (!take(r, kExpected, Record::kFunctional, call)) [[unlikely]] return runFunctional(r);
  Tensor out(::shunt::detail::makeCpuTensor(call.shape_of->sizes(), {}, r.op.loopOutput(kExpected.common)));
  loop(r, kExpected, call, dataOf(*out.unsafeGetTensorImpl(), r.op.loopOutput(kExpected.common)));
  return out;
}

void runOutExpected(const Request& r, Tensor& out) {
  if (!writeExpected(r, Record::kOut, out)) [[unlikely]] runOutRequest(r, out);
}

void runInplaceExpected(const Request& r, Tensor& self) {
  if (!writeExpected(r, Record::kInplace, self)) [[unlikely]] runInplaceRequest(r, self);
}

}  // namespace shunt::elementwise
