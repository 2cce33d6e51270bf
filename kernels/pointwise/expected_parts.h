// What the expecting functions (expected.h) read of a request and of its record, for the kinds of calls in
// expected_uniform.h, expected_dense.h and expected_rows.cpp, and for record.cpp. Pure functions on the caller's data;
// inlined, so that in a thunk the record's content folds.
#pragma once

#include "kernels/pointwise/expected.h"
#include "kernels/pointwise/fast_call.h"

#include <shunt/core/parallel.h>

namespace shunt::elementwise {

/// Calls f(0) to f(N - 1), each with a constant.
template <int N, class F>
SHUNT_ALWAYS_INLINE void unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>)
      __attribute__((always_inline)) { (f(I), ...); }(std::make_integer_sequence<int, N>());
}

/// Whether f(0) and ... and f(N - 1), each asked with a constant, and only where those before it said so.
template <int N, class F>
SHUNT_ALWAYS_INLINE bool allOf(const F& f) {
  return [&]<int... I>(std::integer_sequence<int, I...>)
             __attribute__((always_inline)) { return (f(I) && ...); }(std::make_integer_sequence<int, N>());
}

/// What a request of N inputs refers to, read before anything else: the library's functions see the request, and behind
/// a call of one of them nothing of it would be a constant.
template <int N>
struct Parts {
  const KernelDescriptor& op;
  ScalarType forced;
  const TensorImpl* tensors[N];
  const Scalar* numbers[N];
  const Scalar* scalars[kMaxScalars];

  SHUNT_ALWAYS_INLINE explicit Parts(const Request& r) : op(r.op), forced(r.common) {
    forEachInput([&](int i) __attribute__((always_inline)) {
      tensors[i] = r.inputs[i].tensor;
      numbers[i] = r.inputs[i].number;
    });
    unrolled<kMaxScalars>([&](int s) __attribute__((always_inline)) { scalars[s] = r.scalars[s]; });
  }
  template <class F>
  SHUNT_ALWAYS_INLINE static void forEachInput(const F& f) {
    unrolled<N>(f);
  }
};

SHUNT_ALWAYS_INLINE constexpr int64_t sizeOf(ScalarType dtype) { return elementSize(dtype); }
SHUNT_ALWAYS_INLINE ScalarType dtypeOf(const Record& e, int i) {
  return ::shunt::detail::signature::dtypeOf(e.signature[i]);
}

/// Whether the kind of some input satisfies `predicate`.
template <class Predicate>
SHUNT_ALWAYS_INLINE bool anyOf(const Record& e, const Predicate& predicate) {
  bool any = false;
  unrolled<kMaxInputs>([&](int i) __attribute__((always_inline)) { any |= predicate(e.kind[i]); });
  return any;
}

/// Whether a tensor of another dtype takes part in promotion: what the common dtype is then depends also on the
/// categories of numbers, and on whether a 0-dim tensor is one.
SHUNT_ALWAYS_INLINE bool isMixed(const KernelDescriptor& op, const Record& e) {
  bool mixed = false;
  unrolled<kMaxInputs>([&](int i) __attribute__((always_inline)) {
    mixed |= ((op.operands >> i) & 1) != 0 && e.signature[i] != 0 && dtypeOf(e, i) != e.common;
  });
  return mixed;
}

/// A loop's inputs. Apart from the rest of a call, since the first tier gives their address away.
struct Views {
  View in[kMaxInputs];
};
/// Numbers where a loop reads them. Apart from the inputs: functions that store scalars get their address, and a loop
/// whose inputs they could change as well is none for vectors.
struct Slots {
  ScalarSlot numbers[kMaxInputs];
  ScalarSlot scalars[kMaxScalars];
};

SHUNT_ALWAYS_INLINE std::byte* dataOf(const TensorImpl& t, ScalarType dtype) {
  return t.storage()->data() + t.storage_offset() * sizeOf(dtype);
}

/// Whether the request is one of the record's: its form, its functor, and the common dtype that the kernel chose.
template <int N>
SHUNT_ALWAYS_INLINE bool isOfRecord(const Parts<N>& p, const Record& e, Record::Form form) {
  const ScalarType forced = e.kind[kForcedPlace] == kForced ? e.common : ScalarType::Undefined;
  return e.form == form && p.op.num_inputs == N && p.op.id == e.functor && p.forced == forced;
}

