// The gamma function's logarithm and its derivatives: they branch and loop, so none is a vector loop. See
// shunt/elementwise/functor.h.
#pragma once

#include <shunt/elementwise/functor.h>

#include <cstdint>

namespace shunt::functors {

#define SHUNT_GAMMA_FUNCTOR(Name, function)       \
  struct Name : FloatFunctor<1> {                 \
    static constexpr bool kLarge = true;          \
    template <class C>                            \
    static constexpr bool kVectorizes = false;    \
    template <class C>                            \
    SHUNT_ALWAYS_INLINE C operator()(C x) const { \
      return function(x);                         \
    }                                             \
  };

SHUNT_GAMMA_FUNCTOR(Lgamma, math::lgamma)
SHUNT_GAMMA_FUNCTOR(Digamma, math::digamma)
SHUNT_GAMMA_FUNCTOR(Trigamma, math::trigamma)
#undef SHUNT_GAMMA_FUNCTOR

/// The nth derivative of digamma, n >= 2: n! zeta(n + 1, x), negative for even n.
struct Polygamma : FloatFunctor<1, 1> {
  static constexpr bool kLarge = true;
  template <class C>
  static constexpr bool kVectorizes = false;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x, C n) const {
    const auto order = static_cast<double>(n);
    double factorial = 1;  // infinite from 171 on
    for (double k = 1; k <= order && factorial - factorial == 0; k += 1) factorial *= k;
    const bool even = static_cast<int64_t>(n) % 2 == 0;
    return static_cast<C>((even ? -factorial : factorial) * math::zeta(order + 1, static_cast<double>(x)));
  }
};

}  // namespace shunt::functors
