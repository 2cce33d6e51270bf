// add, sub, rsub, mul, neg, abs, sign, square and their like, on every number type. See shunt/elementwise/functor.h.
#pragma once

#include <shunt/elementwise/functor.h>
#include <shunt/elementwise/functor_checks.h>

namespace shunt::functors {

struct Add : Functor<2, 1> {
  static constexpr DtypeSet kTypes = kAllTypes;
  static constexpr uint32_t kBroadcasts = kEither;
  static constexpr auto check = &checks::alpha;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b, C alpha) const {
    if constexpr (kIsBool<C>)
      return a | (alpha & b);
    else
      return static_cast<C>(a + alpha * b);
  }
};

struct Sub : Functor<2, 1> {
  static constexpr DtypeSet kTypes = kNumberTypes;
  static constexpr uint32_t kBroadcasts = kEither;
  static constexpr auto check = &checks::subtraction;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b, C alpha) const {
    return static_cast<C>(a - alpha * b);
  }
};

/// other - alpha * self.
struct Rsub : Functor<2, 1> {
  static constexpr int kLayoutOrder[] = {1, 0};
  static constexpr DtypeSet kTypes = kNumberTypes;
  static constexpr auto check = &checks::subtraction;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C other, C alpha) const {
    return static_cast<C>(other - alpha * self);
  }
};

struct Mul : Functor<2> {
  static constexpr DtypeSet kTypes = kAllTypes;
  static constexpr uint32_t kBroadcasts = kEither;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    if constexpr (kIsBool<C>)
      return a & b;
    else if constexpr (std::integral<C> && sizeof(C) < sizeof(int))
      return static_cast<C>(uint32_t(a) * uint32_t(b));
    else
      return a * b;
  }
};

struct Neg : Functor<1> {
  static constexpr bool kSameOutput = true;
  static constexpr DtypeSet kTypes = kNumberTypes;
  static constexpr auto check = &checks::negation;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a) const {
    return static_cast<C>(-a);
  }
};

/// abs of the least integer is itself, as in PyTorch.
struct Abs : Functor<1> {
  static constexpr bool kSameOutput = true;
  static constexpr DtypeSet kTypes = kNumberTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a) const {
    if constexpr (std::floating_point<C>)
      return math::detail::abs(a);
    else if constexpr (std::is_unsigned_v<C>)
      return a;
    else
      return static_cast<C>(a < 0 ? -a : a);
  }
};

struct Sign : Functor<1> {
  static constexpr bool kSameOutput = true;
  static constexpr DtypeSet kTypes = kAllTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a) const {
    if constexpr (kIsBool<C>)
      return a;
    else
      return static_cast<C>((C(0) < a ? C(1) : C(0)) - (a < C(0) ? C(1) : C(0)));
  }
};

struct Square : Functor<1> {
  static constexpr DtypeSet kTypes = kAllTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a) const {
    return Mul()(a, a);
  }
};

struct Cube : Functor<1> {
  static constexpr DtypeSet kTypes = kAllTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a) const {
    return Mul()(Mul()(a, a), a);
  }
};

/// self + value * tensor1 * tensor2.
struct Addcmul : Functor<3, 1> {
  static constexpr DtypeSet kTypes = kNumberTypes;
  static constexpr const char* kArguments[] = {"self", "tensor1", "tensor2"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C t1, C t2, C value) const {
    if constexpr (std::integral<C>)
      return static_cast<C>(self + Mul()(Mul()(value, t1), t2));
    else
      return self + value * t1 * t2;
  }
};

/// self + value * tensor1 / tensor2.
struct Addcdiv : Functor<3, 1> {
  static constexpr DtypeSet kTypes = kFloatTypes;
  static constexpr const char* kArguments[] = {"self", "tensor1", "tensor2"};
  static constexpr auto check = &checks::addcdiv;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C t1, C t2, C value) const {
    return self + value * t1 / t2;
  }
};

/// The nearer end is the base, so that weights 0 and 1 give the ends exactly.
struct LerpTensor : Functor<3> {
  static constexpr DtypeSet kTypes = kFloatTypes;
  static constexpr const char* kArguments[] = {"self", "end", "weight"};
  static constexpr auto check = &checks::lerpTensor;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C end, C weight) const {
    const C difference = end - self;
    return weight < C(0.5) ? self + weight * difference : end - difference * (C(1) - weight);
  }
};

struct LerpScalar : Functor<2, 1> {
  static constexpr DtypeSet kTypes = kFloatTypes;
  static constexpr const char* kArguments[] = {"self", "end"};
  static constexpr auto check = &checks::lerp;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C end, C weight) const {
    return LerpTensor()(self, end, weight);
  }
};

}  // namespace shunt::functors
