#include "src/compile/program/plan.h"

#include "src/compile/checks/stand_ins.h"
#include "src/compile/guards/onlookers.h"
#include "src/compile/guards/own_calls.h"
#include "src/compile/passes/aliases.h"
#include "src/compile/passes/casts.h"
#include "src/compile/passes/host_node.h"
#include "src/compile/passes/same_views.h"
#include "src/compile/program/recorder.h"
#include "src/compile/steps/grad_step.h"
#include "src/compile/steps/quick_counts.h"
#include "src/compile/steps/view_step.h"
#include "src/dispatch/changes.h"
#include "src/trace/inputs.h"
#include "src/trace/interpreter.h"
#include "src/trace/values_of.h"
#include "src/trace/writes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace shunt::compiled {
namespace {

std::vector<Group> singlesOf(const Graph& graph) {
  std::vector<Group> out;
  for (const Graph::Node* node : graph.nodes()) out.push_back({.single = node});
  return out;
}

/// Whether elements may make the operator fail: those of integers and truth values, as indices and divisors.
bool mayRefuseElements(const Graph::Node& node) {
  return std::ranges::any_of(node.arguments, [](const Graph::Argument& a) {
    return std::ranges::any_of(
        a.values, [](const Graph::Value* v) { return v != nullptr && isIntegralType(v->spec.dtype, true); });
  });
}

/// Dead code goes, but where it could fail as the graph does, makes the nodes of views that leave it, or gives other
/// results than were recorded, whose sizes the function may have read.
Graph withoutDeadCode(const Graph& graph, const PlanOptions& options) {
  Graph lean = graph.clone();
  if (lean.eliminate_dead_code() == 0) return lean;
  const auto isLeft = [&](const Graph::Node& node) {
    return std::ranges::any_of(node.outputs, [&](const Graph::Output& o) {
      return std::ranges::any_of(o.values, [&](const auto* v) { return v != nullptr && lean.value(v->id) != nullptr; });
    });
  };
  std::unordered_set<const Graph::Node*> matters;
  if (options.history_of_outputs) matters = readersOfWrittenViews(graph, Aliases(graph));
  for (const Graph::Node* node : graph.nodes())
    if (!trace_detail::writesAny(*node) && !isLeft(*node) &&
        (mayRefuseElements(*node) || matters.contains(node) || trace_detail::mayGiveOtherResults(*node)))
      return graph.clone();
  return lean;
}

// Passes that change neither bits nor what is seen of the results. Merging two nodes changes the order in which a later
// backward pass adds gradients, so it is for graphs whose history nobody sees.
Graph simplified(const Graph& graph, const PlanOptions& options) {
  Graph out = withoutDeadCode(graph, options);
  const Aliases aliases(out);
  const auto hasHistory = [&](const Graph::Value* v) {
    return v != nullptr && (v->spec.requires_grad || aliases.isWritten(v));
  };
  const bool seen = options.history_of_outputs && std::ranges::any_of(out.outputs(), hasHistory);
  if (!seen) {
    out.common_subexpressions();
    dropSameViews(out);
  }
  return out;
}

// Where more than one run in eight leaves the buffers, some 16 times, a plan does without them.
constexpr int kRunsForOneThatLeaves = 8, kTooOften = 16 * kRunsForOneThatLeaves;

constexpr auto kCall = [](const Step& step, Frame& frame, trace_detail::ModesScope& modes) {
  callStep(step, frame, modes);
};

bool isInferenceMode() { return (detail::tls_state.mode & detail::kModeInference) != 0; }

std::vector<const Operator*> operatorsOf(const Graph& graph) {
  std::vector<const Operator*> out;
  for (const Graph::Node* node : graph.nodes()) out.push_back(&node->op.op());
  return out;
}

DispatchKeySet keysOfArguments(const Graph::Node& node) {
  DispatchKeySet keys;
  for (const Graph::Argument& a : node.arguments)
    for (const Graph::Value* v : a.values)
      if (v != nullptr)
        keys = keys | DispatchKeySet::of(Functionality::Dense) | DispatchKeySet::of(backendOf(v->spec.device.type()));
  return keys;
}

}  // namespace

