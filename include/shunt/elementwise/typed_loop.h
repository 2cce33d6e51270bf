// The loops of a functor over consecutive elements, one for each common dtype: what the interpreter runs.
//
// - The dictionary's functors: compiled once for each instruction set, with SHUNT_ISA_NAMESPACE. Everything here then
//   has internal linkage: with weak symbols, the linker would choose one instruction set's code for all.
// - A program's custom functors: instantiated once, for the target of its compiler.
// The memory is the caller's. Any thread.
#pragma once

#include <shunt/elementwise/loop_types.h>

namespace shunt::elementwise {
#ifdef SHUNT_ISA_NAMESPACE
namespace {
#else
inline namespace compiled_once {
#endif

/// Lanes of a vector loop: whole registers of the compute type, even if elements are narrower.
template <class D>
constexpr int kLanes = static_cast<int>(64 / (sizeof(opmath_t<D>) < 4 ? sizeof(D) : sizeof(opmath_t<D>)));

/// The type of input I in memory where the common dtype is D: bool for masks.
template <class F, size_t I, class D>
using StorageType = std::conditional_t<((F::kMaskInputs >> I) & 1) != 0, bool, D>;

/// A view of input elements, which must only be read.
template <class T>
SHUNT_ALWAYS_INLINE Contiguous<T> contiguous(const std::byte* p) {
  return {const_cast<std::byte*>(p)};
}

/// The loop for inputs that are consecutive, apart from those in the mask `R`, which are one element each.
template <class F, class D, uint32_t R, size_t... I>
SHUNT_ALWAYS_INLINE bool runLoop(std::byte* out, const std::byte* const* in, int64_t n, const ScalarSlot* scalars,
                                 std::index_sequence<I...> inputs) {
  using C = opmath_t<D>;
  using Out = Contiguous<std::conditional_t<F::kBoolOutput, bool, D>>;
  const auto view = [&]<size_t K>(std::integral_constant<size_t, K>) __attribute__((always_inline)) {
    using T = StorageType<F, K, D>;
    if constexpr (((R >> K) & 1) != 0)
      return Repeated<T>{loadRaw<T>(in[K])};
    else
      return contiguous<T>(in[K]);
  };
  if constexpr (HasFastRange<F, C>) {
    return loop1dFastRange<F, C, kLanes<D>>(Out{out}, n, contiguous<D>(in[0]));
  } else {
    const Bound<F, C> f(scalars);
    return loop1d<F, C, kLanes<D>>(f, Out{out}, 0, n, inputs, view(std::integral_constant<size_t, I>())...);
  }
}

/// For a set of repeated inputs that has no separate loop: fills blocks with equal elements and runs the plain loop.
template <class F, class D, size_t... I>
SHUNT_NOINLINE bool runBlocks(std::byte* out, const std::byte* const* in, uint32_t repeated, int64_t n,
                              const ScalarSlot* scalars, std::index_sequence<I...> inputs) {
  constexpr int64_t kBlock = 256;
  constexpr int64_t kOutSize = F::kBoolOutput ? 1 : sizeof(D);
  alignas(64) std::byte blocks[F::kInputs][kBlock * sizeof(D)];
  const std::byte* pointers[F::kInputs];
  int64_t steps[F::kInputs];
  const auto prepare = [&]<size_t K>(std::integral_constant<size_t, K>) __attribute__((always_inline)) {
    using T = StorageType<F, K, D>;
    const bool repeat = ((repeated >> K) & 1) != 0;
    pointers[K] = repeat ? blocks[K] : in[K];
    steps[K] = repeat ? 0 : static_cast<int64_t>(sizeof(T));
    if (!repeat) return;
    const T value = loadRaw<T>(in[K]);
    const int64_t count = n < kBlock ? n : kBlock;
    for (int64_t i = 0; i < count; ++i) storeRaw<T>(blocks[K] + i * static_cast<int64_t>(sizeof(T)), value);
  };
  (prepare(std::integral_constant<size_t, I>()), ...);
  bool valid = true;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = n - begin < kBlock ? n - begin : kBlock;
    valid &= runLoop<F, D, 0>(out + begin * kOutSize, pointers, count, scalars, inputs);
    ((pointers[I] += kBlock * steps[I]), ...);
  }
  return valid;
}

/// Runs the loop that is compiled for the mask `repeated`, or runBlocks if there is none.
template <class F, class D>
SHUNT_ALWAYS_INLINE bool loopBody(std::byte* out, const std::byte* const* in, uint32_t repeated, int64_t n,
                                  const ScalarSlot* scalars) {
  constexpr auto kInputs = std::make_index_sequence<F::kInputs>();
  if (repeated == 0) [[likely]]
    return runLoop<F, D, 0>(out, in, n, scalars, kInputs);
  if constexpr ((F::kBroadcasts & 1u << 1) != 0)
    if (repeated == 1) return runLoop<F, D, 1>(out, in, n, scalars, kInputs);
  if constexpr ((F::kBroadcasts & 1u << 2) != 0)
    if (repeated == 2) return runLoop<F, D, 2>(out, in, n, scalars, kInputs);
  if constexpr ((F::kBroadcasts & 1u << 6) != 0)
    if (repeated == 6) return runLoop<F, D, 6>(out, in, n, scalars, kInputs);
  return runBlocks<F, D>(out, in, repeated, n, scalars, kInputs);
}

/// loopBody as a LoopFn.
template <class F, class D>
bool isaLoop(std::byte* out, const std::byte* const* in, uint32_t repeated, int64_t n, const ScalarSlot* scalars) {
  return loopBody<F, D>(out, in, repeated, n, scalars);
}

/// For loops with so many vectors in flight that some are spilled: aligns the stack frame for them. Otherwise, at some
/// stack addresses, a spilled vector would cross a page boundary and the loop would take twice as long.
template <class F, class D>
[[gnu::force_align_arg_pointer]] bool alignedLoop(std::byte* out, const std::byte* const* in, uint32_t repeated,
                                                  int64_t n, const ScalarSlot* scalars) {
  return loopBody<F, D>(out, in, repeated, n, scalars);
}

/// The loop for the common dtype D: aligned if it interleaves vectors.
template <class F, class D>
constexpr LoopFn loopOf() {
  if constexpr (kInterleaveOf<F, opmath_t<D>, kLanes<D>> > 1)
    return &alignedLoop<F, D>;
  else
    return &isaLoop<F, D>;
}

/// Sets the entries of F's dtypes in a row of kDtypeSlots entries.
template <class F>
constexpr void fillRow(LoopFn* row) {
#define SHUNT_DTYPE(type, name, number, text) \
  if constexpr ((F::kTypes & dtypeBit(k##name)) != 0) row[number] = loopOf<F, type>();
  SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
}
}
}  // namespace shunt::elementwise
