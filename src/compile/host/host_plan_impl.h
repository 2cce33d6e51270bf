// What a HostPlan is a handle on: the graph, the Plan that runs it, and the memory of running calls.
//
// Any number of threads may run one. A Plan that no longer holds is replaced by one of the graph; it stays until the
// HostPlan is gone, as other runs may be in it.
#pragma once

#include "src/compile/host/host_memory.h"
#include "src/compile/program/plan.h"

#include <shunt/compile/host_plan.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace shunt {

/// An output as the builder knows it.
struct HostPlanOutput {
  HostOutput where;
  bool is_constant = false;  // or a view of one: the caller gets a copy
};

class HostPlan::Impl {
 public:
  Impl(Graph graph, std::vector<HostPlanOutput> outputs, HostPlanOptions options);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::vector<Tensor> run(std::span<void* const> inputs, std::span<void* const> outputs) const;
  const std::vector<HostOutput>& outputs() const { return where_; }
  const std::vector<HostSpec>& inputs() const { return inputs_; }
  Counts counts() const;
  PlanDescription description() const;
  std::string describe() const;

 private:
  // Registrations that come one by one make a plan each; beyond these, runs call the operators.
  static constexpr size_t kMostPlans = 64;

  compiled::HostLayout layoutOf() const;
  std::vector<int> targetsOf() const;
  const compiled::Plan& plan() const;
  const compiled::Plan& planAnew(const compiled::Plan& old) const;
  std::unique_ptr<compiled::Plan> makePlan() const;
  std::vector<Tensor> runIn(compiled::HostMemory& memory) const;
  void fill(const Tensor& target, const Tensor& made) const;

  const Graph graph_;
  const HostPlanOptions options_;
  const std::vector<HostPlanOutput> outputs_;
  std::vector<HostOutput> where_;  // constant
  std::vector<HostSpec> inputs_;   // constant
  size_t returned_ = 0;            // outputs of kind kTensor; constant
  const compiled::HostLayout layout_;
  mutable compiled::HostMemoryPool pool_;
  mutable std::mutex planning_;
  mutable std::vector<std::unique_ptr<const compiled::Plan>> plans_;  // guarded by planning_
  mutable std::atomic<const compiled::Plan*> plan_;                   // the newest (release, acquire)
  mutable std::atomic<size_t> runs_{0}, copied_{0};                   // relaxed: counts for people
};

}  // namespace shunt
