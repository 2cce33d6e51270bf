// Other names of operators in Python: kernels/operators/aliases.yaml. They call the operator they stand for: who
// watches calls sees that.
#pragma once

#include "tools/opgen/model/operator.h"

#include <string>

namespace opgen {

/// Fails on a name that an operator or another alias has, and on an operator that doesn't exist. An operator's in-place
/// form gets the alias with an underscore. "" for no file.
void readAliases(const std::string& path, Dictionary& dictionary);

}  // namespace opgen
