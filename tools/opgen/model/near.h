// The ends of messages about names that the dictionary doesn't have: "; did you mean 'relu'?", or nothing.
#pragma once

#include "tools/opgen/model/dictionary.h"

#include <string>

namespace opgen {

/// An operator's name, with its overload or without.
std::string nearOperators(const Dictionary& dictionary, const std::string& name);
/// An argument's.
std::string nearArguments(const shunt::FunctionSchema& schema, const std::string& name);

}  // namespace opgen
