#include "src/autograd/graph_task.h"

#include "src/autograd/plain_grad.h"
#include "src/autograd/unshared.h"

#include <shunt/autograd/engine.h>
#include <shunt/core/tls.h>
#include <shunt/ops.h>

namespace shunt::autograd {
namespace {

constinit thread_local const GraphTask* current_task = nullptr;
constinit thread_local const Node* running_node = nullptr;

class CurrentTask {
 public:
  explicit CurrentTask(const GraphTask* task) : outer_(std::exchange(current_task, task)) {}
  ~CurrentTask() {
    current_task = outer_;
    running_node = outer_node_;
  }
  CurrentTask(const CurrentTask&) = delete;
  CurrentTask& operator=(const CurrentTask&) = delete;

 private:
  const GraphTask* outer_;
  const Node* outer_node_ = running_node;
};

// Views are left alone even where nobody else sees them: a sum in place would have other strides than sum.add(grad).
bool canAddInPlace(const Tensor& t) {
  return isUnshared(t) && get_view_autograd_meta(t) == nullptr && t.is_non_overlapping_and_dense() &&
         !t.requires_grad();
}

void addTo(Tensor& sum, Tensor grad) {
  if (!grad.defined()) return;
  if (!sum.defined())
    sum = std::move(grad);
  else if (!GradMode::is_enabled() && canAddInPlace(sum))
    sum.add_(grad);
  else if (!GradMode::is_enabled() && canAddInPlace(grad))
    sum = std::move(grad.add_(sum));
  else
    sum = sum.add(grad);
}

}  // namespace

const Node* runningNode() { return running_node; }

bool currentTaskWants(const Node* node) { return current_task == nullptr || current_task->wants(node); }

GraphTask::GraphTask(const edge_list& roots, const edge_list& inputs, bool accumulate, bool keep_graph)
    : restricted_(!inputs.empty()), keep_graph_(keep_graph) {
  countDependencies(roots);
  if (!restricted_) return;
  captured_.resize(accumulate ? 0 : inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint32_t index = inputs[i].is_valid() ? nodes_.find(inputs[i].function.get()) : NodeTable::kNone;
    if (index == NodeTable::kNone) continue;
    if (accumulate) {
      nodes_[index].needed = true;
    } else {
      nodes_[index].captured = true;
      captures_.push_back({index, inputs[i].input_nr, i});
    }
  }
  markNeeded(roots);
}

void GraphTask::countDependencies(const edge_list& roots) {
  std::vector<Node*> stack;
  for (const Edge& root : roots)
    if (nodes_.insert(root.function.get()).second) stack.push_back(root.function.get());
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->next_edges()) {
      if (!edge.is_valid()) continue;
      const auto [index, is_new] = nodes_.insert(edge.function.get());
      ++nodes_[index].dependencies;
      if (is_new) stack.push_back(edge.function.get());
    }
  }
}

// Depth first, with the path on an explicit stack: a node is needed when any node after it is.
void GraphTask::markNeeded(const edge_list& roots) {
  struct Frame {
    uint32_t index;
    size_t next_edge;
  };
  std::vector<Frame> path;
  std::vector<bool> seen(nodes_.size(), false);
  const auto enter = [&](uint32_t index) {
    if (seen[index]) return false;
    seen[index] = true;
    path.push_back({index, 0});
    return true;
  };
  for (const Edge& root : roots) {
    enter(nodes_.find(root.function.get()));
    while (!path.empty()) {
      Frame& frame = path.back();
      const edge_list& edges = nodes_[frame.index].node->next_edges();
      if (frame.next_edge == edges.size()) {
        path.pop_back();
        continue;
      }
      const Edge& edge = edges[frame.next_edge];
      const uint32_t next = edge.is_valid() ? nodes_.find(edge.function.get()) : NodeTable::kNone;
      if (next != NodeTable::kNone && enter(next)) continue;  // comes back to this edge when `next` is done
      ++frame.next_edge;
      if (next != NodeTable::kNone && (nodes_[next].needed || nodes_[next].captured)) nodes_[frame.index].needed = true;
    }
  }
}

bool GraphTask::wants(const Node* node) const {
  if (!restricted_) return true;
  const uint32_t index = nodes_.find(node);
  return index != NodeTable::kNone && (nodes_[index].needed || nodes_[index].captured);
}

variable_list GraphTask::run(const edge_list& roots, variable_list grads) {
  CurrentTask scope(this);
  for (size_t i = 0; i < roots.size(); ++i) {
    const uint32_t index = nodes_.find(roots[i].function.get());
    NodeTable::Entry& entry = nodes_[index];
    const bool first = entry.buffer.empty();
    if (first) entry.buffer.resize(entry.node->num_inputs());
    addTo(entry.buffer[roots[i].input_nr], std::move(grads[i]));
    if (first && entry.dependencies == 0) ready_.push({entry.node->sequence_nr(), index});
  }
  while (!ready_.empty()) {
    const uint32_t index = ready_.top().index;
    ready_.pop();
    evaluate(index);
  }
  return std::move(captured_);
}

void GraphTask::capture(uint32_t index, const variable_list& inputs) {
  for (const Capture& c : captures_)
    if (c.index == index) captured_[c.position] = inputs[c.input_nr];
}

variable_list GraphTask::call(Node& node, variable_list inputs) {
  running_node = &node;
  const NodeHooks* hooks = node.hooks();
  if (hooks == nullptr) return node(std::move(inputs));
  const auto plain = [&](variable_list grads, const char* kind, size_t i) {
    for (Tensor& grad : grads)
      if (isWrapped(grad)) [[unlikely]]
        makePlain(grad, "the ", kind, "-hook ", i, " of ", node.name(), " returned");
    return grads;
  };
  for (size_t i = 0; i < hooks->pre.size(); ++i) inputs = plain(hooks->pre[i](inputs), "pre", i);
  if (hooks->post.empty()) return node(std::move(inputs));
  const variable_list before = inputs;
  variable_list outputs = node(std::move(inputs));
  for (size_t i = 0; i < hooks->post.size(); ++i) outputs = plain(hooks->post[i](outputs, before), "post", i);
  return outputs;
}

void GraphTask::evaluate(uint32_t index) {
  Node& node = *nodes_[index].node;
  variable_list inputs = std::move(nodes_[index].buffer);
  if (nodes_[index].captured) capture(index, inputs);
  if (restricted_ && !nodes_[index].needed) return;
  variable_list grads = call(node, std::move(inputs));
  if (!keep_graph_) node.release_variables();
  validate_outputs(node, grads);
  for (size_t i = 0; i < node.num_outputs(); ++i) deliver(node.next_edge(i), std::move(grads[i]));
}

void GraphTask::deliver(const Edge& edge, Tensor grad) {
  if (!edge.is_valid()) return;
  const uint32_t index = nodes_.find(edge.function.get());
  NodeTable::Entry& entry = nodes_[index];
  if (restricted_ && !entry.needed && !entry.captured) return;
  if (entry.buffer.empty()) entry.buffer.resize(entry.node->num_inputs());
  addTo(entry.buffer[edge.input_nr], std::move(grad));
  if (--entry.dependencies == 0) ready_.push({entry.node->sequence_nr(), index});
}

}  // namespace shunt::autograd
