// A case as C++ that a reader can paste into a program against Shunt, and the same against libtorch.
#pragma once

#include "tests/parity/case.h"

#include <shunt/core/function_schema.h>

#include <string>

namespace parity {

std::string snippetOf(const Case& c, const shunt::FunctionSchema& schema);

}  // namespace parity
