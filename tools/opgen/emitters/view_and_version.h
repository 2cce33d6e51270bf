// What ADInplaceOrView and Autograd wrappers have in common: the written arguments, the returned ones, views.
#pragma once

#include "tools/opgen/model/operator.h"

namespace opgen {

/// Whether the operator has to bump versions or attach views.
bool needsInplaceOrView(const OperatorDef& op);
/// `statement` with {} replaced, for every argument that is written.
std::string forEachWritten(const OperatorDef& op, const std::string& statement);
/// The return statement of an in-place or out form.
std::string returnWritten(const OperatorDef& op);
/// detach is not: gradients don't flow through it.
bool isDifferentiableView(const OperatorDef& op);

}  // namespace opgen
