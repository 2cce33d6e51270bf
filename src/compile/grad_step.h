// Steps that set, add to and read grads: the library "trace" (src/trace/operators.cpp), without its dispatch.
#pragma once

#include "src/compile/step.h"

namespace shunt::compiled {

/// Makes the step a direct call where its operator is one of these, for tensors like the node's.
void callDirectly(Step& step);

}  // namespace shunt::compiled
