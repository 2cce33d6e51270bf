// The history of a view by its geometry alone: AsStridedBackward0, which leads to the base's history.
//
// For a view whose base changed, and for one that a node saved. Callable from any thread.
#pragma once

#include <shunt/autograd/as_strided_backward.h>
#include <shunt/autograd/node.h>

namespace shunt::autograd {

/// `base_edge`: where the gradient of the base, of geometry `base`, goes. `like` has the view's sizes, dtype and
/// device.
intrusive_ptr<Node> make_view_node(TensorGeometry base, TensorGeometry view, const Tensor& like, Edge base_edge);
inline intrusive_ptr<Node> make_view_node(TensorGeometry base, const Tensor& view, Edge base_edge) {
  return make_view_node(std::move(base), TensorGeometry(view), view, std::move(base_edge));
}

}  // namespace shunt::autograd
