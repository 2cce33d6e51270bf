// What an elementwise operator's functor declares: the operator's only definition, from which the ahead-of-time loops,
// the generic loop that the JIT specialises, and the operator's kernels are made.
//
//   struct Add : Functor<2, 1> {                          // two inputs, one scalar
//     static constexpr DtypeSet kTypes = kAllTypes;       // common dtypes it is defined for
//     template <class C> SHUNT_ALWAYS_INLINE C operator()(C a, C b, C alpha) const { return a + alpha * b; }
//   };
//
// C is the compute type: opmath_t of the common dtype. A functor is stateless, pure, and gives the same bits in a
// vector loop and one element at a time (tools/kernel_lint's rules: no libm names, maximum by compare and select, ...).
// Everything it may declare beside that has its default in Functor below. Constants only; any thread.
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

/// Sets of dtypes.
constexpr DtypeSet dtypeBit(ScalarType t) { return DtypeSet{1} << static_cast<int>(t); }
/// The set of these dtypes.
template <class... Ts>
constexpr DtypeSet dtypeSet(Ts... types) {
  return (dtypeBit(types) | ...);
}

/// The sets that functors commonly take.
inline constexpr DtypeSet kFloatTypes = dtypeSet(kHalf, kBFloat16, kFloat, kDouble);
inline constexpr DtypeSet kIntTypes = dtypeSet(kByte, kChar, kShort, kInt, kLong);
inline constexpr DtypeSet kBoolType = dtypeBit(kBool);
inline constexpr DtypeSet kNumberTypes = kFloatTypes | kIntTypes;
inline constexpr DtypeSet kAllTypes = kNumberTypes | kBoolType;

/// How the common dtype, in which the functor is evaluated, follows from the inputs, and the result's from it.
enum class Promotion : uint8_t {
  kDefault,          // torch.result_type of the inputs; the result has it too
  kIntToFloat,       // the same, but integers and bools become the default dtype
  kSelfWithNumbers,  // a floating first input's dtype where an input is a number, else kDefault
  kSelf,             // the first input's dtype, whatever the others have
};

/// What writing to an expanded tensor is.
enum class Overlap : uint8_t { kError, kWarning, kAllowed };

namespace functors {

/// Defaults of what a functor may declare.
template <int Inputs, int Scalars = 0>
struct Functor {
  /// How many tensors and how many numbers it takes.
  static constexpr int kInputs = Inputs;
  static constexpr int kScalars = Scalars;
  static constexpr Promotion promotion = Promotion::kDefault;
  /// The functor returns bool, and so the result's dtype is bool.
  static constexpr bool kBoolOutput = false;
  /// Bit i: input i is a bool tensor that takes no part in promotion (a condition or mask); its argument type is bool.
  static constexpr uint32_t kMaskInputs = 0;
  /// The result may be cast to any output dtype, also to a lesser category (copy_).
  static constexpr bool kAnyCast = false;
  /// A given output must have the common dtype exactly: no cast. Where an input is a tensor instead of the usual
  /// number, casts are legal after all.
  static constexpr bool kSameOutput = false;
  /// A new output is contiguous, whatever layout the inputs have.
  static constexpr bool kContiguousOutput = false;
  static constexpr Overlap kOverlap = Overlap::kError;
  /// In which order the inputs are asked for the output's layout.
  static constexpr int kLayoutOrder[3] = {0, 1, 2};
  /// Bit m: worth a loop of its own where the inputs of the mask m are one element each.
  static constexpr uint32_t kBroadcasts = 0;
  /// So much code that a loop of a thunk's own saves nothing that would be worth its compile: Note [Loops that are
  /// called] (kernels/pointwise/record.cpp).
  static constexpr bool kLarge = false;
  /// How many vectors of floats a loop over many elements computes at a time with AVX-512: where a long chain of
  /// instructions leaves units idle, and so many registers are enough.
  static constexpr int kInterleave = 1;
  /// The same with AVX2, in pairs of vectors, two being computed at a time anyway. It has half as many registers.
  static constexpr int kInterleaveAvx2 = 1;
  /// Whether a loop in compute type C can be a vector loop (no branches, no integer division).
  template <class C>
  static constexpr bool kVectorizes = true;
};

/// For kBroadcasts: the first of two inputs is one element, or the second; the second; the last two of three.
inline constexpr uint32_t kEither = 1u << 1 | 1u << 2, kSecond = 1u << 2, kLastTwo = 1u << 6;

/// One input or two, computed in floating point: integers are promoted to the default dtype.
template <int Inputs, int Scalars = 0>
struct FloatFunctor : Functor<Inputs, Scalars> {
  /// Integers are computed in the default floating dtype.
  static constexpr Promotion promotion = Promotion::kIntToFloat;
  static constexpr DtypeSet kTypes = kFloatTypes;
};

/// Whether the compute type is bool.
template <class C>
inline constexpr bool kIsBool = std::same_as<C, bool>;

}  // namespace functors

/// A functor with a vectorisable half: `fast(args)` equals operator() wherever `inFastRange(args)` holds.
template <class F, class C>
concept HasFastRange = requires(C x) {
  { F::inFastRange(x) } -> std::same_as<bool>;
  { F::fast(x) } -> std::same_as<C>;
};

/// A functor that is undefined for some inputs: `valid(inputs...)` is false there and the operator throws F::kInvalid.
template <class F>
concept HasValidity = requires { F::kInvalid; };

}  // namespace shunt
