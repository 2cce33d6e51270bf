// What is said of operators with kernels and without a definition: a log line at the end of a program under
// SHUNT_LOG=debug, and a part of the error of a call that finds no kernel.
#pragma once

#include <shunt/core/operator_name.h>

#include <string>

namespace shunt {

/// " A kernel for CPU is registered for 'my::sclae', which nobody defined, at my_ops.cpp:12; was 'my::scale' meant?":
/// the first kernel of an undefined operator whose name is near that of `called`, or differs in namespace or overload
/// only. Empty if there is none. Takes the dispatcher's lock.
std::string danglingNear(const OperatorName& called);

/// Called once, by the dispatcher's constructor: handlers of exit run in reverse order, so this one runs after
/// programs' static registrations were taken back, which is why entries remember what they lost.
void logDanglingImplsAtExit();

}  // namespace shunt
