// What the dictionary's reductions compute: one struct each, named by `reduction` or `accumulators` of the entries in
// kernels/operators. The interpreter's loops, those of thunks, Meta and fake tensors are made from it
// (docs/adding_an_operator.md). Included by sources compiled once per instruction set, so everything is inlined. Pure
// functions; any thread.
//
// An accumulator joins one term for each element:
//   kJoin                            how terms are joined, in the order of Note [Order of reductions] (loop_table.h)
//   term(x, pivot, number)           an element's term; left out: the element itself
//   kFromFirst                       of a Pivot: its terms' pivot is the block's first element
//   Pivot                            an accumulator whose result over a block (its mean, its largest element) the
//                                    block's terms are relative to, so that they keep their precision; or void
//   merge(value, pivot, count, ...)  joins what two blocks came to; with a Pivot only
//   finish(value, pivot, count, number)   the result; left out: the value itself
//   resultType(name, self, dtype)    the result's dtype for an operator of that name, or its error
//   kTypes                           the types that it is computed in
// `number` is the call's own: a norm's power, a variance's correction.
#pragma once

#include "kernels/rows/result_type.h"

#include <shunt/core/macros.h>
#include <shunt/elementwise/math/exp.h>
#include <shunt/elementwise/math/log.h>
#include <shunt/elementwise/math/pow.h>
#include <shunt/elementwise/math/roots.h>

#include <limits>
#include <type_traits>

namespace shunt::reduce {

/// kMax and kMin propagate NaN; on truth values they are "any" and "all".
enum class Join : uint8_t { kSum, kProd, kMax, kMin };

/// What a reduction is computed in. kWide is for scans, whose results are all rounded: double for float, float for the
/// 16-bit types.
enum class ComputeIn : uint8_t { kResult, kInput, kTruth, kDouble, kWide };

/// Types of values, to be joined by |.
enum : unsigned { kOnDouble = 1, kOnFloats = 3, kOnIntegers = 4, kOnTruths = 8 };

template <class A>
inline constexpr unsigned kTypeBit = std::is_same_v<A, double>    ? 1u
                                     : std::is_same_v<A, float>   ? 2u
                                     : std::is_same_v<A, int64_t> ? 4u
                                                                  : 8u;

/// Defaults.
struct Accumulator {
  using Pivot = void;
  static constexpr unsigned kTypes = kOnFloats;
  static constexpr ComputeIn kIn = ComputeIn::kResult;
  static constexpr bool kNeedsElements = false;  // of none there is no result
  static constexpr bool kFromFirst = false;
};

}  // namespace shunt::reduce

