#include "tests/math/math_kernels.h"

#include <shunt/elementwise/math/math.h>

// Compiled with SHUNT_MATH_ISA (a name) and SHUNT_MATH_TABLE (the function that returns the table).
namespace shunt::math_test {
namespace {

// A loop that can't be vectorised is a compile error where the build passes -Werror=pass-failed.
#define SHUNT_VECTOR_LOOP _Pragma("clang loop vectorize(enable)")

template <class T, T (*kFunction)(T)>
void vectorLoop(T* __restrict out, const T* __restrict in, int64_t n) {
  SHUNT_VECTOR_LOOP for (int64_t i = 0; i < n; ++i) out[i] = kFunction(in[i]);
}
template <class T, T (*kFunction)(T)>
void plainLoop(T* __restrict out, const T* __restrict in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = kFunction(in[i]);
}
template <class T, T (*kFunction)(T)>
SHUNT_NOINLINE T one(T x) {
  return kFunction(x);
}
template <class T, T (*kFunction)(T, T)>
void pairLoop(T* __restrict out, const T* __restrict a, const T* __restrict b, int64_t n) {
  SHUNT_VECTOR_LOOP for (int64_t i = 0; i < n; ++i) out[i] = kFunction(a[i], b[i]);
}
template <class T, T (*kFunction)(T, T)>
SHUNT_NOINLINE T onePair(T a, T b) {
  return kFunction(a, b);
}

template <class To, class From>
void castLoop(void* out_bytes, const void* in_bytes, int64_t n) {
  To* __restrict out = static_cast<To*>(out_bytes);
  const From* __restrict in = static_cast<const From*>(in_bytes);
  for (int64_t i = 0; i < n; ++i) out[i] = cast<To>(in[i]);
}
template <class To, class From>
SHUNT_NOINLINE void castOne(void* out, const void* in) {
  *static_cast<To*>(out) = cast<To>(*static_cast<const From*>(in));
}

#define SHUNT_UNARY_KERNEL(name, loop)                                        \
  {                                                                           \
    #name, {loop<float, math::name<float>>, one<float, math::name<float>>}, { \
      loop<double, math::name<double>>, one<double, math::name<double>>       \
    }                                                                         \
  }

constexpr UnaryKernel kUnary[] = {SHUNT_UNARY_KERNEL(exp, vectorLoop),     SHUNT_UNARY_KERNEL(log, vectorLoop),
                                  SHUNT_UNARY_KERNEL(tanh, vectorLoop),    SHUNT_UNARY_KERNEL(erf, vectorLoop),
                                  SHUNT_UNARY_KERNEL(sin, plainLoop),      SHUNT_UNARY_KERNEL(cos, plainLoop),
                                  SHUNT_UNARY_KERNEL(sinFast, vectorLoop), SHUNT_UNARY_KERNEL(cosFast, vectorLoop),
                                  SHUNT_UNARY_KERNEL(expm1, vectorLoop),   SHUNT_UNARY_KERNEL(log1p, vectorLoop),
                                  SHUNT_UNARY_KERNEL(sigmoid, vectorLoop), SHUNT_UNARY_KERNEL(rsqrt, vectorLoop),
                                  SHUNT_UNARY_KERNEL(sqrt, vectorLoop),    SHUNT_UNARY_KERNEL(normalCdf, vectorLoop),
                                  SHUNT_UNARY_KERNEL(tan, plainLoop),      SHUNT_UNARY_KERNEL(tanFast, vectorLoop),
                                  SHUNT_UNARY_KERNEL(asin, vectorLoop),    SHUNT_UNARY_KERNEL(acos, vectorLoop),
                                  SHUNT_UNARY_KERNEL(atan, vectorLoop),    SHUNT_UNARY_KERNEL(sinh, vectorLoop),
                                  SHUNT_UNARY_KERNEL(cosh, vectorLoop),    SHUNT_UNARY_KERNEL(asinh, vectorLoop),
                                  SHUNT_UNARY_KERNEL(acosh, vectorLoop),   SHUNT_UNARY_KERNEL(atanh, vectorLoop),
                                  SHUNT_UNARY_KERNEL(exp2, vectorLoop),    SHUNT_UNARY_KERNEL(log2, vectorLoop),
                                  SHUNT_UNARY_KERNEL(log10, vectorLoop),   SHUNT_UNARY_KERNEL(erfc, vectorLoop),
                                  SHUNT_UNARY_KERNEL(lgamma, plainLoop),   SHUNT_UNARY_KERNEL(digamma, plainLoop),
                                  SHUNT_UNARY_KERNEL(trigamma, plainLoop)};

#define SHUNT_PAIR(name, T) {pairLoop<T, math::name<T>>, onePair<T, math::name<T>>}
#define SHUNT_PAIR_KERNEL(name) {#name, SHUNT_PAIR(name, float), SHUNT_PAIR(name, double)}

constexpr PairKernel kPairs[] = {SHUNT_PAIR_KERNEL(atan2), SHUNT_PAIR_KERNEL(hypot), SHUNT_PAIR_KERNEL(nextafter)};

#define SHUNT_CAST(To, From) {#To, #From, sizeof(To), sizeof(From), castLoop<To, From>, castOne<To, From>}
#define SHUNT_CASTS_TO(To)                                                                              \
  SHUNT_CAST(To, bool), SHUNT_CAST(To, uint8_t), SHUNT_CAST(To, int8_t), SHUNT_CAST(To, int16_t),       \
      SHUNT_CAST(To, int32_t), SHUNT_CAST(To, int64_t), SHUNT_CAST(To, Half), SHUNT_CAST(To, BFloat16), \
      SHUNT_CAST(To, float), SHUNT_CAST(To, double)

constexpr CastKernel kCasts[] = {SHUNT_CASTS_TO(bool),    SHUNT_CASTS_TO(uint8_t),  SHUNT_CASTS_TO(int8_t),
                                 SHUNT_CASTS_TO(int16_t), SHUNT_CASTS_TO(int32_t),  SHUNT_CASTS_TO(int64_t),
                                 SHUNT_CASTS_TO(Half),    SHUNT_CASTS_TO(BFloat16), SHUNT_CASTS_TO(float),
                                 SHUNT_CASTS_TO(double)};

constexpr Kernels kKernels = {SHUNT_MATH_ISA, kUnary, SHUNT_PAIR(pow, float), SHUNT_PAIR(pow, double), kPairs, kCasts};

}  // namespace

const Kernels& SHUNT_MATH_TABLE() { return kKernels; }

}  // namespace shunt::math_test
