// Which result of an operator is which of its arguments, by the alias sets of its schema: `Tensor(a!) x -> Tensor(a!)`.
// For callers that call the operator with others in its arguments' place, and give back what they were given. Pure
// functions; any thread.
#pragma once

#include <shunt/core/function_schema.h>
#include <shunt/core/ivalue.h>

#include <optional>
#include <vector>

namespace shunt::detail {

/// Whether memory of the argument is in the result, be it written or not.
bool sharesAliasSet(const Argument& argument, const Argument& result);

/// Whether the value of an argument has a tensor: an optional one may be None, and a list empty.
bool isGiven(const IValue& argument);

/// For each result that the schema says is written, the position of the argument that it is; nothing for other results,
/// and where no such argument is given, so that the result is a new tensor. Where several arguments are of a result's
/// set, the one that is the result in `arguments` and `results`, with which an operator was called, or else the first.
std::vector<std::optional<size_t>> returnedArguments(const FunctionSchema& schema, const Stack& arguments,
                                                     const Stack& results);

}  // namespace shunt::detail
