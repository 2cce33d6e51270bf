// The generic loop of a functor, one for each compute type: dtypes and strides are run-time values.
//
// The JIT specialises the loop's bitcode by passing constants. The interpreter doesn't run it; tests compare it with
// the loops that the interpreter runs. It is instantiated where a table of generic loops is made:
// - in the generated pointwise_generic_<shard>.cpp, compiled once to object and bitcode;
// - in a program that registers a custom functor.
// Pure functions on the caller's memory; any thread.
#pragma once

#include <shunt/elementwise/loop_types.h>

#include <array>

namespace shunt::elementwise {

/// The element at `p`, of dtype `dtype`, cast to the common dtype and then to C = opmath_t of `common`.
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

/// Stores `value` at `p`: rounds it, once, to the loop's output dtype `common`, then casts it to `dtype`.
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

/// An operand of the generic loop. `common` is the common dtype; for the output, the loop's output dtype.
struct DynamicView {
  View view;
  ScalarType common;
  /// Element i by way of `common`. C is the compute type.
  template <class C>
  SHUNT_ALWAYS_INLINE C load(int64_t i) const {
    return loadAs<C>(view.p + i * view.stride, view.dtype, common);
  }
  /// Rounds to `common`, then casts to the operand's dtype.
  template <class C>
  SHUNT_ALWAYS_INLINE void store(int64_t i, C value) const {
    storeAs<C>(view.p + i * view.stride, view.dtype, common, value);
  }
};

/// Evaluates an element outside the fast range. A call: inlined code would be computed for all lanes.
template <class F, class C>
SHUNT_NOINLINE C fullRange(C x) noexcept {
  return F()(x);
}

/// loop1dFastRange for dynamic views. The compiler chooses which of its loops to vectorise.
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

/// genericLoop with the indices of the inputs as a pack.
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

/// A GenericLoopFn. The JIT extracts it by its mangled name.
template <class F, class C>
bool genericLoop(const View& out, const View* in, int64_t n, const ScalarSlot* scalars, ScalarType common) {
  return genericLoopImpl<F, C>(out, in, n, scalars, common, std::make_index_sequence<F::kInputs>());
}

/// Sets the entries of F's dtypes in a row of kDtypeSlots entries.
template <class F>
constexpr void fillGenericRow(GenericLoopFn* row) {
#define SHUNT_DTYPE(type, name, number, text) \
  if constexpr ((F::kTypes & dtypeBit(k##name)) != 0) row[number] = &genericLoop<F, opmath_t<type>>;
  SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
}

/// A table with kDtypeSlots entries for each functor, indexed by the common dtype.
template <class... Fs>
constexpr auto makeGenericTable() {
  std::array<GenericLoopFn, sizeof...(Fs) * kDtypeSlots> table{};
  GenericLoopFn* row = table.data();
  ((fillGenericRow<Fs>(row), row += kDtypeSlots), ...);
  return table;
}

}  // namespace shunt::elementwise
