// The generic loop of a functor: run-time dtypes and strides, one for each compute type. Its bitcode is what the JIT
// specialises by passing constants; the interpreter doesn't run it, tests compare it with the loops that it does run.
//
// Instantiated where a table of them is made: by generic_<family>.cpp of the dictionary, which are compiled once to
// object and bitcode, and where a program registers a functor of its own. Pure functions on the caller's memory.
#pragma once

#include <shunt/elementwise/loop_types.h>

#include <array>

namespace shunt::elementwise {

/// An element of dtype `dtype` as the loop sees it: cast to the common dtype, computed with as C. C = opmath_t of
/// `common`.
template <class C>
inline C loadAs(const std::byte* p, ScalarType dtype, ScalarType common) {
  C value{};
  switch (dtype) {
#define SHUNT_DTYPE(type, name, number, text) \
  case ScalarType::name:                      \
    value = cast<C>(loadRaw<type>(p));        \
    break;
    SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
    default:
      __builtin_unreachable();
  }
  if constexpr (std::is_same_v<C, float>) {
    if (common == kHalf && dtype != kHalf) return cast<float>(cast<Half>(value));
    if (common == kBFloat16 && dtype != kBFloat16) return cast<float>(cast<BFloat16>(value));
  }
  return value;
}

/// The one rounding: `value` to the loop's output dtype `common`, then cast to `dtype`.
template <class C>
inline void storeAs(std::byte* p, ScalarType dtype, ScalarType common, C value) {
  if constexpr (std::is_same_v<C, float>) {
    if (common == kHalf && dtype != kHalf) value = cast<float>(cast<Half>(value));
    if (common == kBFloat16 && dtype != kBFloat16) value = cast<float>(cast<BFloat16>(value));
  }
  switch (dtype) {
#define SHUNT_DTYPE(type, name, number, text) \
  case ScalarType::name:                      \
    storeRaw<type>(p, cast<type>(value));     \
    break;
    SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
    default:
      __builtin_unreachable();
  }
}

struct DynamicView {
  View view;
  ScalarType common;
  template <class C>
  SHUNT_ALWAYS_INLINE C load(int64_t i) const {
    return loadAs<C>(view.p + i * view.stride, view.dtype, common);
  }
  template <class C>
  SHUNT_ALWAYS_INLINE void store(int64_t i, C value) const {
    storeAs<C>(view.p + i * view.stride, view.dtype, common, value);
  }
};

/// An element outside the fast range: a call, since inlined it would be computed for all lanes at once.
template <class F, class C>
SHUNT_NOINLINE C fullRange(C x) noexcept {
  return F()(x);
}

/// loop1dFastRange for dynamic views, of which every loop is the compiler's to vectorise.
template <class F, class C>
SHUNT_ALWAYS_INLINE bool genericFastRange(const DynamicView& out, int64_t n, const DynamicView& in) {
  constexpr int64_t kBlock = 256;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    bool fast = true;
    for (int64_t i = begin; i < end; ++i) fast &= F::inFastRange(in.template load<C>(i));
    if (fast) [[likely]] {
      for (int64_t i = begin; i < end; ++i) out.store(i, F::fast(in.template load<C>(i)));
    } else {
      for (int64_t i = begin; i < end; ++i) out.store(i, fullRange<F, C>(in.template load<C>(i)));
    }
  }
  return true;
}

template <class F, class C, size_t... I>
SHUNT_ALWAYS_INLINE bool genericLoopImpl(const View& out, const View* in, int64_t n, const ScalarSlot* scalars,
                                         ScalarType common, std::index_sequence<I...> inputs) {
  const DynamicView result{out, F::kBoolOutput ? kBool : common};
  if constexpr (HasFastRange<F, C>) {
    return genericFastRange<F, C>(result, n, DynamicView{in[I], common}...);
  } else {
    const Bound<F, C> f(scalars);
    return loop1d<F, C, 0>(f, result, 0, n, inputs, DynamicView{in[I], common}...);
  }
}

/// What the JIT extracts, by this function's mangled name.
template <class F, class C>
bool genericLoop(const View& out, const View* in, int64_t n, const ScalarSlot* scalars, ScalarType common) {
  return genericLoopImpl<F, C>(out, in, n, scalars, common, std::make_index_sequence<F::kInputs>());
}

template <class F>
constexpr void fillGenericRow(GenericLoopFn* row) {
#define SHUNT_DTYPE(type, name, number, text) \
  if constexpr ((F::kTypes & dtypeBit(k##name)) != 0) row[number] = &genericLoop<F, opmath_t<type>>;
  SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
}

/// kDtypeSlots entries for each functor, by the common dtype.
template <class... Fs>
constexpr auto makeGenericTable() {
  std::array<GenericLoopFn, sizeof...(Fs) * kDtypeSlots> table{};
  GenericLoopFn* row = table.data();
  ((fillGenericRow<Fs>(row), row += kDtypeSlots), ...);
  return table;
}

}  // namespace shunt::elementwise