namespace shunt::accumulators {

using reduce::Accumulator;
using reduce::ComputeIn;
using reduce::Join;

template <class A>
SHUNT_ALWAYS_INLINE A magnitude(A x) {
  return math::detail::abs(x);
}

struct Sum : Accumulator {
  static constexpr Join kJoin = Join::kSum;
  static constexpr unsigned kTypes = reduce::kOnFloats | reduce::kOnIntegers;
  static constexpr auto resultType = reduce::typeOfSum;
};

struct Product : Sum {
  static constexpr Join kJoin = Join::kProd;
};

struct Mean : Sum {
  static constexpr unsigned kTypes = reduce::kOnFloats;
  static constexpr auto resultType = reduce::typeOfMean;
  template <class A>
  SHUNT_ALWAYS_INLINE static A finish(A sum, A, A count, A) {
    return sum / count;
  }
};

struct Largest : Accumulator {
  static constexpr Join kJoin = Join::kMax;
  static constexpr unsigned kTypes = reduce::kOnFloats | reduce::kOnIntegers | reduce::kOnTruths;
  static constexpr bool kNeedsElements = true;
  static constexpr auto resultType = reduce::typeOfInput;
};

struct Smallest : Largest {
  static constexpr Join kJoin = Join::kMin;
};

struct Any : Accumulator {
  static constexpr Join kJoin = Join::kMax;
  static constexpr unsigned kTypes = reduce::kOnTruths;
  static constexpr ComputeIn kIn = ComputeIn::kTruth;
  static constexpr auto resultType = reduce::typeOfTruth;
};

struct All : Any {
  static constexpr Join kJoin = Join::kMin;
};

/// The mean as a Pivot: exact where all elements are equal, so that their variance is 0.
struct MeanFromFirst : Accumulator {
  static constexpr Join kJoin = Join::kSum;
  static constexpr unsigned kTypes = reduce::kOnDouble;
  static constexpr ComputeIn kIn = ComputeIn::kDouble;
  static constexpr bool kFromFirst = true;
  static constexpr auto resultType = reduce::typeOfMean;
  template <class A>
  SHUNT_ALWAYS_INLINE static A term(A x, A first, A) {
    return x - first;
  }
  template <class A>
  SHUNT_ALWAYS_INLINE static A finish(A sum, A first, A count, A) {
    return first + sum / count;
  }
};

/// Squared distances from the mean, in double: each block's from its own mean. Divided by count - correction.
struct Variance : Accumulator {
  using Pivot = MeanFromFirst;
  static constexpr Join kJoin = Join::kSum;
  static constexpr unsigned kTypes = reduce::kOnDouble;
  static constexpr ComputeIn kIn = ComputeIn::kDouble;
  static constexpr auto resultType = reduce::typeOfMoment;
  template <class A>
  SHUNT_ALWAYS_INLINE static A term(A x, A mean, A) {
    const A distance = x - mean;
    return distance * distance;
  }
  /// Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for computing sample variances (1979).
  template <class A>
  SHUNT_ALWAYS_INLINE static void merge(A& sum, A& mean, A count, A sum2, A mean2, A count2) {
    const A total = count + count2, distance = mean2 - mean;
    mean = mean + distance * (count2 / total);
    sum = sum + sum2 + distance * distance * (count * count2 / total);
  }
  template <class A>
  SHUNT_ALWAYS_INLINE static A finish(A sum, A, A count, A correction) {
    return sum / (count > correction ? count - correction : A(0));
  }
};

struct StandardDeviation : Variance {
  template <class A>
  SHUNT_ALWAYS_INLINE static A finish(A sum, A mean, A count, A correction) {
    return math::sqrt(Variance::finish(sum, mean, count, correction));
  }
};

/// log(sum(exp(x))) without overflow: terms are relative to the block's largest element.
struct LogSumExp : Accumulator {
  using Pivot = Largest;
  static constexpr Join kJoin = Join::kSum;
  static constexpr auto resultType = reduce::typeOfFloating;
  /// What is taken off: an infinity would leave NaN.
  template <class A>
  SHUNT_ALWAYS_INLINE static A shift(A largest) {
    return magnitude(largest) == std::numeric_limits<A>::infinity() ? A(0) : largest;
  }
  template <class A>
  SHUNT_ALWAYS_INLINE static A term(A x, A largest, A) {
    return math::exp(x - shift(largest));
  }
  template <class A>
  SHUNT_ALWAYS_INLINE static void merge(A& sum, A& largest, A, A sum2, A largest2, A) {
    const A both = ((largest2 > largest) | (largest2 != largest2)) ? largest2 : largest;
    // A sum relative to 0 instead of an infinity is 0 or infinite, and stays so.
    sum = sum * math::exp(largest - shift(both)) + sum2 * math::exp(largest2 - shift(both));
    largest = both;
  }
  template <class A>
  SHUNT_ALWAYS_INLINE static A finish(A sum, A largest, A, A) {
    return math::log(sum) + shift(largest);
  }
};

// ---- norms --------------------------------------------------------------------------------------------------------

struct Norm : Accumulator {
  static constexpr Join kJoin = Join::kSum;
  static constexpr auto resultType = reduce::typeOfFloating;
};

struct NonZeros : Norm {
  template <class A>
  SHUNT_ALWAYS_INLINE static A term(A x, A, A) {
    return x != A(0) ? A(1) : A(0);
  }
};

struct SumOfMagnitudes : Norm {
  template <class A>
  SHUNT_ALWAYS_INLINE static A term(A x, A, A) {
    return magnitude(x);
  }
};

struct LargestMagnitude : SumOfMagnitudes {
  static constexpr Join kJoin = Join::kMax;
};
struct SmallestMagnitude : SumOfMagnitudes {
  static constexpr Join kJoin = Join::kMin;
};

struct Euclidean : Norm {
  template <class A>
  SHUNT_ALWAYS_INLINE static A term(A x, A, A) {
    return x * x;
  }
  template <class A>
  SHUNT_ALWAYS_INLINE static A finish(A sum, A, A, A) {
    return math::sqrt(sum);
  }
};

struct PowerNorm : Norm {
  template <class A>
  SHUNT_ALWAYS_INLINE static A term(A x, A, A power) {
    return math::pow(magnitude(x), power);
  }
  template <class A>
  SHUNT_ALWAYS_INLINE static A finish(A sum, A, A, A power) {
    return math::pow(sum, A(1) / power);
  }
};

}  // namespace shunt::accumulators

namespace shunt::reduce {

// What an accumulator has. Its functions are named by use alone, so one that is misspelt must not go unnoticed: what
// has a Pivot has a term and a merge, and nothing else has a merge.
template <class Acc>
inline constexpr bool kHasTerm = requires { Acc::template term<double>(0, 0, 0); };
template <class Acc>
inline constexpr bool kHasFinish = requires { Acc::template finish<double>(0, 0, 0, 0); };
template <class Acc>
inline constexpr bool kHasPivot = !std::is_void_v<typename Acc::Pivot>;
/// Whether its terms are relative to a pivot.
template <class Acc>
inline constexpr bool kIsRelative = kHasPivot<Acc> || Acc::kFromFirst;
template <class Acc>
concept HasMerge = requires(double a, double b) { Acc::template merge<double>(a, b, 0, 0, 0, 0); };

template <class Acc>
constexpr bool isComplete() {
  static_assert(std::is_same_v<decltype(Acc::kJoin), const Join>, "an accumulator says how terms are joined: kJoin");
  static_assert(
      requires(ScalarType (*f)(const char*, ScalarType, std::optional<ScalarType>)) { f = Acc::resultType; },
      "an accumulator names the rule for its result's dtype: resultType (kernels/rows/result_type.h)");
  static_assert((Acc::kTypes & 15u) != 0, "an accumulator has types that it is computed in: kTypes");
  static_assert(!kHasPivot<Acc> || kHasTerm<Acc>, "an accumulator with a Pivot has term(x, pivot, number)");
  static_assert(kHasPivot<Acc> == HasMerge<Acc>,
                "an accumulator with a Pivot, and no other, has merge(value, pivot, count, value2, pivot2, count2)");
  return true;
}

}  // namespace shunt::reduce
