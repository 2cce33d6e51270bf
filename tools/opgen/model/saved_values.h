// How each saved value is declared in a node, stored by the wrapper, and given to the formulas.
#pragma once

#include "tools/opgen/model/derivatives.h"

namespace opgen {

/// Member declarations of the node.
std::string savedMember(const SavedValue& s);
/// The expression that the wrapper assigns to the member; `inplace`: the operator overwrites self.
std::string savedExpression(const SavedValue& s, bool inplace);
/// The statement in apply() that makes the local.
std::string savedLocal(const SavedValue& s);
/// The statement in release_variables(); empty for what holds no tensor.
std::string savedRelease(const SavedValue& s);

}  // namespace opgen
