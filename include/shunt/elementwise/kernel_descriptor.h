// KernelDescriptor: what a pointwise kernel computes, as constants: what its functor declares, and where the loops are
// that were made of it. The engine that plans a call, Meta and fake tensors, and what is recorded for the compiler read
// nothing else. Any thread.
#pragma once

#include <shunt/elementwise/functor_checks.h>
#include <shunt/elementwise/loop_types.h>

namespace shunt::elementwise {

struct KernelDescriptor {
  int num_inputs;
  int num_scalars;
  Promotion promotion;
  uint32_t masks;     // Functor::kMaskInputs
  uint32_t operands;  // all other inputs
  bool bool_output;
  bool any_cast;
  bool same_output;  // Functor::kSameOutput
  bool contiguous_output;
  Overlap overlap;
  bool is_copy;         // the loop only moves elements
  bool large;           // Functor::kLarge
  uint32_t broadcasts;  // Functor::kBroadcasts, and bit 0
  const int* layout_order;
  DtypeSet types;       // common dtypes that have loops
  const char* invalid;  // message for invalid elements; null where every input is valid
  checks::Check check;  // may be null
  const char* const* arguments;
  int shard;                                  // the dictionary's functors: which of the library's tables...
  int row;                                    // ...and where its kDtypeSlots entries begin
  const GenericLoopFn* const* generic_shard;  // what the JIT specialises, at `row` of it
  const LoopFn* own_loops;                    // instead, for a program's own functors: kDtypeSlots entries,
  const GenericLoopFn* own_generic_loops;     // and what the JIT specialises
  uint64_t id;                                // the same for equal functors, in any library and in bitcode

  /// Null where the functor is not defined for the dtype. The library's only.
  LoopFn loop(ScalarType common) const;
  ScalarType loopOutput(ScalarType common) const { return bool_output ? kBool : common; }
  ScalarType loopInput(int i, ScalarType common) const { return ((masks >> i) & 1) != 0 ? kBool : common; }
};

namespace detail {

inline constexpr const char* kDefaultArguments[kMaxInputs] = {"self", "other", "third"};

/// FNV-1a of the functor's name as the compiler spells it.
template <class F>
constexpr uint64_t functorId() {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char* c = __PRETTY_FUNCTION__; *c != 0; ++c)
    hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3u;
  return hash;
}

/// All but the loops.
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