Plan::Plan(const Graph& graph, const PlanOptions& options)
    : graph_(simplified(graph, options)),
      aliases_(graph_),
      history_(findHistory(graph_, {options.history_of_outputs, options.views_of_outputs})),
      compares_strides_(options.compares_strides || trace_detail::reliesOnStrides(graph_)),
      expected_(graph_, aliases_, options.seen, {compares_strides_, options.describes_outputs}),
      program_options_{options.native_after, onlyRecord(options.seen.empty() ? operatorsOf(graph_) : options.seen),
                       options.guarded,      false,
                       options.into,         &expected_},
      single_(makeProgram(graph_, aliases_, history_, singlesOf(graph_), program_options_)) {
  for (const Graph::Value* v : graph_.constants()) constants_.push_back(v->constant);
  for (const Step& step : single_.steps) {
    const Operator& op = step.op.op();
    if (step.passed_by.slot >= 0) relied_on_.push_back({&op, step.passed_by.slot, step.passed_by.version});
    if (const Operator* below = rowOperatorBelow(*step.node)) relyOnCalls(op, *below);
    if (const Operator* copies = castBelow(*step.node)) relyOnCalls(op, *copies);
    if (mayAutocast(*step.node)) relyOn(op, slotOf(DispatchKey::AutocastCPU));
    // Whether a step is quick differs between the programs: it depends on who reads its operands last.
    if (mayBeQuick(step) || step.prepared != nullptr || isPlainView(*step.node) || isDetach(*step.node))
      for (const DispatchKey key : kPassedByQuickCalls) relyOn(op, slotOf(key));
    if (const DispatchKeySet keys = keysOfArguments(*step.node); keys.raw() != 0) relyOn(op, keys);
  }
  const auto key = [](const ReliedOn& r) { return std::pair(r.op, r.slot); };
  std::ranges::sort(relied_on_, {}, key);
  const auto again = std::ranges::unique(relied_on_, {}, key);
  relied_on_.erase(again.begin(), again.end());
}

Plan::~Plan() = default;

void Plan::relyOnCalls(const Operator& op, const Operator& below) {
  for (const Operator* called : {&op, &below}) {
    for (const DispatchKey key : kPassedByQuickCalls) relyOn(*called, slotOf(key));
    relyOn(*called, slotOf(DispatchKey::CPU));
  }
}

void Plan::relyOn(const Operator& op, DispatchKeySet keys) {
  const detail::CallFrame frame(op);
  const OpState& state = frame.state(op);
  const int slot = (keys & state.maskFor(keys)).highestSlot();
  relied_on_.push_back({&op, slot, state.entry(slot).version});
}

void Plan::relyOn(const Operator& op, int slot) {
  const detail::CallFrame frame(op);
  relied_on_.push_back({&op, slot, frame.state(op).entry(slot).version});
}

bool Plan::holds() const { return holdsAt(detail::table_changes.load(std::memory_order_acquire)); }

bool Plan::holdsAt(uint64_t changes) const {
  if (checked_at_.load(std::memory_order_relaxed) == changes) return true;
  if (!tablesStand()) return false;
  checked_at_.store(changes, std::memory_order_relaxed);
  return true;
}

bool Plan::tablesStand() const {
  const Operator* at = nullptr;
  for (size_t i = 0; i < relied_on_.size();) {
    at = relied_on_[i].op;
    const detail::CallFrame frame(*at);
    const OpState& state = frame.state(*at);
    for (; i < relied_on_.size() && relied_on_[i].op == at; ++i)
      if (state.entry(relied_on_[i].slot).version != relied_on_[i].version) return false;
  }
  return true;
}

void Plan::checkInputs(std::span<const Tensor> inputs) const {
  const auto& wanted = graph_.inputs();
  SHUNT_CHECK(inputs.size() == wanted.size(), "a compiled graph has ", wanted.size(), " inputs, got ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Graph::Spec& spec = wanted[i]->spec;
    const Tensor& t = inputs[i];
    SHUNT_CHECK(t.defined(), "a compiled graph's input ", i, " is undefined");
    if (t.dtype() == spec.dtype && t.sizes().equals(spec.sizes) && t.device() == spec.device) [[likely]]
      continue;
    SHUNT_CHECK(false, "a compiled graph's input ", i, " was recorded as ", dtypeName(spec.dtype),
                IntArrayRef(spec.sizes), " on ", spec.device, ", got ", dtypeName(t.dtype()), t.sizes(), " on ",
                t.device());
  }
}

detail::CompileOutputs Plan::runProgram(const Program& program, Inputs inputs, Constants constants, bool fuse,
                                        uint64_t changes) const {
  if (program.is_one_loop && fuse && !isInferenceMode() && !detail::trace_enabled.load(std::memory_order_relaxed))
      [[likely]]
    return program.regions[0].runAlone(inputs, constants);
  Frame frame(program.slots, program.kept_slots, inputs, constants);
  frame.setChecked(changes);
  if (fuse && nothingSeesOperators()) {
    frame.allowQuick();
    if (program.buffer_bytes != 0) withoutMemoryToo([&] { frame.openBuffers(program.buffer_bytes); });
  }
  program.run(frame, fuse, kCall);
  if (program.buffer_bytes != 0) noteBuffers(frame.hasBuffers());
  return program.resultsOf(frame);
}

/// Of one run. Threads may lose counts of each other.
void Plan::noteBuffers(bool stayed) const {
  const int left = left_buffers_.load(std::memory_order_relaxed);
  if (stayed) {
    ++quick_counts.buffered;
    if (left > 0) [[unlikely]]
      left_buffers_.store(left - 1, std::memory_order_relaxed);
  } else {
    left_buffers_.store(left + kRunsForOneThatLeaves, std::memory_order_relaxed);
  }
}

/// The one without buffers, where the run would leave them.
const Program& Plan::programFor(const Program& fused, bool plain) const {
  if (fused.buffer_bytes == 0 || (plain && nothingSeesOperators() && !isInferenceMode() &&
                                  left_buffers_.load(std::memory_order_relaxed) < kTooOften)) [[likely]]
    return fused;
  const Program* without = without_buffers_.load(std::memory_order_acquire);
  return without != nullptr ? *without : makeWithoutBuffers(fused);
}

