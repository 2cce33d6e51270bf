// Reductions that say where: the extreme value along the reduced axes and the index of its first occurrence, or the
// index alone. The index counts in the tensor's own order of dimensions; NaN beats every number. Constants; any thread.
#pragma once

#include "kernels/rows/descriptor.h"

namespace shunt::reduce {

void argReduceEngine(const rows::Request& request, const rows::Results& results);
rows::LoopFn argReductionLoop(const rows::Descriptor& op, rows::ComputeType type, rows::Span span);

/// `Acc` is Largest or Smallest.
template <class Acc, bool Values>
struct NamedExtreme {};

template <class Acc, bool Values>
constexpr rows::Descriptor describeExtreme() {
  return {"reduction with indices",
          elementwise::detail::functorId<NamedExtreme<Acc, Values>>() & ~uint64_t{3},
          indexOf<Acc>(),
          ComputeIn::kInput,
          Values ? rows::Second::kIndices : rows::Second::kNone,
          /*keeps_shape=*/false,
          kBlock,
          kLongestColumn,
          &argReduceEngine,
          &argReductionLoop};
}

template <class Acc, bool Values>
inline constexpr rows::Descriptor kExtreme = describeExtreme<Acc, Values>();

/// Whether a descriptor of this header looks for the largest element.
constexpr bool isMaximum(const rows::Descriptor& op) { return op.accumulator == indexOf<accumulators::Largest>(); }

}  // namespace shunt::reduce
