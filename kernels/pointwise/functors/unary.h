// Functions of one number that are computed in floating point, and rounding. See shunt/elementwise/functor.h.
#pragma once

#include <shunt/elementwise/functor.h>

namespace shunt::functors {

// Interleaving: 16 Ki floats took 0.75 (exp), 0.81 (erf), 0.91 (tanh), 0.87 (sigmoid) of the time with AVX-512; 0.94
// (exp), 0.85 (sigmoid) with AVX2, where erf took 1.06. On Zen 4 exp takes 3.29 us with two vectors together,
// 3.35 with four.
#define SHUNT_FLOAT_FUNCTOR(Name, large, interleave, interleave_avx2, expression) \
  struct Name : FloatFunctor<1> {                                                 \
    static constexpr bool kLarge = large;                                         \
    static constexpr int kInterleave = interleave;                                \
    static constexpr int kInterleaveAvx2 = interleave_avx2;                       \
    template <class C>                                                            \
    SHUNT_ALWAYS_INLINE C operator()(C x) const {                                 \
      return expression;                                                          \
    }                                                                             \
  };

SHUNT_FLOAT_FUNCTOR(Exp, true, 2, 2, math::exp(x))
SHUNT_FLOAT_FUNCTOR(Expm1, true, 1, 1, math::expm1(x))
SHUNT_FLOAT_FUNCTOR(Log, true, 1, 1, math::log(x))
SHUNT_FLOAT_FUNCTOR(Log1p, true, 1, 1, math::log1p(x))
SHUNT_FLOAT_FUNCTOR(Sqrt, false, 1, 1, math::sqrt(x))
SHUNT_FLOAT_FUNCTOR(Rsqrt, false, 1, 1, math::rsqrt(x))
SHUNT_FLOAT_FUNCTOR(Reciprocal, false, 1, 1, C(1) / x)
SHUNT_FLOAT_FUNCTOR(ReciprocalSquare, false, 1, 1, C(1) / (x * x))
SHUNT_FLOAT_FUNCTOR(Tanh, true, 2, 1, math::tanh(x))
SHUNT_FLOAT_FUNCTOR(Erf, true, 4, 1, math::erf(x))
SHUNT_FLOAT_FUNCTOR(Sigmoid, true, 2, 2, math::sigmoid(x))
SHUNT_FLOAT_FUNCTOR(Asin, true, 1, 1, math::asin(x))
SHUNT_FLOAT_FUNCTOR(Acos, true, 1, 1, math::acos(x))
SHUNT_FLOAT_FUNCTOR(Atan, true, 1, 1, math::atan(x))
SHUNT_FLOAT_FUNCTOR(Sinh, true, 1, 1, math::sinh(x))
SHUNT_FLOAT_FUNCTOR(Cosh, true, 1, 1, math::cosh(x))
SHUNT_FLOAT_FUNCTOR(Asinh, true, 1, 1, math::asinh(x))
SHUNT_FLOAT_FUNCTOR(Acosh, true, 1, 1, math::acosh(x))
SHUNT_FLOAT_FUNCTOR(Atanh, true, 1, 1, math::atanh(x))
SHUNT_FLOAT_FUNCTOR(Exp2, true, 1, 1, math::exp2(x))
SHUNT_FLOAT_FUNCTOR(Log2, true, 1, 1, math::log2(x))
SHUNT_FLOAT_FUNCTOR(Log10, true, 1, 1, math::log10(x))
SHUNT_FLOAT_FUNCTOR(Erfc, true, 1, 1, math::erfc(x))
SHUNT_FLOAT_FUNCTOR(Deg2Rad, false, 1, 1, C(math::kDegree) * x)
SHUNT_FLOAT_FUNCTOR(Rad2Deg, false, 1, 1, C(math::kDegreesOfRadian) * x)
#undef SHUNT_FLOAT_FUNCTOR

struct Sin : FloatFunctor<1> {
  static constexpr bool kLarge = true;
  template <class C>
  static SHUNT_ALWAYS_INLINE bool inFastRange(C x) {
    return math::trigInFastRange(x);
  }
  template <class C>
  static SHUNT_ALWAYS_INLINE C fast(C x) {
    return math::sinFast(x);
  }
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return math::sin(x);
  }
};

struct Cos : FloatFunctor<1> {
  static constexpr bool kLarge = true;
  template <class C>
  static SHUNT_ALWAYS_INLINE bool inFastRange(C x) {
    return math::trigInFastRange(x);
  }
  template <class C>
  static SHUNT_ALWAYS_INLINE C fast(C x) {
    return math::cosFast(x);
  }
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return math::cos(x);
  }
};

struct Tan : FloatFunctor<1> {
  static constexpr bool kLarge = true;
  template <class C>
  static SHUNT_ALWAYS_INLINE bool inFastRange(C x) {
    return math::trigInFastRange(x);
  }
  template <class C>
  static SHUNT_ALWAYS_INLINE C fast(C x) {
    return math::tanFast(x);
  }
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return math::tan(x);
  }
};

/// sin(pi x) / (pi x), 1 at 0.
struct Sinc : FloatFunctor<1> {
  static constexpr bool kLarge = true;
  template <class C>
  static SHUNT_ALWAYS_INLINE bool inFastRange(C x) {
    return math::trigInFastRange(x * C(math::kPi));
  }
  template <class C>
  static SHUNT_ALWAYS_INLINE C fast(C x) {
    const C angle = x * C(math::kPi);
    return x == C(0) ? C(1) : math::sinFast(angle) / angle;
  }
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    const C angle = x * C(math::kPi);
    return x == C(0) ? C(1) : math::sin(angle) / angle;
  }
};

/// What follows the point, with the sign.
struct Frac : Functor<1> {
  static constexpr bool kSameOutput = true;
  static constexpr DtypeSet kTypes = kFloatTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return x - __builtin_elementwise_trunc(x);
  }
};

// Rounding: integers are integers already.
#define SHUNT_ROUNDING_FUNCTOR(Name, builtin)        \
  struct Name : Functor<1> {                         \
    static constexpr bool kSameOutput = true;        \
    static constexpr DtypeSet kTypes = kNumberTypes; \
    template <class C>                               \
    SHUNT_ALWAYS_INLINE C operator()(C x) const {    \
      if constexpr (std::floating_point<C>)          \
        return builtin(x);                           \
      else                                           \
        return x;                                    \
    }                                                \
  };

SHUNT_ROUNDING_FUNCTOR(Floor, __builtin_elementwise_floor)
SHUNT_ROUNDING_FUNCTOR(Ceil, __builtin_elementwise_ceil)
SHUNT_ROUNDING_FUNCTOR(Trunc, __builtin_elementwise_trunc)
/// Halves go to the even neighbour.
SHUNT_ROUNDING_FUNCTOR(Round, __builtin_elementwise_roundeven)
#undef SHUNT_ROUNDING_FUNCTOR

/// The value itself; the loops' casts make copy_ of it.
struct Copy : Functor<1> {
  static constexpr Promotion promotion = Promotion::kSelf;
  static constexpr DtypeSet kTypes = kAllTypes;
  static constexpr bool kAnyCast = true;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return x;
  }
};

}  // namespace shunt::functors
