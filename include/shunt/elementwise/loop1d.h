// loop1d: the one loop of all elementwise operators, a template over how operands are accessed.
//
// - With views of constant dtype and stride it becomes the ahead-of-time loops (typed_loop.h).
// - With DynamicView, whose dtype and stride are run-time values, it is the generic loop whose bitcode the JIT
//   specialises (generic_loop.h).
// The caller owns the memory. An input may be exactly the output's memory, but may not overlap it otherwise. Any
// thread.
#pragma once

#include <shunt/elementwise/functor.h>

#include <cstddef>
#include <utility>

// Pragmas to put before a loop. VECTOR: its elements are independent; the template has a constant `Lanes`. INTERLEAVED:
// the same, and it computes `kTogether` vectors at a time. SCALAR: it must stay scalar.
#ifdef __clang__
#define SHUNT_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety) vectorize_width(Lanes) interleave_count(1)")
#define SHUNT_INTERLEAVED_LOOP \
  _Pragma("clang loop vectorize(assume_safety) vectorize_width(Lanes) interleave_count(kTogether)")
#define SHUNT_SCALAR_LOOP _Pragma("clang loop vectorize(disable) unroll(disable)")
#else
#define SHUNT_VECTOR_LOOP _Pragma("GCC ivdep")
#define SHUNT_INTERLEAVED_LOOP SHUNT_VECTOR_LOOP
#define SHUNT_SCALAR_LOOP
#endif

namespace shunt::elementwise {

/// A scalar argument: its first bytes are a value of the functor's compute type.
struct alignas(8) ScalarSlot {
  std::byte bytes[8];
};

/// Reads a T from memory of any type, within the aliasing rules.
template <class T>
SHUNT_ALWAYS_INLINE T loadRaw(const std::byte* p) {
  if constexpr (std::is_same_v<T, bool>) {
    return *reinterpret_cast<const uint8_t*>(p) != 0;  // any non-zero byte counts as true
  } else {
#ifdef __clang__
    using Aliasing [[gnu::may_alias]] = T;
    return *reinterpret_cast<const Aliasing*>(p);
#else  // g++ has no such attribute for classes
    T value;
    __builtin_memcpy(static_cast<void*>(&value), p, sizeof(T));
    return value;
#endif
  }
}

/// Writes a T to memory of any type, within the aliasing rules.
template <class T>
SHUNT_ALWAYS_INLINE void storeRaw(std::byte* p, T value) {
#ifdef __clang__
  using Aliasing [[gnu::may_alias]] = T;
  *reinterpret_cast<Aliasing*>(p) = value;
#else
  __builtin_memcpy(p, static_cast<const void*>(&value), sizeof(T));
#endif
}

/// Consecutive elements of type T.
template <class T>
struct Contiguous {
  std::byte* p;  // the first element
  /// Element i, cast to C.
  template <class C>
  SHUNT_ALWAYS_INLINE C load(int64_t i) const {
    return cast<C>(loadRaw<T>(p + i * static_cast<int64_t>(sizeof(T))));
  }
  /// Casts `value` to T.
  template <class C>
  SHUNT_ALWAYS_INLINE void store(int64_t i, C value) const {
    storeRaw<T>(p + i * static_cast<int64_t>(sizeof(T)), cast<T>(value));
  }
};

/// One element for every index; it was read from memory once.
template <class T>
struct Repeated {
  T value;
  /// The element, cast to C.
  template <class C>
  SHUNT_ALWAYS_INLINE C load(int64_t) const {
    return cast<C>(value);
  }
};

/// The argument type of F's input I when F computes in C.
template <class F, size_t I, class C>
using InputType = std::conditional_t<((F::kMaskInputs >> I) & 1) != 0, bool, C>;

/// Functor::kInterleave or kInterleaveAvx2 where the target and C are those that they are for, else 1.
template <class F, class C, int Lanes>
inline constexpr int kInterleaveOf =
#if defined(__AVX512F__)
    std::is_same_v<C, float> && Lanes == 16 ? F::kInterleave : 1;
#elif defined(__AVX2__)
    std::is_same_v<C, float> && Lanes == 16 ? F::kInterleaveAvx2 : 1;
#else
    1;
#endif

/// A functor with its scalars. C is the compute type.
template <class F, class C>
struct Bound {
  C scalars[F::kScalars == 0 ? 1 : F::kScalars];  // copies of the slots' values