/// A number that has no say in promotion.
template <int N>
SHUNT_ALWAYS_INLINE bool takePlainNumber(const Parts<N>& p, int i, const Record& e, Slots& slots) {
  const Scalar* number = p.numbers[i];
  if (p.tensors[i] != nullptr || number == nullptr || !numberFits(*number, e.common)) return false;
  if (e.common == kFloat && number->isBoolean()) return false;  // takeScalars leaves out the checks, which refuse some
  storeFast(*number, e.common, slots.numbers[i]);
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

/// Whether `out` can take a result of `shape`'s sizes. As for the interpreter's fast path (run.cpp: canWrite), and
/// operands elsewhere in the output's storage.
template <int N>
SHUNT_ALWAYS_INLINE bool canTake(const Parts<N>& p, const Record& e, const TensorImpl& shape, const TensorImpl* out) {
  namespace signature = ::shunt::detail::signature;
  constexpr auto kInner = LayoutClass::kInnerContiguous, kStrided = LayoutClass::kAnyStrides;
  const LayoutClass layout = signature::layoutOf(e.output);
  const uint16_t dense = signature::make(p.op.loopOutput(e.common), kCPU, LayoutClass::kContiguous);
  if (!signature::sameKind(e.output, dense) || layout == kInner || layout == kStrided) return false;
  if (out == nullptr || p.op.invalid != nullptr || out->signature() != e.output || !sameSizes(*out, shape))
    return false;
  return allOf<N>([&](int i) __attribute__((always_inline)) {
    const TensorImpl* t = p.tensors[i];
    return t == nullptr || t == out || t->storage() != out->storage() || isApart(*out, *t);
  });
}

/// Whether every input is a number or one element: the loop has one turn.
SHUNT_ALWAYS_INLINE bool isSingle(const KernelDescriptor& op, const Record& e) {
  bool single = true;
  unrolled<kMaxInputs>([&](int i) __attribute__((always_inline)) {
    single &=
        i >= op.num_inputs || isNumber(e.kind[i]) || e.kind[i] == Record::kOneElement || e.kind[i] == kOneOfSeveralDims;
  });
  return single;
}

/// The record's loop of n elements.
template <int N>
SHUNT_ALWAYS_INLINE bool runLoop(const Parts<N>& p, const Record& e, std::byte* out, const View* in, int64_t n,
                                 const ScalarSlot* scalars) {
  const ScalarType result = p.op.loopOutput(e.common);
  if (!e.ready) return expectedLoop(View{out, sizeOf(result), result}, in, n, scalars, e.common, p.op);
  const std::byte* inputs[N];
  uint32_t repeated = 0;
  unrolled<N>([&](int i) __attribute__((always_inline)) {
    inputs[i] = in[i].p;
    repeated |= uint32_t{in[i].stride == 0} << i;
  });
  if (isSingle(p.op, e)) repeated = 0;
  return readyLoop(out, inputs, repeated, n, scalars);
}

/// Whether all inputs are dense, of one shape and of the loop's dtypes. The interpreter's result is dense then whatever
/// the operands' strides in dimensions that address nothing: its fast path (run.cpp). Otherwise it follows those
/// strides, so they must be the usual ones.
template <int N>
SHUNT_ALWAYS_INLINE bool ignoresIdleStrides(const Parts<N>& p, const Record& e) {
  bool uniform = true;
  p.forEachInput([&](int i) __attribute__((always_inline)) {
    uniform &= e.kind[i] == Record::kSameShape && dtypeOf(e, i) == p.op.loopInput(i, e.common);
  });
  return uniform;
}

/// Whether the interpreter's result is dense for these operands, of which those with dimensions have `shape`'s sizes.
template <int N>
SHUNT_ALWAYS_INLINE bool makesDense(const Request& r, const Parts<N>& p, const Record& e, const TensorImpl& shape) {
  // Masks keep empty operands off its fast path.
  if (ignoresIdleStrides(p, e)) return p.op.masks == 0 || shape.numel() != 0;
  return shape.numel() != 0 && haveUsualStrides(r);
}

/// Whether the interpreter's loop is the faster one for so many elements: shared by threads.
SHUNT_ALWAYS_INLINE bool isLarge(int64_t numel) { return numel > kDefaultGrain; }

}  // namespace shunt::elementwise
