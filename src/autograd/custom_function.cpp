#include <shunt/autograd/custom_function.h>

#include <shunt/autograd/graph_tensor.h>
#include <shunt/ops.h>
#include <shunt/tensor/wrapper_kind.h>

#include "src/autograd/plain_grad.h"
#include "src/tensor/active_trace.h"

#include <algorithm>

namespace shunt::autograd {
namespace {

// A trace records forward's operators on its wrappers, and autograd's graph stands on the tensors that these hold.
const Tensor& untraced(const Tensor& t) { return wrapperKind(t) == WrapperKind::kTraced ? graph_tensor(t) : t; }
bool isTraced(const Tensor& t) { return wrapperKind(t) == WrapperKind::kTraced; }

variable_list untraced(const variable_list& list) {
  variable_list result;
  result.reserve(list.size());
  for (const Tensor& t : list) result.push_back(untraced(t));
  return result;
}

// compute_requires_grad, which doesn't look into wrappers, for the tensors in them.
bool recordsTraced(const variable_list& inputs) {
  return GradMode::is_enabled() &&
         std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return isTraced(t) && t.requires_grad(); });
}

bool contains(const variable_list& list, const Tensor& t) {
  for (const Tensor& e : list)
    if (e.is_same(t)) return true;
  return false;
}

std::set<TensorImpl*> identities(const variable_list& list) {
  std::set<TensorImpl*> result;
  for (const Tensor& t : list)
    if (t.defined()) result.insert(untraced(t).unsafeGetTensorImpl());
  return result;
}

// As a view, so that the function's node can be its history, and an in-place operator on either of the two is noticed.
Tensor passedOn(const Tensor& t) {
  NoGradGuard off;  // as forward itself
  return untraced(alias(t));
}

// Whether somebody may need the history that an output has already: forward got it from elsewhere than its arguments,
// or keeps it. What nobody else holds, forward made with recording on. Sequence numbers can't say which, since each
// thread counts its nodes.
bool othersNeedHistory(const Tensor& t, const Node& node) {
  const AutogradMeta* meta = get_autograd_meta(t);
  if (meta == nullptr) return false;
  return meta->requires_grad_ || (meta->grad_fn_ && meta->grad_fn_.get() != &node && t.use_count() > 1);
}

// Forward ran without recording: where one of its views, or what it is a view of, changes in place, backward would not
// know.
void restrictView(const Tensor& output, CreationMeta how) {
  if (DifferentiableViewMeta* view = get_view_autograd_meta(output)) view->creation_meta_ = how;
}

