// What operators do, in words for Python's help(): kernels/operators/<family>_docs.yaml. One text for all overloads of
// a name.
#pragma once

#include "tools/opgen/model/operator.h"

#include <map>
#include <string>
#include <vector>

namespace opgen {

/// By the operator's name without its overload. Texts have no newline at either end.
using Docs = std::map<std::string, std::string>;

/// Fails on a name that the dictionary doesn't have or that has two texts, and on a text without an example.
Docs readDocs(const std::vector<std::string>& paths, const Dictionary& dictionary);

}  // namespace opgen
