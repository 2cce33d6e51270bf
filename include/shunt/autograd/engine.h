// Running the backward graph: shunt::autograd::backward and grad.
//
// Runs in the caller's thread, with its thread-local state, and without recursion in the depth of the graph. Several
// threads may run at once over graphs that share leaves, or interior nodes that are retained. Hooks and custom
// functions may call backward again. When a node throws, the error goes to the caller and the engine stays usable;
// gradients that leaves received before stay.
#pragma once

#include <shunt/autograd/node.h>

namespace shunt::autograd {

/// Adds the gradients of `tensors` to the leaves they depend on, or to `inputs` only when given. `grad_tensors`: the
/// gradient of each (empty or undefined: 1, for one-element tensors). retain_graph defaults to create_graph.
SHUNT_API void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
                        std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                        const variable_list& inputs = {});

/// Returns the gradients of `outputs` with respect to `inputs`; leaves' grad is untouched. An input that is not part of
/// the graph is an error, or an undefined tensor with allow_unused.
SHUNT_API variable_list grad(const variable_list& outputs, const variable_list& inputs,
                             const variable_list& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                             bool create_graph = false, bool allow_unused = false);

/// Makes what `node` returned fit the tensors its edges lead to (sum to shape, cast); throws, naming it, when it can't.
SHUNT_API void validate_outputs(const Node& node, variable_list& grads);

}  // namespace shunt::autograd
