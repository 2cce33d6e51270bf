#include <shunt/autograd/engine.h>

#include "src/autograd/graph_task.h"
#include "src/autograd/plain_grad.h"
#include "src/tensor/active_trace.h"

#include <shunt/autograd/graph_tensor.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/core/log.h>
#include <shunt/core/tls.h>
#include <shunt/ops.h>
#include <shunt/tensor/expand_utils.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace shunt::autograd {
namespace {

// The gradient of an output that was given none.
Tensor implicitGrad(const Tensor& output) {
  if (!output.requires_grad()) return {};
  SHUNT_CHECK(output.numel() == 1, "grad can be implicitly created only for scalar outputs, but this output has shape ",
              output.sizes(), "; pass its gradient");
  return ones_like(output, {}, {}, {}, {}, MemoryFormat::Contiguous);
}

variable_list makeGrads(TensorList outputs, TensorList grads) {
  SHUNT_CHECK(grads.empty() || grads.size() == outputs.size(), "got ", outputs.size(), " tensors and ", grads.size(),
              " gradients");
  variable_list result;
  result.reserve(std::max(outputs.size(), GraphTask::kRoom));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (grads.empty() || !grads[i].defined()) {
      result.push_back(implicitGrad(outputs[i]));
      continue;
    }
    Tensor grad = grads[i];
    if (ActiveTrace* trace = activeTrace()) [[unlikely]]
      grad = trace->standsFor(grad);
    makePlain(grad, "grad_output[", i, "] is");
    SHUNT_CHECK(is_expandable_to(outputs[i].sizes(), grad.sizes()), "Mismatch in shape: grad_output[", i,
                "] has a shape of ", grad.sizes(), " and output[", i, "] has a shape of ", outputs[i].sizes(), ".");
    SHUNT_CHECK(isFake(grad) == isFake(outputs[i]), "grad_output[", i, "] is a ", isFake(grad) ? "fake" : "real",
                " tensor and output[", i, "] is a ", isFake(outputs[i]) ? "fake" : "real",
                " one; a gradient has numbers where its output has");
    result.push_back(std::move(grad));
  }
  return result;
}

edge_list rootEdges(TensorList outputs) {
  edge_list roots;
  roots.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    SHUNT_CHECK(outputs[i].defined(), "element ", i, " of tensors is undefined");
    roots.push_back(gradient_edge(outputs[i]));
    SHUNT_CHECK(roots.back().is_valid(), "element ", i,
                " of tensors does not require grad and does not have a grad_fn");
  }
  return roots;
}

edge_list inputEdges(TensorList inputs, bool accumulate) {
  edge_list edges;
  edges.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    SHUNT_CHECK(input.defined() && input.requires_grad(), "One of the differentiated Tensors does not require grad");
    if (accumulate) input.retain_grad();
    edges.push_back(gradient_edge(input));
  }
  return edges;
}

// Nodes make tensors of their own, of one kind for the whole run. In a level of vmap or grad they make them outside of
// it, under the modes that are on there.
bool anyFake(TensorList outputs) {
  for (size_t i = 1; i < outputs.size(); ++i)
    SHUNT_CHECK(isFake(outputs[i]) == isFake(outputs[0]), "element ", i, " of tensors is a ",
                isFake(outputs[i]) ? "fake" : "real", " tensor and element 0 is a ",
                isFake(outputs[0]) ? "fake" : "real",
                " one; differentiate fake and real tensors in calls of their own");
  return !outputs.empty() && wrapperKind(outputs[0]) == WrapperKind::kFake;
}

// Wrappers stand for the tensors that hold their graphs: backward knows nothing of their classes.
bool anyForwards(TensorList tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.defined() && forwards_graph(t); });
}
variable_list graphTensors(TensorList tensors) {
  variable_list result;
  result.reserve(tensors.size());
  for (const Tensor& t : tensors) result.push_back(graph_tensor(t));
  return result;
}

/// Runs that this thread is in: nodes may run backward again, each on top of the other on the thread's stack.
thread_local int runs_of_thread = 0;

struct ThreadStack {
  const std::byte* lowest = nullptr;
  size_t size = 0;
  size_t left() const {
    return static_cast<size_t>(static_cast<const std::byte*>(__builtin_frame_address(0)) - lowest);
  }
  /// What a run inside of a run must find: small stacks hold small graphs.
  size_t needed() const { return std::min(size_t{1} << 18, size / 4); }
};

const ThreadStack& threadStack() {
  thread_local const ThreadStack stack = [] {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &lowest, &size);
      pthread_attr_destroy(&attributes);
    }
    return ThreadStack{static_cast<const std::byte*>(lowest), size};
  }();
  return stack;
}

struct RunInRun {
  RunInRun() {
    SHUNT_CHECK(
        runs_of_thread == 0 || threadStack().left() > threadStack().needed(), "backward() is called inside backward() ",
        runs_of_thread,
        " times, and the thread's stack has no room for more. Make the graphs one, or use a thread with a larger "
        "stack");
    ++runs_of_thread;
  }
  ~RunInRun() { --runs_of_thread; }
  RunInRun(const RunInRun&) = delete;
  RunInRun& operator=(const RunInRun&) = delete;
};

}  // namespace

