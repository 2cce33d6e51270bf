// Which operator of a graph the function calls in another way than it did when the graph was recorded. Pure functions.
#pragma once

#include "src/trace/witness.h"

#include <shunt/trace/graph.h>

#include <span>
#include <string>
#include <vector>

namespace shunt::compiled {

/// For people: "aten::mul.Scalar, whose argument 'other' was 2 when the graph was recorded and is 3 now"; empty: none
/// is found. `inputs`: what the function was called with.
std::string firstOtherOperator(const Graph& graph, std::span<const Tensor* const> inputs,
                               const std::vector<trace_detail::Witness::Call>& calls);

}  // namespace shunt::compiled
