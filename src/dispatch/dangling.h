// A log line at the end of a program under SHUNT_LOG=debug: the operators with kernels and without a definition.
#pragma once

namespace shunt {

/// Called once, by the dispatcher's constructor: handlers of exit run in reverse order, so this one runs after
/// programs' static registrations were taken back, which is why entries remember what they lost.
void logDanglingImplsAtExit();

}  // namespace shunt
