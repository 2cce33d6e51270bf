// KernelDescriptor: the constants of a pointwise kernel, what its functor declares and where its loops are. The engine
// that plans a call, Meta and fake tensors, and the recording for the compiler read nothing else. Constant; any thread.
#pragma once

#include <shunt/elementwise/functor_checks.h>
#include <shunt/elementwise/loop_types.h>

namespace shunt::elementwise {

struct KernelDescriptor {
  int num_inputs;                             // 1 to kMaxInputs
  int num_scalars;                            // 0 to kMaxScalars
  Promotion promotion;                        // from the inputs' dtypes to the common dtype
  uint32_t masks;                             // Functor::kMaskInputs
  uint32_t operands;                          // mask of all other inputs, which take part in promotion
  bool bool_output;                           // Functor::kBoolOutput: the result is bool
  bool any_cast;                              // Functor::kAnyCast: casts to a lower category are legal
  bool same_output;                           // Functor::kSameOutput
  bool contiguous_output;                     // Functor::kContiguousOutput: a new output ignores the inputs' layout
  Overlap overlap;                            // of a given output that is expanded
  bool is_copy;                               // the loop only moves elements
  bool large;                                 // Functor::kLarge
  uint32_t broadcasts;                        // Functor::kBroadcasts, and bit 0 (no input is one element)
  const int* layout_order;                    // Functor::kLayoutOrder
  DtypeSet types;                             // common dtypes that have loops
  const char* invalid;                        // error message for invalid elements; null if every input is valid
  checks::Check check;                        // may be null
  const char* const* arguments;               // names of the inputs in messages
  int shard;                                  // of the dictionary's functors: the library's table, ...
  int row;                                    // ...and the index of the first of the kDtypeSlots entries
  const GenericLoopFn* const* generic_shard;  // the table that the JIT specialises from, at `row`
  const LoopFn* own_loops;                    // of a program's custom functors instead: kDtypeSlots entries, ...
  const GenericLoopFn* own_generic_loops;     // ...and those that the JIT specialises
  uint64_t id;                                // equal for equal functors, in any library and in bitcode

  /// Null if the functor isn't defined for the dtype. Only the library defines this function.
  LoopFn loop(ScalarType common) const;
  ScalarType loopOutput(ScalarType common) const { return bool_output ? kBool : common; }
  ScalarType loopInput(int i, ScalarType common) const { return ((masks >> i) & 1) != 0 ? kBool : common; }
};

namespace detail {

inline constexpr const char* kDefaultArguments[kMaxInputs] = {"self", "other", "third"};

/// The FNV-1a hash of the functor's name as the compiler spells it.
template <class F>
constexpr uint64_t functorId() {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char* c = __PRETTY_FUNCTION__; *c != 0; ++c)
    hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3u;
  return hash;
}

/// The descriptor without loops.
template <class F>
constexpr KernelDescriptor describe() {
  static_assert(F::kInputs >= 1 && F::kInputs <= kMaxInputs, "an elementwise functor has one to three inputs");
  static_assert(F::kScalars <= kMaxScalars, "an elementwise functor has at most three scalars");
  KernelDescriptor info{};
  info.num_inputs = F::kInputs;
  info.num_scalars = F::kScalars;
  info.promotion = F::promotion;
  info.masks = F::kMaskInputs;
  info.operands = ((1u << F::kInputs) - 1) & ~F::kMaskInputs;
  info.bool_output = F::kBoolOutput;
  info.any_cast = F::kAnyCast;
  info.same_output = F::kSameOutput;
  info.contiguous_output = F::kContiguousOutput;
  info.overlap = F::kOverlap;
  info.large = F::kLarge;
  info.broadcasts = F::kBroadcasts | 1;
  info.layout_order = F::kLayoutOrder;
  info.types = F::kTypes;
  info.id = functorId<F>();
  info.arguments = kDefaultArguments;
  if constexpr (HasValidity<F>) info.invalid = F::kInvalid;
  if constexpr (requires { F::check; }) info.check = F::check;
  if constexpr (requires { F::kArguments; }) info.arguments = F::kArguments;
  return info;
}

}  // namespace detail

}  // namespace shunt::elementwise
