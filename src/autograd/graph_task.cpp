#include "src/autograd/graph_task.h"

#include "src/autograd/anomaly.h"
#include "src/autograd/hooks.h"
#include "src/autograd/plain_grad.h"
#include "src/autograd/unshared.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/current_run.h>
#include <shunt/autograd/engine.h>
#include <shunt/core/tls.h>
#include <shunt/ops.h>

#include <algorithm>
#include <atomic>

namespace shunt::autograd {
namespace {

constinit thread_local const GraphTask* current_task SHUNT_TLS_MODEL = nullptr;

class CurrentTask {
 public:
  explicit CurrentTask(const GraphTask* task) : outer_(std::exchange(current_task, task)) {}
  ~CurrentTask() { current_task = outer_; }
  CurrentTask(const CurrentTask&) = delete;
  CurrentTask& operator=(const CurrentTask&) = delete;

 private:
  const GraphTask* outer_;
};

// In a level of vmap or grad a sum may have no batch where what is added has one.
bool isPlain(const Tensor& t) { return !t.key_set().has(Functionality::Batched); }

SHUNT_NOINLINE void addToDefined(Tensor& sum, Tensor&& grad) {
  const bool in_place = !GradMode::is_enabled() && isPlain(sum) && isPlain(grad);
  if (in_place && canAddInPlace(sum))
    sum.add_(grad);
  else if (in_place && canAddInPlace(grad))
    sum = std::move(grad.add_(sum));
  else
    sum = sum.add(grad);
}

void addTo(Tensor& sum, Tensor&& grad) {
  if (!grad.defined()) return;
  if (!sum.defined()) [[likely]]
    sum = std::move(grad);
  else
    addToDefined(sum, std::move(grad));
}

}  // namespace

const Node* runningNode() { return current_task == nullptr ? nullptr : current_task->runningNode(); }

int64_t current_run_id() { return current_task == nullptr ? -1 : current_task->id(); }

bool current_run_calls(const Node& node) {
  SHUNT_CHECK(current_task != nullptr, "current_run_calls(", node.name(),
              "): no backward pass is running on this thread");
  return current_task->calls(node);
}

int64_t GraphTask::id() const {
  static constinit std::atomic<int64_t> next{0};
  if (id_ < 0) id_ = next.fetch_add(1, std::memory_order_relaxed);
  return id_;
}

bool GraphTask::calls(const Node& node) const {
  const uint32_t index = nodes_.find(&node);
  return index != NodeTable::kNone && (!restricted_ || nodes_[index].needed || nodes_[index].captured);
}

bool currentTaskWants(Node* node) { return current_task == nullptr || current_task->wants(node); }

bool currentTaskEndsAt(const Node* accumulator) {
  return current_task != nullptr && current_task->accumulates() && current_task->awaitsOne(accumulator);
}

bool currentTaskHasNothingFor(const Edge& edge) { return current_task != nullptr && current_task->hasNothingFor(edge); }

GraphTask::GraphTask(const edge_list& roots, const edge_list& inputs, bool accumulate, bool keep_graph)
    : nodes_(&memory_), targets_(&memory_), ready_(&memory_), restricted_(!inputs.empty()), keep_graph_(keep_graph) {
  targets_.reserve(NodeTable::kSlots);
  ready_.reserve(kRoom);
  build(roots, inputs, accumulate);
  if (!folded_.empty() && unfold()) [[unlikely]] {
    nodes_.clear();
    targets_.clear();
    captures_.clear();
    unfolded_.clear();
    folded_.clear();
    build(roots, inputs, accumulate);
  }
}

/// Looks up which nodes take part.
void GraphTask::build(const edge_list& roots, const edge_list& inputs, bool accumulate) {
  countDependencies(roots);
  if (!restricted_) return;
  captured_.resize(accumulate ? 0 : inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    // A gradient's graph may lead to what it was unfolded to, and no edge to the node.
    if (inputs[i].is_valid() && inputs[i].function->unfolds()) noteUnfolded(*inputs[i].function);
    const uint32_t index = inputs[i].is_valid() ? find(inputs[i].function.get()) : NodeTable::kNone;
    if (index == NodeTable::kNone) continue;
    if (accumulate) {
      nodes_[index].needed = true;
    } else {
      nodes_[index].captured = true;
      captures_.push_back({index, inputOf(inputs[i], index), i});
    }
  }
  markNeeded(roots);
}

/// Unfolds the nodes that the run leads through; false: none of them could be.
bool GraphTask::unfold() {
  const bool creates_graph = GradMode::is_enabled();
  bool any = false;
  for (const uint32_t i : folded_)
    if (!restricted_ || nodes_[i].needed) any |= nodes_[i].node->unfold(creates_graph);
  return any;
}

/// Index of the node that a run goes to by this edge.
uint32_t GraphTask::insert(const Edge& edge) {
  Node* const node = edge.function.get();
  if (node->unfolds()) [[unlikely]]
    return insertFoldable(*node);
  return nodes_.insert(node).first;
}

// One that another run unfolds after this one has come to it stays folded here.
uint32_t GraphTask::insertFoldable(Node& node) {
  if (const uint32_t known = nodes_.find(&node); known != NodeTable::kNone) return known;
  if (const Edge* const end = noteUnfolded(node)) return nodes_.insert(end->function.get()).first;
  folded_.push_back(nodes_.insert(&node).first);
  return folded_.back();
}

/// Keeps the answer for the whole run, as another run may free the node meanwhile.
const Edge* GraphTask::noteUnfolded(Node& node) {
  if (const Edge* const known = endOf(&node)) return known;
  const Edge* const end = node.unfolded();
  if (end != nullptr) unfolded_.push_back({&node, end});
  return end;
}

const Edge* GraphTask::endOf(const Node* node) const {
  for (const Unfolded& u : unfolded_)
    if (u.folded == node) return u.end;
  return nullptr;
}

uint32_t GraphTask::find(Node* node) const {
  const uint32_t index = nodes_.find(node);
  if (index != NodeTable::kNone || !node->unfolds()) [[likely]]
    return index;
  const Edge* const end = endOf(node);
  return end != nullptr ? nodes_.find(end->function.get()) : NodeTable::kNone;
}

/// Of the node with this index, to which the edge leads.
uint32_t GraphTask::inputOf(const Edge& edge, uint32_t index) const {
  Node* const node = edge.function.get();
  if (!node->unfolds() || node == nodes_[index].node) [[likely]]
    return edge.input_nr;
  return endOf(node)->input_nr;
}

void GraphTask::countDependencies(const edge_list& roots) {
  for (const Edge& root : roots) insert(root);
  // The table grows as new nodes are met; those after `i` haven't been looked at.
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].first_edge = static_cast<uint32_t>(targets_.size());
    for (const Edge& edge : nodes_[i].node->next_edges()) {
      const uint32_t target = edge.is_valid() ? insert(edge) : NodeTable::kNone;
      targets_.push_back(target);
      if (target != NodeTable::kNone) ++nodes_[target].dependencies;
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
    enter(find(root.function.get()));
    while (!path.empty()) {
      Frame& frame = path.back();
      if (frame.next_edge == nodes_[frame.index].node->num_outputs()) {
        path.pop_back();
        continue;
      }
      const uint32_t next = targets_[nodes_[frame.index].first_edge + frame.next_edge];
      if (next != NodeTable::kNone && enter(next)) continue;  // comes back to this edge when `next` is done
      ++frame.next_edge;
      if (next != NodeTable::kNone && (nodes_[next].needed || nodes_[next].captured)) nodes_[frame.index].needed = true;
    }
  }
}

