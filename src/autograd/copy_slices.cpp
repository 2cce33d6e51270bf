#include "src/autograd/copy_slices.h"

#include <shunt/autograd/variable_utils.h>
#include <shunt/ops.h>

namespace shunt::autograd {

CopySlices::CopySlices(const Tensor& base, const Tensor& view, ViewFunc view_func, intrusive_ptr<Node> fn)
    : base_(base), view_(view), view_func_(std::move(view_func)), fn_(std::move(fn)) {
  add_input_metadata(base);
  // The node asks its own edges which gradients are wanted, so both have the same.
  fn_->set_next_edge(0, gradient_edge(base));
  set_next_edges(edge_list(fn_->next_edges()));
}

namespace {
// In a level of vmap or grad, where what is written has to be of the level, too.
bool isInLevel(const Tensor& t) { return t.key_set().has(Functionality::Batched); }
}  // namespace

Tensor CopySlices::copyLike(const Tensor& like, const Tensor& grad) const {
  const Tensor whole = isInLevel(like) ? like.new_empty_strided(base_.sizes, base_.strides, grad.options())
                                       : empty_strided(base_.sizes, base_.strides, grad.options());
  whole.copy_(grad);
  return whole;
}

Tensor CopySlices::partOf(const Tensor& whole) const {
  return view_func_ ? view_func_(whole)
                    : whole.as_strided(view_.sizes, view_.strides, view_.storage_offset - base_.storage_offset);
}

variable_list CopySlices::apply(variable_list&& grads) {
  if (!fn_) throw_backward_twice();
  variable_list result(num_outputs());
  if (!grads[0].defined()) return result;
  Tensor whole = copyLike(grads[0], grads[0]);
  Tensor part = partOf(whole);
  variable_list through = (*fn_)({part.clone(MemoryFormat::Contiguous)});
  // What went through the operator may have a batch that the gradient had not.
  if (!through.empty() && through[0].defined() && isInLevel(through[0])) {
    whole = copyLike(through[0], grads[0]);
    part = partOf(whole);
  }
  for (size_t i = 0; i < num_outputs() && i < through.size(); ++i) {
    if (!task_should_compute_output(i)) continue;
    if (i > 0) {
      result[i] = std::move(through[i]);
      continue;
    }
    if (through[0].defined())
      part.copy_(through[0]);
    else
      part.zero_();
    result[0] = whole;
  }
  return result;
}

}  // namespace shunt::autograd
