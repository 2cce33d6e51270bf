#include <shunt/autograd/saved_variable.h>

#include <shunt/autograd/variable_utils.h>

#include "src/autograd/view_node.h"

namespace shunt::autograd {

// The view's own grad_fn may be gone when it is unpacked; the base's, CopySlices, is then running.
struct SavedVariable::ViewHistory {
  TensorGeometry base;
  weak_intrusive_ptr<Node> base_grad_fn;
};

void SavedVariable::FreeViewHistory::operator()(ViewHistory* history) const noexcept { delete history; }

void SavedVariable::throwInference() {
  SHUNT_CHECK(
      false,
      "Inference tensors cannot be saved for backward. Clone the tensor outside InferenceMode and use the clone.");
  __builtin_unreachable();
}

void SavedVariable::saveView(const Tensor& output, bool is_inplace) {
  if (is_inplace) {
    const DifferentiableViewMeta& view = *get_view_autograd_meta(output);
    view_history_.reset(new ViewHistory{TensorGeometry(view.base_), weak_intrusive_ptr<Node>(view.base_.grad_fn())});
  } else if (output.is_leaf()) {
    saved_original_ = true;
    return put(output);
  } else {
    output_nr_ = static_cast<uint32_t>(output.output_nr());
  }
  put(detached_alias(output));
}

SavedVariable SavedVariable::inplace_operand(const Tensor& operand, const Tensor& self) {
  const bool overwritten = operand.defined() && !self.is_inference() && !operand.is_inference() &&
                           &operand.unsafeGetTensorImpl()->version() == &self.unsafeGetTensorImpl()->version();
  return SavedVariable(overwritten ? detached_alias(operand) : operand, false);
}

Tensor SavedVariable::unpack(intrusive_ptr<Node> saved_for) const {
  if (was_default_constructed_) return {};
  if (!data_.defined()) throw_backward_twice();
  intrusive_ptr<Node> grad_fn;
  if (view_history_)
    grad_fn = make_view_node(view_history_->base, data_, Edge(view_history_->base_grad_fn.lock(), 0));
  else
    grad_fn = saved_original_ ? data_.grad_fn() : std::move(saved_for);
  const uint32_t now = data_.unsafeGetTensorImpl()->version().current();
  if (now != saved_version_) [[unlikely]]
    throwModified(now, grad_fn);
  if (saved_original_) return data_;
  SHUNT_INTERNAL_ASSERT(grad_fn.defined(), "a saved output needs the node that saved it");
  Tensor result = detached_alias(data_);
  set_gradient_edge(result, Edge(std::move(grad_fn), output_nr_));
  return result;
}

void SavedVariable::throwModified(uint32_t now, const intrusive_ptr<Node>& grad_fn) const {
  std::string which = shunt::detail::str("[", data_.scalar_type(), " ", data_.sizes(), "]");
  if (grad_fn)
    which += shunt::detail::str(", which is output ", saved_original_ ? data_.output_nr() : output_nr_, " of ",
                                grad_fn->name(), ",");
  SHUNT_CHECK(false,
              "one of the variables needed for gradient computation has been modified by an inplace operation: ", which,
              " is at version ", now, "; expected version ", saved_version_,
              " instead. Change a clone of it, or use the out-of-place form of the operator that came after.");
  __builtin_unreachable();
}

template <class List>
static std::vector<SavedVariable> saveEach(List tensors, bool is_output) {
  std::vector<SavedVariable> saved;
  saved.reserve(tensors.size());
  for (const auto& t : tensors) saved.emplace_back(t, is_output);
  return saved;
}

std::vector<SavedVariable> make_saved_variable_list(TensorList tensors, bool is_output) {
  return saveEach(tensors, is_output);
}
std::vector<SavedVariable> make_saved_variable_list(TensorOptList tensors, bool is_output) {
  return saveEach(tensors, is_output);
}

variable_list unpack_list(const std::vector<SavedVariable>& saved, const intrusive_ptr<Node>& saved_for) {
  variable_list result;
  result.reserve(saved.size());
  for (const SavedVariable& s : saved) result.push_back(s.unpack(saved_for));
  return result;
}

std::vector<std::optional<Tensor>> unpack_opt_list(const std::vector<SavedVariable>& saved,
                                                   const intrusive_ptr<Node>& saved_for) {
  std::vector<std::optional<Tensor>> result;
  result.reserve(saved.size());
  for (const SavedVariable& s : saved) {
    Tensor t = s.unpack(saved_for);
    result.push_back(t.defined() ? std::optional<Tensor>(std::move(t)) : std::nullopt);
  }
  return result;
}

}  // namespace shunt::autograd