bool GraphTask::wants(Node* node) const {
  if (!restricted_) return true;
  const uint32_t index = find(node);
  return index != NodeTable::kNone && (nodes_[index].needed || nodes_[index].captured);
}

bool GraphTask::awaitsOne(const Node* node) const {
  const uint32_t index = nodes_.find(node);
  return index != NodeTable::kNone && nodes_[index].dependencies == 1 && !nodes_[index].grad.defined();
}

bool GraphTask::hasNothingFor(const Edge& edge) const {
  const uint32_t index = find(edge.function.get());
  if (index == NodeTable::kNone) return true;
  const NodeTable::Entry& entry = nodes_[index];
  return entry.node->num_inputs() == 1 ? !entry.grad.defined()
                                       : entry.grads.empty() || !entry.grads[inputOf(edge, index)].defined();
}

void GraphTask::push(uint32_t index) {
  ready_.push_back({nodes_[index].node->sequence_nr(), index});
  std::push_heap(ready_.begin(), ready_.end());
}

uint32_t GraphTask::pop() {
  std::pop_heap(ready_.begin(), ready_.end());
  const uint32_t index = ready_.back().index;
  ready_.pop_back();
  return index;
}

variable_list GraphTask::run(const edge_list& roots, variable_list grads) {
  CurrentTask scope(this);
  for (size_t i = 0; i < roots.size(); ++i) {
    const uint32_t index = find(roots[i].function.get());
    NodeTable::Entry& entry = nodes_[index];
    addTo(slotOf(entry, inputOf(roots[i], index)), std::move(grads[i]));
    if (!std::exchange(entry.seeded, true) && entry.dependencies == 0) push(index);
  }
  keepForNext(std::move(grads));
  while (!ready_.empty()) evaluate(pop());
  for (const Unfolded& u : unfolded_)
    if (!keep_graph_) u.folded->release_variables();
  return std::move(captured_);
}

