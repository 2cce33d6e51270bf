// OpInfo: what the elementwise kernels' common code needs of a functor, as constants. Any thread.
#pragma once

#include "kernels/elementwise/functor_checks.h"
#include "kernels/elementwise/functors/all.h"
#include "kernels/elementwise/loop_types.h"

#include <algorithm>

namespace shunt::elementwise {

struct OpInfo {
  int num_inputs;
  int num_scalars;
  Promotion promotion;
  uint32_t masks;         // Functor::kMaskInputs
  uint32_t operands;      // all other inputs
  bool bool_output;
  bool any_cast;
  bool same_output;       // Functor::kSameOutput
  bool contiguous_output;
  Overlap overlap;
  bool is_copy;           // the loop only moves elements
  const int* layout_order;
  DtypeSet types;         // common dtypes that have loops
  const char* invalid;    // message for invalid elements; null where every input is valid
  checks::Check check;    // may be null
  const char* const* arguments;
  const LoopFn* IsaLoops::*family;  // the functor's table...
  int row;                // ...and where its kDtypeSlots entries begin
  const LoopFn* own_loops;  // instead, for functors that are not in a family (users')

  /// Null where the functor is not defined for the dtype.
  LoopFn loop(ScalarType common) const {
    const LoopFn* table = own_loops != nullptr ? own_loops : activeLoops().*family + row;
    return table[static_cast<int>(common)];
  }
  ScalarType loopOutput(ScalarType common) const { return bool_output ? kBool : common; }
  ScalarType loopInput(int i, ScalarType common) const { return ((masks >> i) & 1) != 0 ? kBool : common; }
};

namespace detail {

inline constexpr const char* kDefaultArguments[kMaxInputs] = {"self", "other", "third"};

template <class F, class... Fs>
constexpr int indexOf(TypeList<Fs...>) {
  int index = -1, i = 0;
  ((index = std::is_same_v<F, Fs> ? i : index, ++i), ...);
  return index;
}

template <class F>
constexpr OpInfo describe() {
  static_assert(F::kInputs >= 1 && F::kInputs <= kMaxInputs && F::kScalars <= kMaxScalars);
  OpInfo info{};
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
  info.layout_order = F::kLayoutOrder;
  info.is_copy = std::is_same_v<F, functors::Copy>;
  info.types = F::kTypes;
  info.arguments = kDefaultArguments;
  if constexpr (HasValidity<F>) info.invalid = F::kInvalid;
  if constexpr (requires { F::check; }) info.check = F::check;
  if constexpr (requires { F::kArguments; }) info.arguments = F::kArguments;
  return info;
}

template <class F>
constexpr OpInfo describeBuiltin() {
  OpInfo info = describe<F>();
#define SHUNT_FAMILY(name)                                                              \
  if (constexpr int index = indexOf<F>(functors::name##Functors()); index >= 0) {       \
    info.family = &IsaLoops::name;                                                      \
    info.row = index * kDtypeSlots;                                                     \
  }
  SHUNT_FORALL_FUNCTOR_FAMILIES(SHUNT_FAMILY)
#undef SHUNT_FAMILY
  return info;
}

}  // namespace detail

template <class F>
inline constexpr OpInfo kOpInfo = detail::describeBuiltin<F>();

}  // namespace shunt::elementwise
