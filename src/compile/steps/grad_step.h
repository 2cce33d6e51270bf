// Steps that set, add to and read grads: the library "trace" (src/trace/operators.cpp), without its dispatch.
#pragma once

#include "src/compile/passes/aliases.h"
#include "src/compile/steps/step.h"

namespace shunt::compiled {

/// A quick call asks none of them.
inline constexpr const auto& kPassedByQuickCalls = ::shunt::detail::kAboveBackends;

/// Of an addition to a grad: whether somebody holds the gradient, so that the leaf copies it.
bool isHeld(const Graph::Node& accumulates);

/// Gives a gradient that the leaf could keep as it lies the leaf's strides in dimensions of size 1. False: it could
/// not.
bool layOutAs(const Tensor& leaf, const Tensor& gradient);

/// Before a step that adds_view: a gradient that ends here, and that the leaf may keep, gets the leaf's strides in
/// dimensions of size 1.
void layOutAsLeaf(const Step& step, Frame& frame);

/// Makes the step a direct call where its operator is one of these, for tensors like the node's.
void callDirectly(Step& step);
/// Whether the step of a direct call may have a quick one, too, in this program or another one of its graph.
inline bool mayBeQuick(const Step& step) { return step.kernel.slot >= 0 && !isOfDictionary(*step.node); }
/// The same step's quick call, once it is known who reads its operands last.
void callQuickly(Step& step);
/// Gives a read of a grad, all of whose readers find that themselves, nothing to do.
void readGradLate(Step& step);
/// Whether it has.
bool findsNoGrad(const Step& step);

}  // namespace shunt::compiled