Tensor& GraphTask::slotOf(NodeTable::Entry& entry, uint32_t input_nr) {
  const uint32_t inputs = entry.node->num_inputs();
  if (inputs == 1) [[likely]]
    return entry.grad;
  if (entry.grads.empty()) entry.grads.resize(inputs);
  return entry.grads[input_nr];
}

variable_list GraphTask::takeInputs(NodeTable::Entry& entry) {
  if (entry.node->num_inputs() != 1) return std::move(entry.grads);
  variable_list inputs = std::move(spare_);
  if (inputs.capacity() < kRoom) inputs.reserve(kRoom);
  inputs.push_back(std::move(entry.grad));
  return inputs;
}

// What the list holds is released at once: the leaf that gets a gradient looks who else holds it.
void GraphTask::keepForNext(variable_list&& list) {
  list.clear();
  if (list.capacity() > spare_.capacity()) spare_.swap(list);
}

void GraphTask::capture(uint32_t index, const variable_list& inputs) {
  for (const Capture& c : captures_)
    if (c.index == index) captured_[c.position] = inputs[c.input_nr];
}

variable_list GraphTask::callWithHooks(Node& node, const NodeHooks& hooks, variable_list inputs) {
  const auto plain = [&](variable_list grads, const char* kind, unsigned i) {
    for (Tensor& grad : grads)
      if (isWrapped(grad)) [[unlikely]]
        makePlain(grad, "the ", kind, "-hook ", i, " of ", node.name(), " returned");
    return grads;
  };
  inputs = runTensorHooks(node, std::move(inputs));
  const int64_t only = node.hooked_input();
  hooks.pre.forEach([&](const PreHook& hook, unsigned i) {
    if (hook.target<TensorPreHook>() != nullptr) return;
    if (only < 0) {
      inputs = plain(hook(inputs), "pre", i);
      return;
    }
    Tensor& its = inputs[static_cast<size_t>(only)];
    const variable_list list = {std::move(its)};
    its = std::move(plain(hook(list), "pre", i).at(0));
  });
  auto* const leaf = dynamic_cast<AccumulateGrad*>(&node);
  const auto run = [&] {
    if (leaf == nullptr) return node(std::move(inputs));
    leaf->accumulateAfterHooks(std::move(inputs.at(0)));
    return variable_list();
  };
  if (hooks.post.empty()) return run();
  const variable_list before = inputs;
  variable_list outputs = run();
  hooks.post.forEach([&](const PostHook& hook, unsigned i) { outputs = plain(hook(outputs, before), "post", i); });
  return outputs;
}

// In anomaly mode.
variable_list GraphTask::callWatched(Node& node, const NodeHooks* hooks, variable_list inputs) try {
  variable_list grads = hooks == nullptr ? node(std::move(inputs)) : callWithHooks(node, *hooks, std::move(inputs));
  if (AnomalyMode::should_check_nan()) checkNoNan(node, grads);
  return grads;
} catch (...) {
  warnOfForwardPlace(node);
  throw;
}

// Neither the table nor the targets grow while nodes run, so references into them hold.
void GraphTask::evaluate(uint32_t index) {
  NodeTable::Entry& entry = nodes_[index];
  Node& node = *entry.node;
  variable_list inputs = takeInputs(entry);
  if (restricted_) {
    if (entry.captured) {
      if (!entry.needed) inputs = runTensorHooks(node, std::move(inputs));
      capture(index, inputs);
    }
    if (!entry.needed) return keepForNext(std::move(inputs));
  }
  running_node_ = &node;
  const NodeHooks* hooks = node.hooks();
  variable_list grads;
  if (anomaly_) [[unlikely]]
    grads = callWatched(node, hooks, std::move(inputs));
  else
    grads = hooks == nullptr ? node(std::move(inputs)) : callWithHooks(node, *hooks, std::move(inputs));
  keepForNext(std::move(inputs));  // a node may leave it as it was
  if (!keep_graph_) node.release_variables();
  validate_outputs(node, grads);
  const edge_list& edges = node.next_edges();
  const uint32_t* target = targets_.data() + entry.first_edge;
  for (size_t i = 0; i < edges.size(); ++i)
    if (target[i] != NodeTable::kNone) deliver(target[i], inputOf(edges[i], target[i]), std::move(grads[i]));
  keepForNext(std::move(grads));
}

void GraphTask::deliver(uint32_t index, uint32_t input_nr, Tensor&& grad) {
  NodeTable::Entry& entry = nodes_[index];
  if (restricted_ && !entry.needed && !entry.captured) return;
  addTo(slotOf(entry, input_nr), std::move(grad));
  if (--entry.dependencies == 0) push(index);
}

}  // namespace shunt::autograd
