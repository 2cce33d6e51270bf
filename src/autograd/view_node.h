// The history of a view by its geometry alone: AsStridedBackward0, which leads to the base's history.
//
// For a view whose base changed, and for one that a node saved. Callable from any thread.
#pragma once

#include <shunt/autograd/as_strided_backward.h>
#include <shunt/autograd/node.h>

namespace shunt::autograd {

/// `base_edge`: where the gradient of the base, of geometry `base`, goes.
intrusive_ptr<Node> make_view_node(TensorGeometry base, const Tensor& view, Edge base_edge);

}  // namespace shunt::autograd
