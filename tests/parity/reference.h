// A second opinion on values: the same case in float64, by libtorch's kernels, rounded once. Known differences whose
// reason begins with "float64:" stand only where Shunt's values are the reference's. Pure functions but for the calls
// they run.
#pragma once

#include "tests/parity/compare.h"

#include <shunt/core/function_schema.h>

namespace parity {

/// The case with every floating-point tensor in float64 and, unless some share their storage, dense. `shunt`: what the
/// case gave, whose dtypes its gradients are drawn in.
Case widenedCase(const Case& c, const shunt::FunctionSchema& schema, const Outcome& shunt);

/// What Shunt's values differ in from the reference's, rounded to Shunt's dtypes, in elements where Shunt's and
/// libtorch's are not the same; empty where all are the reference's, to the operator's tolerance. Strides and histories
/// are not looked at.
std::vector<Difference> compareToReference(const Case& c, const shunt::FunctionSchema& schema, const Outcome& shunt,
                                           const Outcome& torch);

}  // namespace parity
