// Functions of two numbers: angles, hypotenuses, logarithms of sums, signs and neighbours; shifts; and what replaces or
// limits special values. See shunt/elementwise/functor.h.
#pragma once

#include "kernels/pointwise/functors/select.h"

#include <shunt/elementwise/functor.h>

namespace shunt::functors {

/// Integers are promoted.
#define SHUNT_FLOAT_PAIR_FUNCTOR(Name, large, expression) \
  struct Name : FloatFunctor<2> {                         \
    static constexpr bool kLarge = large;                 \
    template <class C>                                    \
    SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {    \
      return expression;                                  \
    }                                                     \
  };

SHUNT_FLOAT_PAIR_FUNCTOR(Atan2, true, math::atan2(a, b))
SHUNT_FLOAT_PAIR_FUNCTOR(Copysign, false, math::detail::copysign(a, b))
#undef SHUNT_FLOAT_PAIR_FUNCTOR

/// Two integers are an error, as in PyTorch.
#define SHUNT_FLOAT_ONLY_PAIR_FUNCTOR(Name, expression) \
  struct Name : Functor<2> {                            \
    static constexpr bool kLarge = true;                \
    static constexpr DtypeSet kTypes = kFloatTypes;     \
    template <class C>                                  \
    SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {  \
      return expression;                                \
    }                                                   \
  };

namespace detail {
inline constexpr double kLog2e = 0x1.71547652b82fep+0;

/// The larger of two and what a smaller one adds; infinities of one sign, whose difference is NaN, are their own sum.
template <class C>
SHUNT_ALWAYS_INLINE C logSum(C a, C b, C added) {
  return ((a == b) & (math::detail::abs(a) == math::detail::Format<C>::kInfinity)) ? a : Maximum()(a, b) + added;
}
template <class C>
SHUNT_ALWAYS_INLINE C minusDistance(C a, C b) {
  return -math::detail::abs(a - b);
}
}  // namespace detail

SHUNT_FLOAT_ONLY_PAIR_FUNCTOR(Hypot, math::hypot(a, b))
SHUNT_FLOAT_ONLY_PAIR_FUNCTOR(LogAddExp, detail::logSum(a, b, math::log1p(math::exp(detail::minusDistance(a, b)))))
SHUNT_FLOAT_ONLY_PAIR_FUNCTOR(LogAddExp2,
                              detail::logSum(a, b,
                                             math::log1p(math::exp2(detail::minusDistance(a, b))) * C(detail::kLog2e)))
#undef SHUNT_FLOAT_ONLY_PAIR_FUNCTOR

/// The next number of the dtype: 16-bit types are computed in another one.
struct Nextafter : Functor<2> {
  static constexpr DtypeSet kTypes = dtypeSet(kFloat, kDouble);
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    return math::nextafter(a, b);
  }
};

/// a log(b), and 0 where a is 0 and b isn't NaN.
struct Xlogy : FloatFunctor<2> {
  static constexpr bool kLarge = true;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    const C product = a * math::log(b);
    return ((a == C(0)) & (b == b)) ? C(0) : product;
  }
};

/// As Maximum and Minimum, but of a NaN and a number the number.
struct Fmax : Functor<2> {
  static constexpr DtypeSet kTypes = kAllTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    if constexpr (std::floating_point<C>)
      return ((a < b) | (a != a)) ? b : a;
    else
      return a < b ? b : a;
  }
};
struct Fmin : Functor<2> {
  static constexpr DtypeSet kTypes = kAllTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    if constexpr (std::floating_point<C>)
      return ((b < a) | (a != a)) ? b : a;
    else
      return b < a ? b : a;
  }
};

/// 0 below 0 and for NaN, 1 above, `values` at 0.
struct Heaviside : Functor<2> {
  static constexpr DtypeSet kTypes = kAllTypes;
  static constexpr const char* kArguments[] = {"self", "values"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x, C values) const {
    return x == C(0) ? values : (x > C(0) ? C(1) : C(0));
  }
};

struct NanToNum : Functor<1, 3> {
  static constexpr bool kSameOutput = true;
  static constexpr DtypeSet kTypes = kFloatTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x, C nan, C above, C below) const {
    constexpr C kInfinity = math::detail::Format<C>::kInfinity;
    const C finite = x == kInfinity ? above : (x == -kInfinity ? below : x);
    return x != x ? nan : finite;
  }
};

/// log(x / (1 - x)) of x within [eps, 1 - eps]; a negative eps is none.
struct Logit : FloatFunctor<1, 1> {
  static constexpr bool kLarge = true;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x, C eps) const {
    const C high = C(1) - eps;
    const C below = ((eps >= C(0)) & (x > high)) ? high : x;
    const C inside = ((eps >= C(0)) & (x < eps)) ? eps : below;
    return math::log(inside / (C(1) - inside));
  }
};

/// Shifts by less than 0 or by all bits and more push every bit out.
template <class C>
inline constexpr C kBits = static_cast<C>(sizeof(C) * 8);

struct LeftShift : Functor<2> {
  static constexpr DtypeSet kTypes = kIntTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    using U = std::conditional_t<(sizeof(C) < sizeof(int)), uint32_t, std::make_unsigned_t<C>>;
    const bool out = (b < C(0)) | (b >= kBits<C>);
    return out ? C(0) : static_cast<C>(static_cast<U>(a) << static_cast<U>(out ? C(0) : b));
  }
};

struct RightShift : Functor<2> {
  static constexpr DtypeSet kTypes = kIntTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    const bool out = (b < C(0)) | (b >= kBits<C>);
    const C filled = a < C(0) ? static_cast<C>(-1) : C(0);
    return out ? filled : static_cast<C>(a >> (out ? C(0) : b));
  }
};

}  // namespace shunt::functors