variable_list execute(TensorList outputs, TensorList grads, TensorList inputs, bool accumulate, bool keep_graph,
                      bool create_graph) {
  if (anyForwards(outputs) || anyForwards(inputs)) [[unlikely]]
    return execute(graphTensors(outputs), grads, graphTensors(inputs), accumulate, keep_graph, create_graph);
  const RunInRun run;
  if (ActiveTrace* trace = activeTrace()) [[unlikely]]
    trace->differentiates(create_graph);
  const edge_list roots = rootEdges(outputs);
  // What nodes make without an argument, as a gradient of zeros, has to be fake where the graph is.
  std::optional<IncludeDispatchKeyGuard> fake;
  if (anyFake(outputs)) fake.emplace(DispatchKey::Fake);
  variable_list seeds = makeGrads(outputs, grads);
  const edge_list ends = inputEdges(inputs, accumulate);
  AutoGradMode mode(create_graph);
  GraphTask task(roots, ends, accumulate, keep_graph);
  for (size_t i = 0; i < roots.size(); ++i) {
    // A gradient from outside must fit like one from a node.
    const InputMetadata& meta = roots[i].function->input_metadata(roots[i].input_nr);
    if (!seeds[i].defined()) continue;
    if (!seeds[i].sizes().equals(meta.sizes())) seeds[i] = sum_to(std::move(seeds[i]), meta.sizes());
    if (seeds[i].scalar_type() != meta.dtype()) seeds[i] = seeds[i].to(meta.dtype());
  }
  return task.run(roots, std::move(seeds));
}

namespace {

bool fits(const TensorImpl& grad, const InputMetadata& meta) {
  return grad.dtype() == meta.dtype() && isFloatingType(meta.dtype()) && grad.device() == meta.device() &&
         grad.sizes().equals(meta.sizes());
}

void fitOutput(const Node& node, size_t i, const InputMetadata& meta, Tensor& grad) {
  if (!grad.sizes().equals(meta.sizes())) {
    SHUNT_CHECK(is_expandable_to(meta.sizes(), grad.sizes()), "Function ", node.name(),
                " returned an invalid gradient at index ", i, " - got ", grad.sizes(),
                " but expected shape compatible with ", meta.sizes());
    grad = sum_to(std::move(grad), meta.sizes());
  }
  SHUNT_CHECK(grad.is_floating_point(), "Function ", node.name(), " returned an invalid gradient at index ", i,
              " - expected a floating-point tensor but got ", grad.scalar_type());
  if (grad.scalar_type() != meta.dtype()) grad = grad.to(meta.dtype());
  if (grad.device() != meta.device()) {
    SHUNT_CHECK(grad.dim() == 0, "Function ", node.name(), " returned an invalid gradient at index ", i,
                " - expected device ", meta.device(), " but got ", grad.device());
    grad = grad.to(TensorOptions(meta.device()));
  }
}

}  // namespace

void validate_outputs(const Node& node, variable_list& grads) {
  const edge_list& edges = node.next_edges();
  if (grads.size() != edges.size()) [[unlikely]] {
    for (size_t i = edges.size(); i < grads.size(); ++i)
      SHUNT_CHECK(!grads[i].defined(), "Function ", node.name(), " returned an invalid number of gradients - expected ",
                  edges.size(), ", but got ", grads.size());
    SHUNT_CHECK(grads.size() > edges.size(), "Function ", node.name(),
                " returned an invalid number of gradients - expected ", edges.size(), ", but got ", grads.size());
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    if (!edges[i].is_valid() || !grads[i].defined()) continue;
    if (isWrapped(grads[i])) [[unlikely]]
      makePlain(grads[i], "Function ", node.name(), " at index ", i, " returned");
    const InputMetadata& meta = edges[i].function->input_metadata(edges[i].input_nr);
    if (!meta.is_undefined() && !fits(*grads[i].unsafeGetTensorImpl(), meta)) fitOutput(node, i, meta, grads[i]);
  }
}

void warnOfCreateGraph(bool create_graph) {
  static std::atomic<bool> given{false};
  if (!create_graph) return;
  shunt::detail::logWarningOnce(
      given,
      "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
      "which can cause a memory leak. Use autograd::grad() for the graph of a gradient, or reset the parameters' grad "
      "when it is used no more.");
}

void backward(const variable_list& tensors, const variable_list& grad_tensors, std::optional<bool> retain_graph,
              bool create_graph, const variable_list& inputs) {
  warnOfCreateGraph(create_graph);
  execute(tensors, grad_tensors, inputs, true, retain_graph.value_or(create_graph), create_graph);
}

variable_list grad(const variable_list& outputs, const variable_list& inputs, const variable_list& grad_outputs,
                   std::optional<bool> retain_graph, bool create_graph, bool allow_unused) {
  SHUNT_CHECK(!inputs.empty(), "grad requires non-empty inputs.");
  const bool retains = retain_graph.value_or(create_graph);
  variable_list grads;
  if (ActiveTrace* trace = activeTrace()) [[unlikely]] {
    variable_list traced = inputs;
    for (Tensor& t : traced)
      if (t.defined() && !forwards_graph(t)) t = trace->standsFor(t);
    grads = execute(outputs, grad_outputs, traced, false, retains, create_graph);
  } else {
    grads = execute(outputs, grad_outputs, inputs, false, retains, create_graph);
  }
  for (size_t i = 0; i < grads.size() && !allow_unused; ++i)
    SHUNT_CHECK(grads[i].defined(), "The differentiated Tensor at index ", i,
                " appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.");
  if (ActiveTrace* trace = activeTrace()) [[unlikely]]
    for (Tensor& grad : grads)
      if (grad.defined()) grad = trace->wrapped(grad);
  return grads;
}

}  // namespace shunt::autograd
