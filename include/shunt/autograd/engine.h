// The autograd engine: shunt::autograd::backward and grad run the backward graph.
//
// A run uses the caller's thread and its thread-local state. It does not recurse in the depth of the graph.
// - Several threads may run at once over graphs that share leaves or retained interior nodes.
// - Hooks and custom functions may call backward again.
// - When a node throws, the caller gets the error and the engine stays usable. Leaves keep the gradients that they
//   already received.
#pragma once

#include <shunt/autograd/node.h>

namespace shunt::autograd {

/// Adds the gradients of `tensors` to the grad of the leaves that they depend on, or of `inputs` only when given.
/// - grad_tensors: the gradient of each tensor. Empty or undefined: 1, for one-element tensors only.
/// - retain_graph: defaults to create_graph.
/// Throws for a tensor that does not require grad, and for a part of the graph that an earlier run freed.
SHUNT_API void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
                        std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                        const variable_list& inputs = {});

/// Returns the gradients of `outputs` with respect to `inputs`, and leaves the leaves' grad unchanged. Throws for an
/// input that is not part of the graph. With allow_unused, the gradient of such an input is undefined. `inputs` isn't
/// empty.
SHUNT_API variable_list grad(const variable_list& outputs, const variable_list& inputs,
                             const variable_list& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                             bool create_graph = false, bool allow_unused = false);

/// Makes the gradients that `node` returned fit its edges' targets: sums to shape and casts. Throws an error that names
/// the node when they cannot fit.
SHUNT_API void validate_outputs(const Node& node, variable_list& grads);

}  // namespace shunt::autograd
