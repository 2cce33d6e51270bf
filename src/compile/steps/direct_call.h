// Direct calls: a step calls its operator by its C++ signature, with references to the frame's tensors: nothing is
// boxed, and hot entries (core/hot.h) are used as by any call. For the signatures that most operators have; the other
// operators are called boxed.
#pragma once

#include "src/compile/steps/frame.h"

#include <shunt/core/op_state.h>

namespace shunt::compiled {

struct Step;

/// Calls the operator in the world `state` and keeps its results. False: nothing was done, and a boxed call has to.
using DirectCall = bool (*)(const Step& step, Frame& frame, const OpState& state);

/// Does the step without entering the operator's world, where its run may (Frame::mayBeQuick). False: nothing was done.
using QuickCall = bool (*)(const Step& step, Frame& frame);

/// Null where the operator has no such signature.
DirectCall directCallOf(const OperatorHandle& op);

}  // namespace shunt::compiled
