// The functor of an elementwise operator: the operator's only definition. The ahead-of-time loops, the generic loop
// that the JIT specialises, and the operator's kernels are all made from it.
//
//   struct Add : Functor<2, 1> {                          // two inputs, one scalar
//     static constexpr DtypeSet kTypes = kAllTypes;       // common dtypes it is defined for
//     template <class C> SHUNT_ALWAYS_INLINE C operator()(C a, C b, C alpha) const { return a + alpha * b; }
//   };
//
// - C is the compute type: opmath_t of the common dtype.
// - A functor is stateless and pure. It gives the same bits in a vector loop and for one element at a time (rules of
//   tools/kernel_lint: no libm names, maximum by compare and select, ...).
// - Declarations other than those of the example are optional. Functor, below, has their defaults.
// Constants only; any thread.
#pragma once

#include <shunt/core/macros.h>
#include <shunt/elementwise/cast.h>
#include <shunt/elementwise/math/math.h>
#include <shunt/tensor/scalar_type.h>

#include <concepts>
#include <cstdint>

namespace shunt {

/// A set of dtypes: bit n is the ScalarType with number n.
using DtypeSet = uint32_t;

/// The set of one dtype.
constexpr DtypeSet dtypeBit(ScalarType t) { return DtypeSet{1} << static_cast<int>(t); }
/// The set of several dtypes.
template <class... Ts>
constexpr DtypeSet dtypeSet(Ts... types) {
  return (dtypeBit(types) | ...);
}

/// Common values of a functor's kTypes.
inline constexpr DtypeSet kFloatTypes = dtypeSet(kHalf, kBFloat16, kFloat, kDouble);
inline constexpr DtypeSet kIntTypes = dtypeSet(kByte, kChar, kShort, kInt, kLong);
inline constexpr DtypeSet kBoolType = dtypeBit(kBool);
inline constexpr DtypeSet kNumberTypes = kFloatTypes | kIntTypes;
inline constexpr DtypeSet kAllTypes = kNumberTypes | kBoolType;

/// How the common dtype follows from the inputs. The functor is evaluated in it; the result's dtype follows from it.
enum class Promotion : uint8_t {
  kDefault,          // torch.result_type of the inputs; also the dtype of the result
  kIntToFloat,       // kDefault, but integers and bools become the default dtype
  kSelfWithNumbers,  // the first input's dtype if that is floating and an input is a number, else kDefault
  kSelf,             // the first input's dtype; the others don't count
};

/// What happens on a write to an expanded tensor, whose elements share memory.
enum class Overlap : uint8_t { kError, kWarning, kAllowed };

namespace functors {

/// Defaults of everything that a functor may declare.
template <int Inputs, int Scalars = 0>
struct Functor {
  /// How many inputs (tensors or numbers) and how many scalars it takes.
  static constexpr int kInputs = Inputs;
  static constexpr int kScalars = Scalars;
  static constexpr Promotion promotion = Promotion::kDefault;
  /// The functor returns bool, so the result's dtype is bool.
  static constexpr bool kBoolOutput = false;
  /// Bit i: input i is a bool tensor (a condition or mask). It takes no part in promotion; its argument type is bool.
  static constexpr uint32_t kMaskInputs = 0;
  /// The result may be cast to any output dtype, even of a lower category (copy_).
  static constexpr bool kAnyCast = false;
  /// A given output must have exactly the common dtype if an input is a number, or if there is only one input. If all
  /// of several inputs are tensors, casts are allowed.
  static constexpr bool kSameOutput = false;
  /// A new output is contiguous, whatever the inputs' layout.
  static constexpr bool kContiguousOutput = false;
  static constexpr Overlap kOverlap = Overlap::kError;
  /// The order in which the inputs decide the output's layout.
  static constexpr int kLayoutOrder[3] = {0, 1, 2};
  /// Bit m: a separate loop is worthwhile for calls where the inputs in mask m are one element each.
  static constexpr uint32_t kBroadcasts = 0;
  /// The functor has so much code that a specialised loop in a thunk saves too little to be worth its compile: Note
  /// [Loops that are called] (kernels/pointwise/record.cpp).
  static constexpr bool kLarge = false;
  /// How many vectors of floats a loop over many elements computes at a time with AVX-512. More than one helps if a
  /// long chain of instructions leaves units idle and the registers are enough.
  static constexpr int kInterleave = 1;
  /// The same with AVX2, in pairs of vectors: a loop computes two at a time anyway. AVX2 has half as many registers.
  static constexpr int kInterleaveAvx2 = 1;
  /// Whether the loop in compute type C can be a vector loop: no branches, no integer division.
  template <class C>
  static constexpr bool kVectorizes = true;
};

/// For kBroadcasts. One element each: one of two inputs; the second input; the last two of three inputs.
inline constexpr uint32_t kEither = 1u << 1 | 1u << 2, kSecond = 1u << 2, kLastTwo = 1u << 6;

/// A functor that computes in floating point.
template <int Inputs, int Scalars = 0>
struct FloatFunctor : Functor<Inputs, Scalars> {
  /// Integers and bools are promoted to the default dtype.
  static constexpr Promotion promotion = Promotion::kIntToFloat;
  static constexpr DtypeSet kTypes = kFloatTypes;
};

/// Whether the compute type is bool.
template <class C>
inline constexpr bool kIsBool = std::same_as<C, bool>;

}  // namespace functors

/// A functor with a vectorisable half: `fast(x)` has the bits of operator() wherever `inFastRange(x)` is true.
template <class F, class C>
concept HasFastRange = requires(C x) {
  { F::inFastRange(x) } -> std::same_as<bool>;
  { F::fast(x) } -> std::same_as<C>;
};

/// A functor that is undefined for some inputs. There `valid(inputs...)` is false, and the operator throws an error
/// with the message F::kInvalid.
template <class F>
concept HasValidity = requires { F::kInvalid; };

}  // namespace shunt
