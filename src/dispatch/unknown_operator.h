// Why a lookup of an operator by name found none: the end of its message, with the names that are near.
#pragma once

#include <shunt/core/operator_name.h>

#include <string>

namespace shunt {

/// "there is no such operator; did you mean 'aten::relu'?" Takes the dispatcher's lock.
std::string whyNotFound(const OperatorName& wanted);
/// "; did you mean 'aten::relu'?", or nothing: the operators with a definition whose names, without overloads, are
/// near.
std::string nearOperators(const OperatorName& wanted);

}  // namespace shunt
