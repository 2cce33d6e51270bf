// Completes the arguments of a boxed call: positional values, then named ones, then the schema's defaults. Any thread.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <map>
#include <string>

namespace shunt {

/// The complete stack in the schema's order. Values have the types that kernels take: an int given for a float becomes
/// a double. An optional argument without a default becomes None. Throws shunt::Error
/// - that begins with `who` if there are too many arguments, or one is missing, unknown or given twice
/// - that names the argument if its value doesn't fit
SHUNT_API Stack completeArguments(const OperatorHandle& op, Stack given, const std::map<std::string, IValue>& named,
                                  const char* who);

}  // namespace shunt
