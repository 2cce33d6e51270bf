// The arguments of a boxed call from those that a person names: the others get the schema's defaults. Any thread.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <map>
#include <string>

namespace shunt {

/// The whole stack, in the schema's order, with values of the types that kernels take: an int that stands for a float
/// becomes one. Throws an Error that begins with `who` where an argument is missing, unknown or given twice, and one
/// that names the argument where a value doesn't fit.
SHUNT_API Stack completeArguments(const OperatorHandle& op, Stack given, const std::map<std::string, IValue>& named,
                                  const char* who);

}  // namespace shunt
