// SHUNT_PROFILE: how long the calls of operators take, for a table at the end of the program and a trace of each call.
//
// Note [Profiles]
// Calls are timed where they pass a cold function anyway, so that those of other programs pay nothing: while a profile
// is made the countdown to a thread's next observed call is 1 always, so each unboxed call is an ObservedCall
// (src/tiering/observe.cpp); boxed calls look at one flag for traces and profiles. No sample reaches the compiler then,
// so nothing is compiled, and compile(f) runs f (compiled::isSwitchedOn): every operator is interpreted, and seen.
// Redispatches belong to their call. SHUNT_TRACE=1 takes unboxed calls another way, so they aren't timed then.
//
// Each thread has its own record, which is kept until the process ends. Its lock is taken where a call ends, and by the
// report.
#pragma once

#include <shunt/core/op_state.h>

namespace shunt::profile {

/// Whether SHUNT_PROFILE is set: the same from the first call on. Any thread.
bool isOn();

/// A call of the thread begins and ends. Calls nest. Only where a profile is made.
SHUNT_COLD void begin(const Operator& op, DispatchKeySet keys);
SHUNT_COLD void end() noexcept;

/// One call of the thread, from its construction to its destruction. Without a profile it does nothing.
class TimedScope {
 public:
  TimedScope(const Operator& op, DispatchKeySet keys) {
    if (isOn()) begin(op, keys);
  }
  ~TimedScope() {
    if (isOn()) end();
  }
  TimedScope(const TimedScope&) = delete;
  TimedScope& operator=(const TimedScope&) = delete;
};

}  // namespace shunt::profile