  SHUNT_ALWAYS_INLINE explicit Bound(const ScalarSlot* slots) : scalars{} {
    for (int s = 0; s < F::kScalars; ++s) scalars[s] = loadRaw<C>(slots[s].bytes);
  }
  template <class... Inputs>
  SHUNT_ALWAYS_INLINE auto operator()(Inputs... inputs) const {
    static_assert(sizeof...(Inputs) == F::kInputs && F::kScalars <= 3);
    if constexpr (F::kScalars == 0)
      return F()(inputs...);
    else if constexpr (F::kScalars == 1)
      return F()(inputs..., scalars[0]);
    else if constexpr (F::kScalars == 2)
      return F()(inputs..., scalars[0], scalars[1]);
    else
      return F()(inputs..., scalars[0], scalars[1], scalars[2]);
  }
};

/// out[i] = f(ins[i]...) for i in [begin, end). `Lanes` is the width of the vector loop; 0 lets the compiler choose.
/// Returns false if an element was invalid (see HasValidity).
template <class F, class C, int Lanes, class Out, class... Ins, size_t... I>
SHUNT_ALWAYS_INLINE bool loop1d(const Bound<F, C>& f, const Out& out, int64_t begin, int64_t end,
                                std::index_sequence<I...>, const Ins&... ins) {
  bool valid = true;
  const auto element = [&](int64_t i) __attribute__((always_inline)) {
    if constexpr (HasValidity<F>) valid &= F::valid(ins.template load<InputType<F, I, C>>(i)...);
    out.store(i, f(ins.template load<InputType<F, I, C>>(i)...));
  };
  if constexpr (Lanes > 0 && F::template kVectorizes<C>) {
    // The pragma declares elements independent, so that exact aliasing of output and input doesn't prevent the vector
    // loop. Lanes are wide already: interleaving all elements would leave short tensors to the scalar tail, so only
    // whole rounds are interleaved.
    constexpr int kTogether = kInterleaveOf<F, C, Lanes>;
    if constexpr (kTogether > 1) {
      const int64_t rounds = begin + (end - begin) / (kTogether * Lanes) * (kTogether * Lanes);
      SHUNT_INTERLEAVED_LOOP
      for (int64_t i = begin; i < rounds; ++i) element(i);
      begin = rounds;
    }
    SHUNT_VECTOR_LOOP
    for (int64_t i = begin; i < end; ++i) element(i);
  } else {
    for (int64_t i = begin; i < end; ++i) element(i);
  }
  return valid;
}

/// loop1d for functors with a fast range. A block with an element outside it is computed one element at a time.
template <class F, class C, int Lanes, class Out, class In>
  requires HasFastRange<F, C>
SHUNT_ALWAYS_INLINE bool loop1dFastRange(const Out& out, int64_t n, const In& in) {
  constexpr int64_t kBlock = 256;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    bool fast = true;
    SHUNT_VECTOR_LOOP
    for (int64_t i = begin; i < end; ++i) fast &= F::inFastRange(in.template load<C>(i));
    if (fast) [[likely]] {
      SHUNT_VECTOR_LOOP
      for (int64_t i = begin; i < end; ++i) out.store(i, F::fast(in.template load<C>(i)));
    } else {
      SHUNT_SCALAR_LOOP
      for (int64_t i = begin; i < end; ++i) out.store(i, F()(in.template load<C>(i)));
    }
  }
  return true;
}

}  // namespace shunt::elementwise
