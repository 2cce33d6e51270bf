#include "src/compile/host/host_plan_impl.h"

#include "src/compile/host/host_specs.h"
#include "src/compile/host/operator_call.h"
#include "src/compile/passes/aliases.h"
#include "src/compile/passes/host_node.h"
#include "src/trace/modes.h"
#include "src/trace/recorded_results.h"

#include <shunt/core/error.h>
#include <shunt/core/tls.h>
#include <shunt/ops.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>
#include <unordered_map>

namespace shunt {

using compiled::HostLayout;
using compiled::HostMemory;
using compiled::Plan;

namespace {

/// Gives the memory back when the run is over, unless somebody else still has a tensor over it.
class Lease {
 public:
  explicit Lease(compiled::HostMemoryPool& pool) : pool_(pool), memory_(pool.take()) {}
  ~Lease() {
    if (!is_bound_ || kept() == nullptr) pool_.give(std::move(memory_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  void bind(std::span<void* const> inputs, std::span<void* const> outputs) {
    memory_->bind(inputs, outputs);
    is_bound_ = true;
  }
  /// As HostMemory's, after the run.
  const HostLayout::Place* kept() {
    if (is_free_) return nullptr;
    const HostLayout::Place* place = memory_->kept();
    is_free_ = place == nullptr;
    return place;
  }
  HostMemory& operator*() const { return *memory_; }

 private:
  compiled::HostMemoryPool& pool_;
  std::unique_ptr<HostMemory> memory_;
  bool is_bound_ = false;  // in this run
  bool is_free_ = false;   // nobody else has tensors of it any more
};

std::vector<HostOutput> placesOf(const std::vector<HostPlanOutput>& outputs) {
  std::vector<HostOutput> out;
  for (const HostPlanOutput& o : outputs) out.push_back(o.where);
  return out;
}

std::vector<HostSpec> specsOf(const std::vector<Graph::Value*>& values) {
  std::vector<HostSpec> out;
  for (const Graph::Value* v : values) out.push_back(compiled::hostSpecOf(v->spec));
  return out;
}

/// Settings that steps without a call depend on.
bool needsSettings() { return (detail::tls_state.mode & detail::kModeInference) != 0; }

}  // namespace

HostPlan::Impl::Impl(Graph graph, std::vector<HostPlanOutput> outputs, HostPlanOptions options)
    : graph_(std::move(graph)),
      options_(std::move(options)),
      outputs_(std::move(outputs)),
      where_(placesOf(outputs_)),
      inputs_(specsOf(graph_.inputs())),
      layout_(layoutOf()),
      pool_(layout_) {
  for (const HostOutput& o : where_) returned_ += o.kind == HostOutput::Kind::kTensor ? 1 : 0;
  plans_.push_back(makePlan());
  plan_.store(plans_.back().get(), std::memory_order_release);
}

HostLayout HostPlan::Impl::layoutOf() const {
  const compiled::Aliases aliases(graph_);
  HostLayout out;
  out.name = options_.name;
  out.checks_memory = options_.check_memory;
  out.inputs = inputs_.size();
  std::unordered_map<int64_t, size_t> storages;  // by the id of the first input in it
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Graph::Value* v = graph_.inputs()[i];
    const size_t storage = storages.try_emplace(v->storage, storages.size()).first->second;
    out.add(inputs_[i], storage, false, i);
    out.storages[storage].is_written |= aliases.isWritten(v);
  }
  size_t position = 0;
  for (const HostOutput& o : where_) {
    if (o.kind != HostOutput::Kind::kMemory) continue;
    const size_t storage = out.storages.size();
    out.add(o.spec, storage, true, position++);
    out.storages[storage].is_written = true;
  }
  return out;
}

/// By output: the place that it may be computed in.
std::vector<int> HostPlan::Impl::targetsOf() const {
  std::vector<int> out;
  int next = static_cast<int>(inputs_.size());
  for (size_t i = 0; i < where_.size(); ++i) {
    const bool is_memory = where_[i].kind == HostOutput::Kind::kMemory;
    const bool lies_so = is_memory && where_[i].spec.strides == graph_.outputs()[i]->spec.strides;
    out.push_back(lies_so ? next : -1);
    next += is_memory ? 1 : 0;
  }
  return out;
}

std::unique_ptr<Plan> HostPlan::Impl::makePlan() const {
  return std::make_unique<Plan>(graph_, compiled::PlanOptions{.history_of_outputs = false,
                                                              .views_of_outputs = false,
                                                              .native_after = options_.native_after,
                                                              .guarded = true,
                                                              .describes_outputs = true,
                                                              .into = targetsOf()});
}

const Plan& HostPlan::Impl::plan() const {
  const Plan& newest = *plan_.load(std::memory_order_acquire);
  return newest.holds() ? newest : planAnew(newest);
}

/// The old one, which calls the operators, where another thread is at it or there were too many.
SHUNT_COLD const Plan& HostPlan::Impl::planAnew(const Plan& old) const {
  const std::unique_lock lock(planning_, std::try_to_lock);
  if (!lock.owns_lock() || plans_.size() == kMostPlans) return old;
  const Plan* newest = plan_.load(std::memory_order_relaxed);
  if (newest != &old && newest->holds()) return *newest;
  plans_.push_back(makePlan());
  plan_.store(plans_.back().get(), std::memory_order_release);
  return *plans_.back();
}

std::vector<Tensor> HostPlan::Impl::run(std::span<void* const> inputs, std::span<void* const> outputs) const {
  std::optional<trace_detail::ModesScope> settings;
  if (needsSettings()) [[unlikely]] {
    settings.emplace();
    settings->set(compiled::hostModes());
  }
  Lease memory(pool_);
  memory.bind(inputs, outputs);
  runs_.fetch_add(1, std::memory_order_relaxed);
  std::vector<Tensor> results = runIn(*memory);
  if (const HostLayout::Place* kept = memory.kept()) [[unlikely]]
    SHUNT_CHECK(false, options_.name, ": after the run something still has a tensor over the memory of ",
                layout_.nameOf(*kept),
                ": a kernel of the program's, a dispatch mode or a trace has kept it. The memory is the host's, and "
                "may be gone when that tensor is used");
  return results;
}

std::vector<Tensor> HostPlan::Impl::runIn(HostMemory& memory) const {
  std::vector<Tensor> results;
  results.reserve(returned_);
  detail::CompileOutputs made = [&] {
    try {
      return plan().runOn(memory.given());
    } catch (const trace_detail::OtherResults& e) {
      throw Error(detail::str(options_.name, ": ", e.what()));
    }
  }();
  size_t position = 0;
  for (size_t i = 0; i < where_.size(); ++i) {
    switch (where_[i].kind) {
      case HostOutput::Kind::kMemory:
        fill(memory.output(position++), made[i]);
        break;
      case HostOutput::Kind::kTensor:
        results.push_back(outputs_[i].is_constant ? made[i].clone() : std::move(made[i]));
        break;
      default:
        break;
    }
  }
  return results;
}

void HostPlan::Impl::fill(const Tensor& target, const Tensor& made) const {
  const TensorImpl &to = *target.unsafeGetTensorImpl(), &from = *made.unsafeGetTensorImpl();
  if (&to == &from || to.numel() == 0) return;
  copied_.fetch_add(1, std::memory_order_relaxed);
  if (to.is_contiguous() && from.is_contiguous()) {
    std::memcpy(to.data(), from.data(), static_cast<size_t>(to.numel() * to.itemsize()));
    return;
  }
  trace_detail::ModesScope modes;
  modes.set(compiled::hostModes());
  Tensor(target).copy_(made);
}

HostPlan::Counts HostPlan::Impl::counts() const {
  const Plan::Counts plan = this->plan_.load(std::memory_order_acquire)->counts();
  Counts out;
  out.host_steps = plan.host_steps;
  out.operators = plan.steps - plan.host_steps;
  out.regions = plan.regions;
  out.in_regions = plan.nodes_in_regions;
  out.prepared = plan.prepared - plan.host_steps;
  out.called = out.operators - out.in_regions - out.prepared;
  out.buffers = plan.buffers;
  out.buffer_bytes = plan.buffer_bytes;
  out.runs = runs_.load(std::memory_order_relaxed);
  out.copied_outputs = copied_.load(std::memory_order_relaxed);
  for (const Graph::Node* node : graph_.nodes())
    if (compiled::isHostStep(*node)) out.host_calls += compiled::hostFunctionOf(*node).calls();
  const std::scoped_lock lock(planning_);
  out.planned = plans_.size();
  return out;
}

PlanDescription HostPlan::Impl::description() const { return plan_.load(std::memory_order_acquire)->description(); }

std::string HostPlan::Impl::describe() const {
  std::ostringstream out;
  const Counts n = counts();
  out << options_.name << ": " << inputs_.size() << " inputs, " << where_.size() << " outputs\n";
  out << description().text();
  out << n.operators << " operators: " << n.in_regions << " in " << n.regions << " regions, " << n.prepared
      << " prepared, " << n.called << " called; " << n.host_steps << " host steps\n";
  return out.str();
}

const HostPlan::Impl& HostPlan::impl() const {
  SHUNT_CHECK(impl_ != nullptr, "HostPlan: the handle is of no plan");
  return *impl_;
}
std::vector<Tensor> HostPlan::run(std::span<void* const> inputs, std::span<void* const> outputs) const {
  return impl().run(inputs, outputs);
}
std::vector<Tensor> HostPlan::run(std::initializer_list<void*> inputs, std::initializer_list<void*> outputs) const {
  return impl().run({inputs.begin(), inputs.size()}, {outputs.begin(), outputs.size()});
}
const std::vector<HostOutput>& HostPlan::outputs() const { return impl().outputs(); }
const std::vector<HostSpec>& HostPlan::inputs() const { return impl().inputs(); }
HostPlan::Counts HostPlan::counts() const { return impl().counts(); }
PlanDescription HostPlan::description() const { return impl().description(); }
std::string HostPlan::describe() const { return impl().describe(); }

}  // namespace shunt
