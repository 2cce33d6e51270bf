// The dictionary's files -> Dictionary. Checks every entry and fails with its place; derives in-place and out= forms.
#pragma once

#include "tools/opgen/model/operator.h"

namespace opgen {

Dictionary readDictionary(const std::vector<std::string>& paths);

}  // namespace opgen
