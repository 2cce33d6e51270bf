// CopySlices: the history of a base after an in-place operator changed a view of it: the part of the gradient that the
// view covers goes through the operator's node, the rest passes by.
//
// Made by rebase_history; owns the operator's node.
#pragma once

#include <shunt/autograd/as_strided_backward.h>
#include <shunt/autograd/autograd_meta.h>

namespace shunt::autograd {

struct CopySlices final : public Node {
  /// `fn`'s first edge, the gradient of what the view held before, leads to the base's history so far.
  CopySlices(const Tensor& base, const Tensor& view, ViewFunc view_func, intrusive_ptr<Node> fn);
  variable_list apply(variable_list&& grads) override;
  void release_variables() override { fn_.reset(); }

 private:
  /// The gradient laid out as the base is, in a tensor of the kind of `like`.
  Tensor copyLike(const Tensor& like, const Tensor& grad) const;
  Tensor partOf(const Tensor& whole) const;

  TensorGeometry base_;
  TensorGeometry view_;
  ViewFunc view_func_;
  intrusive_ptr<Node> fn_;
};

}  // namespace shunt::autograd
