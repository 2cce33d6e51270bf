// An operator that a host plan is to call: found by name, with arguments in the schema's order, tried on fake tensors.
// For HostPlanBuilder; nothing of a graph changes here.
#pragma once

#include <shunt/compile/host_plan.h>
#include <shunt/trace/graph.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::compiled {

/// The settings under which all nodes of a host plan run: no history, no autocast.
Graph::Modes hostModes();

/// Whether it is a number, or bool, in the place of a tensor.
bool isNumberForTensor(const Graph::Node& node, size_t argument);
/// As PyTorch has it then: of no dimensions, and by its kind alone of weight for the result's dtype.
Tensor tensorOfNumber(const IValue& number);

using NamedArguments = std::vector<std::pair<std::string, Graph::Argument>>;

/// The node without results; of the overload for numbers where one stands in the place of a tensor and there is such.
/// Throws Error, naming operator and argument, for one that isn't registered, belongs to
/// Shunt's own graphs, has no such argument, gets it twice or misses one; and where a value or a list of values stands
/// for something else than a tensor, or a list of such.
Graph::Node nodeOf(std::string_view name, std::vector<Graph::Argument> arguments, NamedArguments named);

/// What a node gives: for each return, whether it is a list, and the tensors.
using FakeResults = std::vector<std::pair<bool, std::vector<Tensor>>>;
/// Calls the operator on the values' fake tensors. Throws what the operator throws, and Error where it changes sizes or
/// strides of an argument in place, which is undone, or gives something else than tensors.
FakeResults callOnFakes(const Graph::Node& node, const std::vector<Tensor>& fake_by_id);

}  // namespace shunt::compiled
