#include <shunt/autograd/custom_function.h>

#include <shunt/autograd/graph_tensor.h>
#include <shunt/ops.h>

namespace shunt::autograd {
namespace {

bool contains(const variable_list& list, const Tensor& t) {
  for (const Tensor& e : list)
    if (e.is_same(t)) return true;
  return false;
}

std::set<TensorImpl*> identities(const variable_list& list) {
  std::set<TensorImpl*> result;
  for (const Tensor& t : list)
    if (t.defined()) result.insert(t.unsafeGetTensorImpl());
  return result;
}

// A view that forward made (it ran without recording) must not be changed in place by recorded code: backward would not
// know.
void forbidInplace(const Tensor& output) {
  if (DifferentiableViewMeta* view = get_view_autograd_meta(output)) view->creation_meta_ = CreationMeta::kInCustomFunction;
}

}  // namespace

variable_list AutogradContext::get_saved_variables() const {
  if (released_) throw_backward_twice();
  variable_list result;
  result.reserve(saved_variables_.size());
  for (const SavedVariable& s : saved_variables_) result.push_back(s.unpack(node_));
  return result;
}

void AutogradContext::mark_dirty(const variable_list& inputs) { dirty_inputs_ = identities(inputs); }
void AutogradContext::mark_non_differentiable(const variable_list& outputs) { non_differentiable_ = identities(outputs); }

void CustomNode::prepare(const variable_list& inputs, std::vector<bool> is_tensor, bool record) {
  if (GradMode::is_enabled())
    for (const Tensor& t : inputs)
      SHUNT_CHECK(!t.defined() || !forwards_graph(t) || !t.requires_grad(), name(), ": an input is a wrapper tensor that requires grad, whose "
                  "graph lives on the inner tensor, where forward can't be recorded; unwrap the inputs and wrap the outputs");
  is_tensor_argument_ = std::move(is_tensor);
  context_.node_ = this;
  if (record) set_next_edges(collect_next_edges(inputs));
}

void CustomNode::finish(const variable_list& inputs, variable_list& outputs, bool record) {
  const intrusive_ptr<Node> self = intrusive_ptr<Node>::retainFrom(this);
  for (Tensor& output : outputs) {
    if (!output.defined()) {
      if (record) add_undefined_input();
      continue;
    }
    TensorImpl* impl = output.unsafeGetTensorImpl();
    const bool is_input = contains(inputs, output);
    const bool dirty = context_.dirty_inputs_.contains(impl);
    SHUNT_CHECK(!dirty || is_input, name(), ": mark_dirty got a tensor that is not an input of forward");
    const bool differentiable = record && output.is_floating_point() && !context_.non_differentiable_.contains(impl);
    if (dirty) check_inplace(output, record);
    if (!differentiable) {
      if (record) add_undefined_input();
      if (output.requires_grad() && !dirty) output = output.detach();
    } else if (dirty) {
      rebase_history(output, self);
    } else {
      // An input that came back as it was, or a tensor that forward got from elsewhere, keeps its own history.
      if (is_input || output.requires_grad()) output = detached_alias(output);
      forbidInplace(output);
      set_history(output, self);
    }
  }
  if (!record) return;
  for (const Tensor& t : context_.to_save_) {
    const bool dirty = t.defined() && context_.dirty_inputs_.contains(t.unsafeGetTensorImpl());
    context_.saved_variables_.emplace_back(t, dirty || !contains(inputs, t), dirty && t.is_view());
  }
  context_.to_save_.clear();
}

variable_list CustomNode::apply(variable_list&& grads) {
  if (context_.materialize_grads_)
    for (size_t i = 0; i < grads.size(); ++i)
      if (!grads[i].defined()) grads[i] = input_metadata(i).zeros();
  variable_list outputs = callBackward(std::move(grads));
  SHUNT_CHECK(outputs.size() >= is_tensor_argument_.size(), "function ", name(),
              " returned an incorrect number of gradients (expected ", is_tensor_argument_.size(), ", got ", outputs.size(), ")");
  variable_list result;
  result.reserve(num_outputs());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i < is_tensor_argument_.size() && is_tensor_argument_[i]) {
      result.push_back(std::move(outputs[i]));
      continue;
    }
    SHUNT_CHECK(!outputs[i].defined(), "function ", name(), " returned a gradient different from None at position ", i,
                ", but the corresponding forward input was not a Variable");
  }
  return result;
}

void CustomNode::release_variables() {
  for (SavedVariable& s : context_.saved_variables_) s.reset_data();
  context_.released_ = !context_.saved_variables_.empty();
}

}  // namespace shunt::autograd
