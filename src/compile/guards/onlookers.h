// Whether somebody on this thread sees the operators that a run calls, so that leaving out or joining calls would show.
#pragma once

#include <shunt/core/tls.h>

namespace shunt::compiled {

/// Whether no keys are on that see every operator: dispatch modes, and what trace() or vmap are made of.
inline bool isPlainThread() { return (detail::tls_state.included & ~detail::kDefaultIncluded) == 0; }

/// Whether a step that is done without its operator's table is as good as a call.
bool nothingSeesOperators();

}  // namespace shunt::compiled
