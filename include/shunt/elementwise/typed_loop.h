// The loops of a functor for each common dtype, over consecutive elements: what the interpreter runs.
//
// The dictionary's are compiled several times, for each instruction set, with SHUNT_ISA_NAMESPACE: then everything here
// has internal linkage, since a weak symbol would let the linker choose one instruction set's code for all. A program
// that registers a functor of its own instantiates them once, for what its compiler targets. Memory is the caller's;
// any thread.
#pragma once

#include <shunt/elementwise/loop_types.h>

namespace shunt::elementwise {
#ifdef SHUNT_ISA_NAMESPACE
namespace {
#else
inline namespace compiled_once {
#endif

/// Lanes of a vector loop: whole registers of the compute type also where elements are narrower.
template <class D>
constexpr int kLanes = static_cast<int>(64 / (sizeof(opmath_t<D>) < 4 ? sizeof(D) : sizeof(opmath_t<D>)));

template <class F, size_t I, class D>
using StorageType = std::conditional_t<((F::kMaskInputs >> I) & 1) != 0, bool, D>;

template <class T>
SHUNT_ALWAYS_INLINE Contiguous<T> contiguous(const std::byte* p) {
  return {const_cast<std::byte*>(p)};
}

/// All inputs consecutive, but those of the mask `R`, which are one element each.
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

/// Repeated inputs without a loop of their own become blocks of equal elements.
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

template <class F, class D>
bool isaLoop(std::byte* out, const std::byte* const* in, uint32_t repeated, int64_t n, const ScalarSlot* scalars) {
  return loopBody<F, D>(out, in, repeated, n, scalars);
}

/// For loops with so many vectors in flight that some are spilled: a frame aligned for them. At some of a thread's
/// stack addresses one would else lie across two pages, and the loop take twice as long.
template <class F, class D>
[[gnu::force_align_arg_pointer]] bool alignedLoop(std::byte* out, const std::byte* const* in, uint32_t repeated,
                                                  int64_t n, const ScalarSlot* scalars) {
  return loopBody<F, D>(out, in, repeated, n, scalars);
}

template <class F, class D>
constexpr LoopFn loopOf() {
  if constexpr (kInterleaveOf<F, opmath_t<D>, kLanes<D>> > 1)
    return &alignedLoop<F, D>;
  else
    return &isaLoop<F, D>;
}

template <class F>
constexpr void fillRow(LoopFn* row) {
#define SHUNT_DTYPE(type, name, number, text) \
  if constexpr ((F::kTypes & dtypeBit(k##name)) != 0) row[number] = loopOf<F, type>();
  SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
}
}
}  // namespace shunt::elementwise
