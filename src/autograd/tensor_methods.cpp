// The methods of Tensor's "Autograd" section that are neither about views (view.cpp) nor hooks (hooks.cpp). A wrapper's
// are those of the tensor that holds its graph (autograd/graph_tensor.h).
#include <shunt/autograd/engine.h>
#include <shunt/autograd/graph_tensor.h>
#include <shunt/autograd/variable_utils.h>

#include <shunt/core/log.h>
#include <shunt/ops.h>
#include <shunt/tensor/asked.h>

#include "src/autograd/accumulate.h"
#include "src/autograd/graph_task.h"
#include "src/autograd/hooks.h"

namespace shunt {

using namespace autograd;

namespace {

// One sample of a vmap. Those of grad levels have graphs.
bool isBatched(const Tensor& t) {
  return t.key_set().has(Functionality::Batched) && !t.key_set().has(Functionality::TransformBack);
}

// A wrapper that names no graph has nowhere to keep a gradient.
void checkHoldsGraph(const Tensor& t, const char* what) {
  SHUNT_CHECK(!t.key_set().has(Functionality::Python), what,
              ": a wrapper tensor without a graph tensor of its own: autograd's metadata "
              "lives on the tensors that it holds; unwrap them first");
}

}  // namespace

const Tensor& Tensor::set_requires_grad(bool on) const {
  impl();
  SHUNT_CHECK(
      !on || !isBatched(*this),
      "requires_grad_: the tensor is one inside vmap, which records no graph for a sample: differentiate inside "
      "vmap by shunt::grad or vjp, or require the gradient of the tensor that is given to vmap");
  if (activeTrace() != nullptr && on != requires_grad()) [[unlikely]] {
    callRecorded("trace::requires_grad_", {*this, on});
    return *this;
  }
  if (forwards_graph(*this)) {
    graph_tensor(*this).set_requires_grad(on);
    return *this;
  }
  if (on) checkHoldsGraph(*this, "requires_grad_");
  SHUNT_CHECK(!on || is_floating_point(),
              "Only Tensors of floating point and complex dtype can require gradients, not ", scalar_type());
  SHUNT_CHECK(!on || !is_inference() || InferenceMode::is_enabled(),
              "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. Clone it first, "
              "outside InferenceMode, and set it on the clone.");
  if (!is_leaf()) {
    SHUNT_CHECK(on,
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
                "a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    return *this;
  }
  if (!on && get_autograd_meta(*this) == nullptr) return *this;
  AutogradMeta* meta = materialize_autograd_meta(*this);
  meta->requires_grad_ = on;
  if (!is_inference()) set_autograd_key(*this, on || meta->is_view_);  // calls of an inference tensor aren't recorded
  return *this;
}

int64_t Tensor::output_nr() const {
  impl();
  shunt::detail::noteIdentityAsked(*this, "output_nr()");
  const auto* meta = get_autograd_meta(graph_tensor(*this));
  return meta == nullptr ? 0 : meta->output_nr_;
}

const Tensor& Tensor::grad() const {
  static const Tensor kNone;
  impl();
  if (ActiveTrace* trace = activeTrace()) [[unlikely]]
    return trace->grad(*this);
  const auto* meta = get_autograd_meta(graph_tensor(*this));
  if (meta == nullptr) return kNone;
  if (!meta->grad_.defined() && meta->grad_fn_ && !meta->retains_grad_) [[unlikely]]
    shunt::detail::logWarning(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. backward() won't set it: call "
        "retain_grad() on the tensor first, or look at a leaf's.");
  return meta->grad_;
}

Tensor& Tensor::mutable_grad() const {
  impl();
  if (ActiveTrace* trace = activeTrace()) [[unlikely]]
    return trace->mutableGrad(*this);
  const Tensor& t = graph_tensor(*this);
  checkHoldsGraph(t, "mutable_grad");
  return materialize_autograd_meta(t)->grad_;
}

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph,
                      std::optional<TensorList> inputs) const {
  impl();
  SHUNT_CHECK(!inputs || !inputs->empty(), "'inputs' argument to backward() cannot be empty");
  warnOfCreateGraph(create_graph);
  autograd::execute({this, 1}, {&gradient, 1}, inputs.value_or(TensorList()), true, retain_graph.value_or(create_graph),
                    create_graph);
}

int64_t Tensor::_version() const {
  impl();
  const Tensor& t = graph_tensor(*this);
  if (ActiveTrace* trace = traceAround()) [[unlikely]]
    trace->readsVersion(t);
  SHUNT_CHECK(!t.is_inference(), "Inference tensors do not track version counter.");
  return t.impl().version().current();
}

Tensor Tensor::data() const {
  if (impl().key_set().has(Functionality::Python) || forwards_graph(*this))
    return detach();  // only its class makes another wrapper
  Tensor result = detached_alias(*this);
  if (!is_inference()) result.unsafeGetTensorImpl()->use_own_version_counter();
  return result;
}

void Tensor::set_data(const Tensor& new_data) const {
  SHUNT_CHECK(new_data.defined() && defined(), "set_data: undefined tensor");
  SHUNT_CHECK(
      activeTrace() == nullptr,
      "set_data: a trace() records operators, and this is none; write with copy_(), or make it before the trace");
  SHUNT_CHECK(!key_set().has(Functionality::Batched) && !new_data.key_set().has(Functionality::Batched),
              "set_data: not for tensors inside vmap or grad");
  SHUNT_CHECK(!forwards_graph(*this) && !forwards_graph(new_data),
              "set_data: not for wrapper tensors; unwrap them and set the inner tensor's");
  // Whether it is an inference tensor is this one's to keep, as is its version counter.
  SHUNT_CHECK(
      new_data.key_set() - kAutogradAndViewKeys == key_set() - kAutogradAndViewKeys,
      "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type: ",
      key_set(), " and ", new_data.key_set());
  SHUNT_CHECK(!requires_grad() || new_data.is_floating_point(),
              "set_data: data set to a tensor that requires gradients must be floating point, not ",
              new_data.scalar_type());
  // The accumulator of this leaf remembers shape and dtype; another shape needs another accumulator.
  AutogradMeta* meta = get_autograd_meta(*this);
  if (meta != nullptr && (!sizes().equals(new_data.sizes()) || scalar_type() != new_data.scalar_type())) {
    std::lock_guard lock(meta->mutex_);
    meta->grad_accumulator_.reset();
  }
  impl().shallow_copy_from(*new_data.unsafeGetTensorImpl());
}

}  // namespace shunt
