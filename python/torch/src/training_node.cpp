#include "training_node.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/python_variable.h>

#include <utility>

namespace shunt_torch {

using torch::autograd::variable_list;

namespace {

// What grads come from that create_graph=True asks for: they require grad, as far as autograd can know, but the
// backward graph has no backward.
class NoDoubleBackward : public torch::autograd::Node {
 public:
  using Node::Node;
  std::string name() const override { return "CompiledFunctionBackwardBackward"; }
  variable_list apply(variable_list&&) override {
    throw std::runtime_error(
        "torch.compile(backend=\"shunt\") does not support double backward: compute these grads without torch.compile");
  }
};

// A tangent as the backward graph was traced with it: Dynamo's guards say nothing of tangents.
at::Tensor laidOut(const at::Tensor& t, const TrainingCall::Layout& layout) {
  if (layout.format) return t.contiguous(*layout.format);
  if (t.strides() == layout.strides && t.sizes() == layout.sizes) return t;
  return at::empty_strided(layout.sizes, layout.strides, t.options()).copy_(t);
}

py::object numberOf(const c10::IValue& v) {
  if (v.isBool()) return py::bool_(v.toBool());
  return v.isInt() ? py::object(py::int_(v.toInt())) : py::object(py::float_(v.toDouble()));
}

void refuseUnderTransforms(const TrainingCall& call) {
  TORCH_CHECK(
      !c10::impl::tls_local_dispatch_key_set().included_.has(c10::DispatchKey::FuncTorchDynamicLayerFrontMode),
      "torch.compile(backend=\"shunt\"): a compiled backward can't be called under vmap, grad or vjp: transform "
      "inside of what is compiled");
  TORCH_CHECK(
      !call.facts().nondeterministic || !at::globalContext().deterministicAlgorithms(),
      "torch.compile(backend=\"shunt\"): deterministic algorithms were switched on between forward and backward "
      "of a compiled function");
}

}  // namespace

TrainingNode::TrainingNode(std::shared_ptr<TrainingCall> call, torch::autograd::edge_list&& edges)
    : Node(std::move(edges)), call_(std::move(call)) {}

void TrainingNode::save(const std::vector<at::Tensor>& checked, std::vector<at::Tensor> unchecked,
                        std::vector<c10::IValue> numbers) {
  saved_.reserve(checked.size());
  for (const at::Tensor& t : checked) saved_.emplace_back(t, t.grad_fn().get() == this);
  unchecked_ = std::move(unchecked);
  numbers_ = std::move(numbers);
}

// Without the GIL, which hooks of saved tensors take under the lock.
std::vector<at::Tensor> TrainingNode::unpack() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_released_) throw std::runtime_error(torch::autograd::ERR_BACKWARD_TWICE);
  std::vector<at::Tensor> out;
  out.reserve(saved_.size() + unchecked_.size());
  for (const auto& s : saved_) out.push_back(s.unpack(getptr()));
  out.insert(out.end(), unchecked_.begin(), unchecked_.end());
  return out;
}

void TrainingNode::release_variables() {
  std::vector<torch::autograd::SavedVariable> saved;
  std::vector<at::Tensor> unchecked;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_released_ = is_released_ || !saved_.empty() || !unchecked_.empty();
    saved.swap(saved_);
    unchecked.swap(unchecked_);
  }
  // They are let go of here, which may take the GIL.
}

variable_list TrainingNode::apply(variable_list&& grads) {
  refuseUnderTransforms(*call_);
  std::vector<at::Tensor> saved = unpack();
  // Early, so that the graph can use their memory again.
  if (!torch::autograd::get_current_graph_task_keep_graph()) release_variables();
  const auto& layouts = call_->facts().tangents;
  for (size_t i = 0; i < layouts.size(); ++i) {
    if (!grads[i].defined()) grads[i] = input_metadata(i).zeros_like();
    grads[i] = laidOut(grads[i], layouts[i]);
  }
  std::vector<at::Tensor> sources;
  if (at::GradMode::is_enabled()) {
    for (const auto* list : {&saved, &grads})
      std::copy_if(list->begin(), list->end(), std::back_inserter(sources),
                   [](const at::Tensor& t) { return t.defined() && t.requires_grad(); });
  }
  variable_list out;
  {
    const py::gil_scoped_acquire gil;
    try {
      py::list args;
      for (const c10::IValue& n : numbers_) args.append(numberOf(n));
      for (auto* list : {&saved, &grads}) {
        for (const at::Tensor& t : *list) args.append(py::reinterpret_steal<py::object>(THPVariable_Wrap(t)));
        list->clear();
      }
      out = call_->runBackward(args);
    } catch (py::error_already_set& e) {
      e.restore();
      python_error persisted;
      persisted.persist();
      throw persisted;
    } catch (python_error& e) {
      e.persist();
      throw;
    }
  }
  TORCH_CHECK(out.size() == num_outputs(), "a backward graph of torch.compile returned ", out.size(), " grads for ",
              num_outputs(), " inputs");
  if (at::GradMode::is_enabled()) {
    const auto node = c10::make_intrusive<NoDoubleBackward>(torch::autograd::collect_next_edges(sources));
    for (at::Tensor& t : out)
      if (t.defined() && torch::autograd::isDifferentiableType(t.scalar_type())) {
        t = t.detach();
        torch::autograd::set_history(t, node);
      }
  }
  return out;
}

}  // namespace shunt_torch
