// where, masked_fill, maximum, minimum, clamp, threshold, relu, and one operand of two. See
// shunt/elementwise/functor.h.
//
// Maximum and minimum are compares and selects: a NaN operand is the result, and of two equal operands (+0 and -0) the
// first. fmax and the vector instructions differ in just these points.
#pragma once

#include <shunt/elementwise/functor.h>
#include <shunt/elementwise/functor_checks.h>

namespace shunt::functors {

struct Maximum : Functor<2> {
  static constexpr DtypeSet kTypes = kAllTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    if constexpr (std::floating_point<C>)
      return ((a < b) | (b != b)) ? b : a;
    else
      return a < b ? b : a;
  }
};

struct Minimum : Functor<2> {
  static constexpr DtypeSet kTypes = kAllTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C a, C b) const {
    if constexpr (std::floating_point<C>)
      return ((b < a) | (b != b)) ? b : a;
    else
      return b < a ? b : a;
  }
};

/// min(max(self, min), max): where min > max the result is max.
struct Clamp : Functor<3> {
  static constexpr uint32_t kBroadcasts = kLastTwo;
  static constexpr DtypeSet kTypes = kAllTypes;
  static constexpr Promotion promotion = Promotion::kSelfWithNumbers;
  static constexpr bool kSameOutput = true;
  static constexpr auto check = &checks::clampNumbers;
  static constexpr const char* kArguments[] = {"self", "min", "max"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C min, C max) const {
    return Minimum()(Maximum()(self, min), max);
  }
};

struct ClampMin : Functor<2> {
  static constexpr DtypeSet kTypes = kAllTypes;
  static constexpr Promotion promotion = Promotion::kSelfWithNumbers;
  static constexpr bool kSameOutput = true;
  static constexpr auto check = &checks::clampNumbers;
  static constexpr uint32_t kBroadcasts = kEither;
  static constexpr const char* kArguments[] = {"self", "min"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C min) const {
    return Maximum()(self, min);
  }
};

struct ClampMax : Functor<2> {
  static constexpr DtypeSet kTypes = kAllTypes;
  static constexpr Promotion promotion = Promotion::kSelfWithNumbers;
  static constexpr bool kSameOutput = true;
  static constexpr auto check = &checks::clampNumbers;
  static constexpr uint32_t kBroadcasts = kEither;
  static constexpr const char* kArguments[] = {"self", "max"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C max) const {
    return Minimum()(self, max);
  }
};

struct Relu : Functor<1> {
  static constexpr DtypeSet kTypes = kNumberTypes;
  static constexpr auto check = &checks::noBool;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return x < C(0) ? C(0) : x;
  }
};

struct Threshold : Functor<1, 2> {
  static constexpr Overlap kOverlap = Overlap::kAllowed;  // a second time changes nothing
  static constexpr DtypeSet kTypes = kNumberTypes;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x, C threshold, C value) const {
    return x <= threshold ? value : x;
  }
};

struct ThresholdBackward : Functor<2, 1> {
  static constexpr int kLayoutOrder[] = {1, 0};
  static constexpr DtypeSet kTypes = kNumberTypes;
  static constexpr const char* kArguments[] = {"grad_output", "self"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C self, C threshold) const {
    return self <= threshold ? C(0) : grad;
  }
};

struct Where : Functor<3> {
  static constexpr DtypeSet kTypes = kAllTypes;
  static constexpr uint32_t kMaskInputs = 1;
  static constexpr const char* kArguments[] = {"condition", "self", "other"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(bool condition, C self, C other) const {
    return condition ? self : other;
  }
};

struct MaskedFill : Functor<2, 1> {
  static constexpr bool kContiguousOutput = true;
  static constexpr Overlap kOverlap = Overlap::kWarning;
  static constexpr Promotion promotion = Promotion::kSelf;
  static constexpr DtypeSet kTypes = kAllTypes;
  static constexpr uint32_t kMaskInputs = 2;
  static constexpr const char* kArguments[] = {"self", "mask"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, bool mask, C value) const {
    return mask ? value : self;
  }
};

/// `self`; only the derivative looks at `scale`.
struct ScaleGradient : Functor<2> {
  static constexpr Promotion promotion = Promotion::kSelf;
  static constexpr DtypeSet kTypes = kFloatTypes;
  static constexpr const char* kArguments[] = {"self", "scale"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C) const {
    return self;
  }
};

}  // namespace shunt::functors
