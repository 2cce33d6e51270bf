// Why a lookup of an operator, or of an operator's argument, by name found none: the end of its message, with the names
// that are near.
#pragma once

#include <shunt/core/function_schema.h>

#include <string>
#include <string_view>

namespace shunt {

/// "there is no such operator; did you mean 'aten::relu'?" Takes the dispatcher's lock.
std::string whyNotFound(const OperatorName& wanted);
/// "; did you mean 'aten::relu'?", or nothing: the operators with a definition whose names, without overloads, are
/// near.
std::string nearOperators(const OperatorName& wanted);
/// "; did you mean 'alpha'?", or nothing: the arguments whose names are near. Any thread.
std::string nearArguments(const FunctionSchema& schema, std::string_view name);

}  // namespace shunt
