#include "bench/direct/block.h"
#include "bench/direct/direct.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace bench {
namespace direct {
namespace {

constexpr int64_t kLanes = 16, kUnrolled = 4;

template <class F>
[[gnu::noinline]] Block* map(const float* a, const float* b, int64_t n) {
  Block* const out = make(n, 64);
  float* const data = out->data;
  int64_t i = 0;
  for (; i + kLanes * kUnrolled <= n; i += kLanes * kUnrolled)
    for (int64_t k = i; k < i + kLanes * kUnrolled; k += kLanes)
      _mm512_store_ps(data + k, F()(_mm512_loadu_ps(a + k), b + k));
  for (; i < n; i += kLanes) {
    const auto mask = static_cast<__mmask16>(n - i < kLanes ? (1u << (n - i)) - 1 : 0xffffu);
    _mm512_mask_storeu_ps(data + i, mask, F()(_mm512_maskz_loadu_ps(mask, a + i), b + i));
  }
  return out;
}

// The second operand by its address: relu has none.
struct Add { __m512 operator()(__m512 a, const float* b) const { return _mm512_add_ps(a, _mm512_loadu_ps(b)); } };
struct Mul { __m512 operator()(__m512 a, const float* b) const { return _mm512_mul_ps(a, _mm512_loadu_ps(b)); } };
// vmaxps gives its second operand where one is a NaN, so a NaN stays.
struct Relu { __m512 operator()(__m512 a, const float*) const { return _mm512_max_ps(_mm512_setzero_ps(), a); } };

}  // namespace
}  // namespace direct

std::unique_ptr<Call> makeAvx512Call(const Case& c) {
  using namespace direct;
  if (!__builtin_cpu_supports("avx512f")) return nullptr;
  const Binary function = c.op == "add" ? &map<Add> : c.op == "mul" ? &map<Mul> : c.op == "relu" ? &map<Relu> : nullptr;
  if (function == nullptr) throw std::invalid_argument("no hand-vectorised " + c.op);
  return std::make_unique<DirectCall>(function, c.numel);
}

}  // namespace bench
#else
namespace bench {
std::unique_ptr<Call> makeAvx512Call(const Case&) { return nullptr; }
}  // namespace bench
#endif
