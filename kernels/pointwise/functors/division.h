// Division in its modes, remainders, powers. See shunt/elementwise/functor.h.
//
// Integers: division by zero is an error of the operator (kInvalid), the least integer divided by -1 wraps to itself.
#pragma once

#include "kernels/pointwise/functors/fmod.h"

#include <shunt/elementwise/functor.h>

namespace shunt::functors {

struct Div : FloatFunctor<2> {
  static constexpr uint32_t kBroadcasts = kEither;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    return a / b;
  }
};

/// What integer division and remainder share. Divisors for which the hardware would trap never reach it: by -1 it is
/// negation, and invalid elements are divided by 1.
struct IntegerDivision : Functor<2> {
  static constexpr bool kLarge = true;
  static constexpr DtypeSet kTypes = kNumberTypes;
  static constexpr const char* kInvalid = "ZeroDivisionError";
  template <class C>
  static constexpr bool kVectorizes = false;
  template <class C>
  static SHUNT_ALWAYS_INLINE bool valid([[maybe_unused]] C a, C b) {
    return std::floating_point<C> || b != C(0);
  }

 protected:
  template <class C>
  struct Result {
    C quotient, remainder;
  };
  template <std::integral C>
  static SHUNT_ALWAYS_INLINE Result<C> divide(C a, C b) {
    const bool negate = std::is_signed_v<C> && b == static_cast<C>(-1);
    const C divisor = ((b == C(0)) | negate) ? C(1) : b;
    const C quotient = static_cast<C>(a / divisor);
    return {negate ? static_cast<C>(-a) : quotient, negate ? C(0) : static_cast<C>(a - quotient * divisor)};
  }
};

struct DivTrunc : IntegerDivision {
  template <class C>
  static constexpr bool kVectorizes = std::floating_point<C>;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    if constexpr (std::floating_point<C>)
      return __builtin_elementwise_trunc(a / b);
    else
      return divide(a, b).quotient;
  }
};

/// Rounds towards minus infinity; in floating point the quotient is that of (a - remainder) / b, so that it is right
/// where a / b itself rounds up to an integer.
struct DivFloor : IntegerDivision {
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    if constexpr (std::floating_point<C>) {
      if (b == C(0)) return a / b;
      const C remainder = fmod(a, b);
      C quotient = (a - remainder) / b;
      if ((remainder != C(0)) & ((b < C(0)) != (remainder < C(0)))) quotient -= C(1);
      if (quotient == C(0)) return math::detail::copysign(C(0), a / b);
      const C floor = __builtin_elementwise_floor(quotient);
      return quotient - floor > C(0.5) ? floor + C(1) : floor;
    } else {
      const Result<C> r = divide(a, b);
      const bool down = (r.remainder != C(0)) & ((a < C(0)) != (b < C(0)));
      return static_cast<C>(r.quotient - (down ? C(1) : C(0)));
    }
  }
};

/// a - b * floor(a / b): has the divisor's sign.
struct Remainder : IntegerDivision {
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    if constexpr (std::floating_point<C>) {
      const C r = fmod(a, b);
      return ((r != C(0)) & ((b < C(0)) != (r < C(0)))) ? r + b : r;
    } else {
      const C r = divide(a, b).remainder;
      return static_cast<C>(((r != C(0)) & ((r < C(0)) != (b < C(0)))) ? r + b : r);
    }
  }
};

/// a - b * trunc(a / b): has the dividend's sign.
struct Fmod : IntegerDivision {
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    if constexpr (std::floating_point<C>)
      return fmod(a, b);
    else
      return divide(a, b).remainder;
  }
};

/// Integers by repeated squaring; a negative exponent gives 0, except for the bases 1 and -1.
struct Pow : Functor<2> {
  static constexpr bool kLarge = true;
  static constexpr DtypeSet kTypes = kNumberTypes;
  static constexpr const char* kArguments[] = {"self", "exponent"};
  template <class C>
  static constexpr bool kVectorizes = std::floating_point<C>;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C base, C exponent) const {
    if constexpr (std::floating_point<C>) {
      return math::pow(base, exponent);
    } else {
      using U = std::conditional_t<(sizeof(C) < sizeof(int)), uint32_t, std::make_unsigned_t<C>>;
      if (exponent < C(0)) {
        if (base == C(1)) return C(1);
        return base == static_cast<C>(-1) ? static_cast<C>(exponent & 1 ? -1 : 1) : C(0);
      }
      U result = 1, factor = static_cast<U>(base);
      for (U e = static_cast<U>(exponent); e != 0; e >>= 1) {
        if (e & 1) result *= factor;
        factor *= factor;
      }
      return static_cast<C>(result);
    }
  }
};

}  // namespace shunt::functors
