// How often what operators do has changed: registrations and settings. Any thread.
#pragma once

#include <shunt/core/op_state.h>

#include <atomic>
#include <cstdint>

namespace shunt::detail {

/// Grows before a registration, a deregistration, a change of a process-wide setting, or set_trace() returns, after it
/// is in force: whoever has read the same number before and after knows that nothing has changed between.
extern std::atomic<uint64_t> table_changes;

/// What tells one content of an operator's table from all others, those to come too.
uint64_t fingerprintOf(const Operator& op);

}  // namespace shunt::detail
