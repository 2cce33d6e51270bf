// Type promotion of one call in a vmap level. A pure function of the call, on its thread; outside of the level.
//
// Note [Promotion in front of a batch]
// A tensor without dimensions promotes less than one that has some (Note [Categories of operands]), and with a batch in
// front it has one. The common dtype of the values is then another than that of one sample in two cases:
//   - A batched operand without dimensions is of the same category as the operands that have some, and wider: it would
//     win, and is cast to their common dtype first, as the operator does with one sample.
//   - Operands without dimensions decide, and some of them have no batch: those would lose to the batched ones, and get
//     a dimension, too.
#pragma once

#include "src/transforms/vmap/call.h"

namespace shunt::levels {

/// Changes those of `values`, the call's arguments with batches in front, that would make the operator's common dtype
/// another than that of one sample. For operators that promote all their tensors but masks.
void keepPromotion(const BatchedCall& call, Stack& values);

/// Whether the operator's common dtype is that of one sample without such a change. `masks`: bit i is set where
/// argument i is a mask.
bool promotesAsOneSample(const BatchedCall& call, const Stack& values, uint32_t masks);

/// The dtype in which the operator computes one sample, unless it is one that promotes integers to floating point.
ScalarType commonDtype(const BatchedCall& call);

/// Whether the call's tensors that promote are of more than one dtype.
bool mixesDtypes(const BatchedCall& call);

}  // namespace shunt::levels
