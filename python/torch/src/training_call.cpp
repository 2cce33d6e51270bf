#include "training_call.h"

#include "calls.h"
#include "training_node.h"
#include "values.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_unsafe_view.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/tensor_memoryformats.h>

#include <algorithm>
#include <utility>

namespace shunt_torch {
namespace {

// Autograd follows the node, not the operators in its graphs; forward AD follows neither.
struct BelowAutograd {
  explicit BelowAutograd(bool without_autocast) {
    if (without_autocast) no_autocast.emplace(c10::autocast_dispatch_keyset);
  }
  at::AutoGradMode no_grad{false};
  c10::AutoFwGradMode no_forward_grad{false};
  std::optional<c10::impl::ExcludeDispatchKeyGuard> no_autocast;
};

bool isAboveAutograd() {
  const auto included = c10::impl::tls_local_dispatch_key_set().included_;
  return c10::impl::TorchDispatchModeTLS::stack_len() != 0 || c10::InferenceMode::is_enabled() ||
         included.has(c10::DispatchKey::FuncTorchDynamicLayerFrontMode) ||
         included.has(c10::DispatchKey::Functionalize);
}

bool hasTangent(const at::Tensor& t) {
  return torch::autograd::impl::get_autograd_meta(t) != nullptr && t._fw_grad(0).defined();
}

const at::Tensor& tensorOf(const py::handle& o) {
  TORCH_CHECK(THPVariable_Check(o.ptr()), "a graph of torch.compile gave a ", Py_TYPE(o.ptr())->tp_name,
              " for a tensor");
  return THPVariable_Unpack(o.ptr());
}

c10::IValue numberOf(const py::handle& o) {
  if (PyBool_Check(o.ptr())) return o.cast<bool>();
  return PyLong_Check(o.ptr()) ? c10::IValue(o.cast<int64_t>()) : c10::IValue(o.cast<double>());
}

}  // namespace

py::object GraphCall::run(const py::list& args) const {
  const py::tuple packed = py::make_tuple(args);
  auto out = py::reinterpret_steal<py::object>(callRecordings(recordings.ptr(), packed.ptr(), nullptr));
  if (!out) throw python_error();
  return out.ptr() == missed() ? otherwise(args) : out;
}

TrainingCall::TrainingCall(GraphCall forward, py::object backward, Facts facts)
    : forward_(std::move(forward)), make_backward_(std::move(backward)), facts_(std::move(facts)) {}

// The last node that holds it may go in a thread of autograd's, and at the end of the process after Python.
TrainingCall::~TrainingCall() {
  if (!Py_IsInitialized()) {
    for (py::object* o : {&forward_.recordings, &forward_.otherwise, &make_backward_}) o->release();
    if (backward_) backward_->recordings.release(), backward_->otherwise.release();
    return;
  }
  const py::gil_scoped_acquire gil;
  forward_ = {};
  backward_.reset();
  make_backward_ = {};
}

py::object TrainingCall::call(const py::list& args) {
  const auto miss = [] { return py::reinterpret_borrow<py::object>(missed()); };
  if (isAboveAutograd()) return miss();
  torch::autograd::edge_list edges(args.size());
  for (size_t i = 0; i < edges.size(); ++i) {
    PyObject* const o = PyList_GET_ITEM(args.ptr(), static_cast<Py_ssize_t>(i));
    if (!THPVariable_Check(o)) continue;
    const at::Tensor& t = THPVariable_Unpack(o);
    if (hasTangent(t) || t.is_inference()) return miss();
    if (t.requires_grad()) edges[i] = torch::autograd::impl::gradient_edge(t);
  }
  for (const int64_t i : facts_.detached) edges[static_cast<size_t>(i)] = {};
  // Also done where the graph's operators do it once more: versions only have to grow.
  for (const int64_t i : facts_.written) tensorOf(args[static_cast<size_t>(i)]).unsafeGetTensorImpl()->bump_version();
  const auto node = c10::make_intrusive<TrainingNode>(shared_from_this(), std::move(edges));
  RECORD_FUNCTION("CompiledFunction", std::vector<c10::IValue>(), static_cast<int64_t>(node->sequence_nr()));
  const BelowAutograd below(facts_.without_autocast);
  return results(py::list(forward_.run(args)), node);
}

py::list TrainingCall::results(const py::list& outs, const c10::intrusive_ptr<TrainingNode>& node) const {
  const size_t n = facts_.differentiable.size();
  const size_t behind = n + facts_.unchecked + facts_.numbers;
  TORCH_CHECK(outs.size() >= behind, "a forward graph of torch.compile gave ", outs.size(), " results");
  py::list made;
  for (size_t i = 0; i < n; ++i) made.append(outs[i]);
  for (const int64_t i : facts_.views) {
    const at::Tensor& t = tensorOf(made[static_cast<size_t>(i)]);
    made[static_cast<size_t>(i)] = py::reinterpret_steal<py::object>(THPVariable_Wrap(at::_unsafe_view(t, t.sizes())));
  }
  for (size_t i = 0; i < n; ++i)
    if (facts_.differentiable[i]) torch::autograd::set_history(tensorOf(made[i]), node);
  // Views keep what they were made from; backward needs but their elements.
  size_t at = n;
  const auto saved = [&](size_t count) {
    std::vector<at::Tensor> out;
    for (const size_t end = at + count; at < end; ++at) {
      const at::Tensor& t = tensorOf(outs[at]);
      out.push_back(t.is_view() ? t.detach() : t);
    }
    return out;
  };
  std::vector<at::Tensor> checked = saved(outs.size() - behind), unchecked = saved(facts_.unchecked);
  std::vector<c10::IValue> numbers;
  for (; at < outs.size(); ++at) numbers.push_back(numberOf(outs[at]));
  node->save(checked, std::move(unchecked), std::move(numbers));
  return made;
}

std::vector<at::Tensor> TrainingCall::runBackward(const py::list& args) {
  if (!backward_) {
    const py::tuple graph = make_backward_();
    backward_ = GraphCall{graph[0], graph[1]};
  }
  const BelowAutograd below(facts_.without_autocast);
  const py::list grads(backward_->run(args));
  std::vector<at::Tensor> out;
  for (const py::handle& g : grads) out.push_back(THPVariable_Check(g.ptr()) ? tensorOf(g) : at::Tensor());
  return out;
}

void addTrainingCall(py::module_& m) {
  using Facts = TrainingCall::Facts;
  using Layout = TrainingCall::Layout;
  py::class_<TrainingCall, std::shared_ptr<TrainingCall>>(m, "TrainingCall")
      .def(py::init([](py::object recordings, py::object otherwise, py::object backward,
                       std::vector<bool> differentiable, std::vector<int64_t> views, size_t unchecked, size_t numbers,
                       std::vector<int64_t> detached, std::vector<int64_t> written, const py::list& tangents,
                       bool without_autocast, bool nondeterministic) {
             Facts facts{std::move(differentiable), std::move(views),   unchecked, numbers,
                         std::move(detached),       std::move(written), {},        without_autocast,
                         nondeterministic};
             for (const py::handle& t : tangents) {
               if (PyTuple_Check(t.ptr())) {
                 const auto [sizes, strides] = t.cast<std::pair<std::vector<int64_t>, std::vector<int64_t>>>();
                 facts.tangents.push_back(Layout{std::nullopt, sizes, strides});
               } else {
                 facts.tangents.push_back(Layout{t.cast<at::MemoryFormat>(), {}, {}});
               }
             }
             return std::make_shared<TrainingCall>(GraphCall{std::move(recordings), std::move(otherwise)},
                                                   std::move(backward), std::move(facts));
           }),
           py::kw_only(), py::arg("recordings"), py::arg("otherwise"), py::arg("backward"), py::arg("differentiable"),
           py::arg("views"), py::arg("unchecked"), py::arg("numbers"), py::arg("detached"), py::arg("written"),
           py::arg("tangents"), py::arg("without_autocast"), py::arg("nondeterministic"));
}

}  // namespace shunt_torch
