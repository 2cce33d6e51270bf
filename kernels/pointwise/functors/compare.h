// Comparisons, logic, bits, predicates. See shunt/elementwise/functor.h.
#pragma once

#include <shunt/elementwise/functor.h>

namespace shunt::functors {

#define SHUNT_COMPARISON_FUNCTOR(Name, expression)        \
  struct Name : Functor<2> {                              \
    static constexpr DtypeSet kTypes = kAllTypes;         \
    static constexpr bool kBoolOutput = true;             \
    static constexpr uint32_t kBroadcasts = kSecond;      \
    template <class C>                                    \
    SHUNT_ALWAYS_INLINE bool operator()(C a, C b) const { \
      return expression;                                  \
    }                                                     \
  };

SHUNT_COMPARISON_FUNCTOR(Eq, a == b)
SHUNT_COMPARISON_FUNCTOR(Ne, a != b)
SHUNT_COMPARISON_FUNCTOR(Lt, a < b)
SHUNT_COMPARISON_FUNCTOR(Le, a <= b)
SHUNT_COMPARISON_FUNCTOR(Gt, a > b)
SHUNT_COMPARISON_FUNCTOR(Ge, a >= b)
SHUNT_COMPARISON_FUNCTOR(LogicalAnd, (a != C(0)) & (b != C(0)))
SHUNT_COMPARISON_FUNCTOR(LogicalOr, (a != C(0)) | (b != C(0)))
SHUNT_COMPARISON_FUNCTOR(LogicalXor, (a != C(0)) != (b != C(0)))
#undef SHUNT_COMPARISON_FUNCTOR

#define SHUNT_PREDICATE_FUNCTOR(Name, of_float, of_integer)           \
  struct Name : Functor<1> {                                          \
    static constexpr DtypeSet kTypes = kAllTypes;                     \
    static constexpr bool kBoolOutput = true;                         \
    template <class C>                                                \
    SHUNT_ALWAYS_INLINE bool operator()([[maybe_unused]] C x) const { \
      if constexpr (std::floating_point<C>)                           \
        return of_float;                                              \
      else                                                            \
        return of_integer;                                            \
    }                                                                 \
  };

SHUNT_PREDICATE_FUNCTOR(LogicalNot, x == C(0), x == C(0))
SHUNT_PREDICATE_FUNCTOR(IsNan, x != x, false)
SHUNT_PREDICATE_FUNCTOR(IsInf, math::detail::abs(x) == math::detail::Format<C>::kInfinity, false)
SHUNT_PREDICATE_FUNCTOR(IsFinite, math::detail::abs(x) < math::detail::Format<C>::kInfinity, true)
#undef SHUNT_PREDICATE_FUNCTOR

// The same, whose out= is a tensor of bools only.
#define SHUNT_BOOL_PREDICATE_FUNCTOR(Name, of_float, of_integer)      \
  struct Name : Functor<1> {                                          \
    static constexpr DtypeSet kTypes = kAllTypes;                     \
    static constexpr bool kBoolOutput = true;                         \
    static constexpr bool kSameOutput = true;                         \
    template <class C>                                                \
    SHUNT_ALWAYS_INLINE bool operator()([[maybe_unused]] C x) const { \
      if constexpr (std::floating_point<C>)                           \
        return of_float;                                              \
      else                                                            \
        return of_integer;                                            \
    }                                                                 \
  };

SHUNT_BOOL_PREDICATE_FUNCTOR(SignBit, math::detail::copysign(C(1), x) < C(0), x < C(0))
SHUNT_BOOL_PREDICATE_FUNCTOR(IsPosInf, x == math::detail::Format<C>::kInfinity, false)
SHUNT_BOOL_PREDICATE_FUNCTOR(IsNegInf, x == -math::detail::Format<C>::kInfinity, false)
#undef SHUNT_BOOL_PREDICATE_FUNCTOR

#define SHUNT_BITWISE_FUNCTOR(Name, op)                       \
  struct Name : Functor<2> {                                  \
    static constexpr DtypeSet kTypes = kIntTypes | kBoolType; \
    template <class C>                                        \
    SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {        \
      return static_cast<C>(a op b);                          \
    }                                                         \
  };

SHUNT_BITWISE_FUNCTOR(BitwiseAnd, &)
SHUNT_BITWISE_FUNCTOR(BitwiseOr, |)
SHUNT_BITWISE_FUNCTOR(BitwiseXor, ^)
#undef SHUNT_BITWISE_FUNCTOR

struct BitwiseNot : Functor<1> {
  static constexpr bool kSameOutput = true;
  static constexpr DtypeSet kTypes = kIntTypes | kBoolType;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a) const {
    if constexpr (kIsBool<C>)
      return !a;
    else
      return static_cast<C>(~a);
  }
};

}  // namespace shunt::functors
