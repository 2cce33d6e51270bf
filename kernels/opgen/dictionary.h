// native_functions.yaml -> Dictionary. Checks every entry and fails with its place; derives in-place and out= forms.
#pragma once

#include "kernels/opgen/operator.h"

namespace opgen {

Dictionary readDictionary(const std::string& path);

}  // namespace opgen