/// `fused`, where others record or there is no memory: slower, but as good.
SHUNT_COLD const Program& Plan::makeWithoutBuffers(const Program& fused) const {
  const std::unique_lock lock(recording_, std::try_to_lock);
  if (lock.owns_lock() && without_buffers_owner_ == nullptr)
    withoutMemoryToo([&] {
      without_buffers_owner_ = makeFused(false);
      without_buffers_.store(without_buffers_owner_.get(), std::memory_order_release);
    });
  const Program* without = without_buffers_.load(std::memory_order_relaxed);
  return without != nullptr ? *without : fused;
}

/// Of what was recorded.
std::unique_ptr<const Program> Plan::makeFused(bool buffers) const {
  const std::vector<Group> groups =
      withRows(orderOf(graph_, aliases_, recorded_, program_options_.guarded), recorded_rows_);
  ProgramOptions options = program_options_;
  options.buffers = buffers;
  return std::make_unique<const Program>(makeProgram(graph_, aliases_, history_, groups, options));
}

detail::CompileOutputs Plan::runAndRecord(Inputs inputs, Constants constants, uint64_t changes) const {
  Frame frame(single_.slots, single_.kept_slots, inputs, constants);
  frame.setBegun(changes);
  Recorder recorder(aliases_);
  single_.run(frame, false, recorder);
  withoutMemoryToo([&] {
    recorded_ = std::move(recorder.found);
    recorded_rows_ = std::move(recorder.rows);
    fused_owner_ = makeFused(true);
    fused_.store(fused_owner_.get(), std::memory_order_release);
  });
  return single_.resultsOf(frame);
}

std::vector<Tensor> Plan::run(std::span<const Tensor> inputs) const {
  checkInputs(inputs);
  std::vector<const Tensor*> given;
  for (const Tensor& t : inputs) given.push_back(&t);
  const detail::CompileOutputs outputs = runOn(given);
  return {outputs.begin(), outputs.end()};
}

detail::CompileOutputs Plan::runGraph(Inputs all, Constants constants) const {
  const Inputs inputs = all.first(graph_.inputs().size());  // without what outputs may be written into
  std::vector<Tensor> checked;
  std::unordered_map<const Graph::Value*, const Tensor*> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    checked.push_back(*inputs[i]);
    given.emplace(graph_.inputs()[i], inputs[i]);
  }
  trace_detail::checkRun(graph_, checked);
  for (size_t i = 0; i < constants.size(); ++i) given.emplace(graph_.constants()[i], &constants[i]);
  trace_detail::Interpreter run(graph_, [&](const Graph::Value& v) { return *given.at(&v); });
  run.run([&](const Graph::Node& node, Stack& returns) {
    trace_detail::compareResults(graph_, node, returns, {.strides = compares_strides_}, true, "", "");
  });
  detail::CompileOutputs out;
  for (const Graph::Value* v : graph_.outputs()) out.push_back(run.output(v));
  return out;
}

SHUNT_ALWAYS_INLINE detail::CompileOutputs Plan::runWith(Inputs inputs, Constants constants) const {
  const uint64_t changes = detail::table_changes.load(std::memory_order_acquire);
  if (!holdsAt(changes)) [[unlikely]]
    return runGraph(inputs, constants);
  const bool plain = isPlainThread();
  if (const Program* fused = fused_.load(std::memory_order_acquire); fused != nullptr)
    return runProgram(programFor(*fused, plain), inputs, constants, plain, changes);
  std::unique_lock lock(recording_, std::try_to_lock);
  if (!plain || !lock.owns_lock() || fused_.load(std::memory_order_relaxed) != nullptr)
    return runProgram(single_, inputs, constants, false, changes);
  return runAndRecord(inputs, constants, changes);
}

detail::CompileOutputs Plan::runOn(Inputs inputs) const { return runWith(inputs, constants_); }

detail::CompileOutputs Plan::runApart(Inputs inputs, const StandIns& stand_ins) const {
  std::vector<Tensor> constants;
  for (const Tensor& t : constants_) constants.push_back(stand_ins.of(t));
  return runWith(inputs, constants);
}

const Program& Plan::program() const {
  const Program* fused = fused_.load(std::memory_order_acquire);
  return fused != nullptr ? *fused : single_;
}

PlanDescription Plan::description() const { return program().description(); }

Plan::Counts Plan::counts() const {
  const Program& p = program();
  Counts out{.steps = p.steps.size(), .regions = p.regions.size()};
  for (const Region& r : p.regions) out.nodes_in_regions += r.steps;
  for (size_t i = 0; i < p.steps.size(); ++i) {
    if (p.in_region[i]) continue;
    out.prepared += p.steps[i].prepared != nullptr ? 1 : 0;
    out.host_steps += isHostStep(*p.steps[i].node) ? 1 : 0;
  }
  out.buffers = p.buffers.size();
  out.buffer_bytes = p.buffer_bytes;
  return out;
}

}  // namespace shunt::compiled
