// Calls of a stored graph whose operators have got further arguments since it was saved. Pure functions.
#pragma once

#include <shunt/core/function_schema.h>

#include <optional>
#include <vector>

namespace shunt::trace_detail {

/// For each argument of `registered`, its position among those of `stored`; none for an argument that is new and has a
/// default. Throws, with both schemas, unless a call of `stored` is a call of `registered` of the same meaning: each
/// argument is still there, in its order, of its type or of the optional one, with its alias annotation, and the
/// returns are the same. Defaults may differ, since a graph holds every argument.
std::vector<std::optional<size_t>> argumentsOfStored(const FunctionSchema& stored, const FunctionSchema& registered);

}  // namespace shunt::trace_detail
