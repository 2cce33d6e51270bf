// Compiled once for each instruction set (shunt_isa_objects), so nothing but loops and intrinsics may stand here.
#include "bench/direct/loops.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace bench::direct::SHUNT_ISA_NAMESPACE {
namespace {

struct Add {
  static float apply(float a, float b) { return a + b; }
};
struct Mul {
  static float apply(float a, float b) { return a * b; }
};
struct Relu {
  static float apply(float a, float) { return a < 0 ? 0 : a; }
};  // NaN stays

template <class F>
void loop(float* __restrict out, const float* a, const float* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = F::apply(a[i], b[i]);
}

#if defined(__AVX512F__)

constexpr int64_t kLanes = 16;
using Floats = __m512;
using Mask = __mmask16;
Mask firstLanes(int64_t n) { return static_cast<Mask>((1u << n) - 1); }
Floats load(const float* p) { return _mm512_loadu_ps(p); }
Floats load(const float* p, Mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
void store(float* p, Floats x) { _mm512_store_ps(p, x); }
void store(float* p, Floats x, Mask mask) { _mm512_mask_storeu_ps(p, mask, x); }
struct AddFloats {
  static Floats apply(Floats a, Floats b) { return _mm512_add_ps(a, b); }
};
struct MulFloats {
  static Floats apply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
};
// vmaxps gives its second operand where one is a NaN, so a NaN stays.
struct ReluFloats {
  static Floats apply(Floats a, Floats) { return _mm512_max_ps(_mm512_setzero_ps(), a); }
};

#elif defined(__AVX2__)

constexpr int64_t kLanes = 8;
using Floats = __m256;
using Mask = __m256i;
Mask firstLanes(int64_t n) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lanes);
}
Floats load(const float* p) { return _mm256_loadu_ps(p); }
Floats load(const float* p, Mask mask) { return _mm256_maskload_ps(p, mask); }
void store(float* p, Floats x) { _mm256_store_ps(p, x); }
void store(float* p, Floats x, Mask mask) { _mm256_maskstore_ps(p, mask, x); }
struct AddFloats {
  static Floats apply(Floats a, Floats b) { return _mm256_add_ps(a, b); }
};
struct MulFloats {
  static Floats apply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
};
struct ReluFloats {
  static Floats apply(Floats a, Floats) { return _mm256_max_ps(_mm256_setzero_ps(), a); }
};

#endif

#if defined(__AVX2__)

// Four vectors a turn; a load of `b` that relu does not use is dropped.
template <class F>
void loopByHand(float* out, const float* a, const float* b, int64_t n) {
  constexpr int64_t kTurn = 4 * kLanes;
  int64_t i = 0;
  for (; i + kTurn <= n; i += kTurn)
    for (int64_t k = i; k < i + kTurn; k += kLanes) store(out + k, F::apply(load(a + k), load(b + k)));
  for (; i + kLanes <= n; i += kLanes) store(out + i, F::apply(load(a + i), load(b + i)));
  if (i == n) return;
  const Mask mask = firstLanes(n - i);
  store(out + i, F::apply(load(a + i, mask), load(b + i, mask)), mask);
}

constexpr Loops kByHand = {&loopByHand<AddFloats>, &loopByHand<MulFloats>, &loopByHand<ReluFloats>};

#else

constexpr Loops kByHand = {nullptr, nullptr, nullptr};

#endif

}  // namespace

extern const IsaLoops kLoops = {{&loop<Add>, &loop<Mul>, &loop<Relu>}, kByHand};

}  // namespace bench::direct::SHUNT_ISA_NAMESPACE
