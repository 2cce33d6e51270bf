// Host steps as nodes of a graph: one operator stands for all of them, and its first argument is the step.
//
// The node's operator is called where a run calls its operators one by one: the first one, under dispatch modes, after
// a registration. Its kernel gets tensors and hands their addresses on. All other runs call the function from a
// prepared step (steps/host_step.h). The schema says what the step does: it reads one list, writes another, and its
// results are new.
#pragma once

#include <shunt/compile/host_plan.h>
#include <shunt/trace/graph.h>

#include <atomic>
#include <string_view>
#include <vector>

namespace shunt::compiled {

/// Graphs share it as a string, its name. Constant but for the count.
class HostFunction : public detail::Boxed<std::string> {
 public:
  explicit HostFunction(HostStep step);
  /// `inputs`, `results`: first elements, in the step's order.
  void call(std::span<void* const> inputs, std::span<void* const> results) const;
  /// Where the node has the step's input: among those that it reads, then those that it writes.
  size_t placeOf(size_t input) const { return places_[input]; }
  size_t readCount() const { return read_; }
  bool hasEffects() const { return has_effects_; }
  const std::vector<HostSpec>& inputSpecs() const { return inputs_; }
  const std::vector<HostSpec>& resultSpecs() const { return results_; }
  /// Calls so far, of all plans that have it. Relaxed: a count for people.
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

 private:
  friend intrusive_ptr<HostFunction> makeHostFunction(HostStep step, std::vector<HostSpec> inputs);
  std::function<void(const HostCall&)> function_;
  std::vector<HostSpec> inputs_, results_;
  std::vector<size_t> places_;
  size_t read_ = 0;
  bool has_effects_ = false;
  mutable std::atomic<uint64_t> calls_{0};
};

/// `inputs`: of the step's, complete, as results are.
intrusive_ptr<HostFunction> makeHostFunction(HostStep step, std::vector<HostSpec> inputs);

/// The operator: (str step, Tensor[] read, Tensor(a!)[] written) -> Tensor[].
const OperatorHandle& hostOperator();
/// Whether the node is a host step.
bool isHostStep(const Graph::Node& node);
/// Of a node that is one.
const HostFunction& hostFunctionOf(const Graph::Node& node);
/// Whether the node is a host step that does nothing but read and give results.
bool isPureHostStep(const Graph::Node& node);

}  // namespace shunt::compiled
