// What the expecting functions (expected.h) read of a request and of its record: used by expected.cpp,
// expected_rows.cpp and record.cpp only. Pure functions on the caller's data; inlined, so that in a thunk the record's
// content folds.
#pragma once

#include "kernels/pointwise/expected.h"

namespace shunt::elementwise {

/// Calls f(0) to f(N - 1), each with a constant.
template <int N, class F>
SHUNT_ALWAYS_INLINE void unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>)
      __attribute__((always_inline)) { (f(I), ...); }(std::make_integer_sequence<int, N>());
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

}  // namespace shunt::elementwise
