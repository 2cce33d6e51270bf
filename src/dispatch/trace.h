// A place for what only upper layers know of a dispatch step, such as which mode the key Python leads to.
#pragma once

#include <shunt/core/op_state.h>

#include <string>

namespace shunt::detail {

/// What the calling thread's step of a call with these keys goes to, for people: "LoggingMode"; empty where there is
/// nothing to add.
using StepNote = std::string (*)(const OpState& state, DispatchKeySet keys);

/// Whether boxed calls are traced or profiled: one look for both.
extern std::atomic<bool> boxed_calls_are_watched;

/// Called by whoever traces, before the step; set once, while the library is loaded.
void setStepNote(StepNote note);

}  // namespace shunt::detail