// `is_first`: among the tensors that forward was given. `count` outputs.
void checkDirtyView(const Node& node, bool is_first, size_t count) {
  constexpr const char* kWhat = ": an input that is a view was changed in place (mark_dirty), and ";
  SHUNT_CHECK(count == 1, node.name(), kWhat, "forward returned ", count,
              " tensors; a function that changes a view in "
              "place cannot return more than one Tensor. Clone the input first, or split the function");
  // CopySlices takes a node's first gradient for that of the view.
  SHUNT_CHECK(is_first, node.name(), kWhat,
              "it is not the first tensor among forward's arguments. Make it the first, "
              "or clone it before");
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
void AutogradContext::mark_non_differentiable(const variable_list& outputs) {
  non_differentiable_ = identities(outputs);
}

void CustomNode::prepare(const variable_list& inputs, std::vector<bool> is_tensor, bool record) {
  if (GradMode::is_enabled())
    for (const Tensor& t : inputs)
      SHUNT_CHECK(
          !t.defined() || !hidesGraph(t), name(), ": an input of shape ", t.sizes(),
          " is a tensor inside vmap that stands for one that requires grad: forward is not recorded, so the "
          "gradient would be lost. Differentiate inside of vmap, by vmap(grad(f)), or apply the function outside");
  if (GradMode::is_enabled())
    for (const Tensor& t : inputs)
      SHUNT_CHECK(
          !t.defined() || isTraced(t) || !forwards_graph(t) || !t.requires_grad(), name(),
          ": an input is a wrapper tensor that requires grad, whose "
          "graph lives on the inner tensor, where forward can't be recorded; unwrap the inputs and wrap the outputs");
  is_tensor_argument_ = std::move(is_tensor);
  context_.node_ = this;
  if (!record && !recordsTraced(inputs)) return;
  const bool traced = std::any_of(inputs.begin(), inputs.end(), isTraced);
  set_next_edges(traced ? collect_next_edges(untraced(inputs)) : collect_next_edges(inputs));
}

void CustomNode::countDirty(const variable_list& inputs, const variable_list& outputs) const {
  for (TensorImpl* dirty : context_.dirty_inputs_) {
    const auto is_dirty = [&](const Tensor& t) { return t.unsafeGetTensorImpl() == dirty; };
    const auto input = std::find_if(inputs.begin(), inputs.end(), is_dirty);
    SHUNT_CHECK(input != inputs.end(), name(), ": mark_dirty got a tensor that is not an input of forward");
    SHUNT_CHECK(std::any_of(outputs.begin(), outputs.end(), is_dirty), name(), ": mark_dirty got an input of shape ",
                input->sizes(), " that was not returned as output; forward has to return every input that it changed");
    increment_version(*input);
  }
}

bool CustomNode::isDifferentiable(const Tensor& output) const {
  return output.is_floating_point() && !context_.non_differentiable_.contains(output.unsafeGetTensorImpl());
}

bool CustomNode::finishOutput(Tensor& output, const variable_list& inputs, bool record) {
  const bool is_input = contains(inputs, output);
  const bool dirty = context_.dirty_inputs_.contains(output.unsafeGetTensorImpl());
  if (!record || !isDifferentiable(output)) {
    if (record) add_input_metadata(output);  // of the zeros that backward gets for it
    // A view keeps what it is, as one made in no_grad mode does.
    if (output.requires_grad() && (is_input || !output.is_view()))
      output = untraced(output.detach());
    else if (is_input)
      output = passedOn(output);
    if (!dirty) restrictView(output, CreationMeta::kInCustomFunction);
    return false;
  }
  const intrusive_ptr<Node> self = intrusive_ptr<Node>::retainFrom(this);
  if (dirty) {
    rebase_history(output, self);
    return true;
  }
  if (is_input || othersNeedHistory(output, *this)) output = passedOn(output);
  restrictView(output, CreationMeta::kInCustomFunction);
  set_history(output, self);
  return true;
}

void CustomNode::finish(const variable_list& inputs, variable_list& outputs, bool record) {
  if (std::any_of(outputs.begin(), outputs.end(), isTraced) || std::any_of(inputs.begin(), inputs.end(), isTraced)) {
    variable_list plain = untraced(outputs);
    finish(untraced(inputs), plain, record || recordsTraced(inputs));
    for (size_t i = 0; i < outputs.size(); ++i)
      if (plain[i].defined() && !plain[i].is_same(untraced(outputs[i])))
        outputs[i] = activeTrace() != nullptr ? activeTrace()->wrapped(plain[i]) : plain[i];
    return;
  }
  // All checks come before the first change.
  for (const Tensor& output : outputs) {
    if (!record || !output.defined() || !isDifferentiable(output)) continue;
    if (!context_.dirty_inputs_.contains(output.unsafeGetTensorImpl())) continue;
    SHUNT_CHECK(!(output.requires_grad() && output.is_leaf()),
                "a leaf Variable that requires grad has been used in an in-place operation. ", name(),
                " named it to mark_dirty: give it a copy, or call it under a NoGradGuard");
    check_inplace(output, true);
    if (output.is_view()) checkDirtyView(*this, output.is_same(inputs[0]), outputs.size());
  }
  countDirty(inputs, outputs);
  size_t differentiable = 0;
  for (Tensor& output : outputs) {
    if (output.defined())
      differentiable += finishOutput(output, inputs, record);
    else if (record)
      add_undefined_input();
  }
  if (differentiable > 1)
    for (const Tensor& output : outputs)
      if (output.defined()) restrictView(output, CreationMeta::kMultiOutputNode);
  if (record) save();
}

void CustomNode::save() {
  context_.saved_variables_.reserve(context_.to_save_.size());
  for (const Tensor& saved : context_.to_save_) {
    const Tensor& t = untraced(saved);
    if (!t.defined()) {
      context_.saved_variables_.emplace_back();
      continue;
    }
    TensorImpl* impl = t.unsafeGetTensorImpl();
    const AutogradMeta* meta = get_autograd_meta(t);
    const bool rebased = context_.dirty_inputs_.contains(impl) && isDifferentiable(t);
    const bool is_output = rebased || (meta != nullptr && meta->grad_fn_.get() == this);
    context_.saved_variables_.emplace_back(t, is_output, rebased && t.is_view());
  }
  context_.to_save_.clear();
}

variable_list CustomNode::apply(variable_list&& grads) {
  if (context_.materialize_grads_)
    for (size_t i = 0; i < grads.size(); ++i)
      if (!grads[i].defined()) grads[i] = input_metadata(i).zeros();
  variable_list outputs = callBackward(std::move(grads));
  SHUNT_CHECK(outputs.size() >= is_tensor_argument_.size(), "function ", name(),
              " returned an incorrect number of gradients (expected ", is_tensor_argument_.size(), ", got ",
              outputs.size(), ")");
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
