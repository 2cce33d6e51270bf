// HostPlanBuilder: grows a Graph, with a fake tensor for each value, whose storages show what shares memory.
#include "src/compile/host/host_plan_impl.h"
#include "src/compile/host/host_specs.h"
#include "src/compile/host/operator_call.h"
#include "src/compile/passes/aliases.h"
#include "src/compile/passes/host_node.h"
#include "src/trace/fakes.h"
#include "src/trace/modes.h"
#include "src/trace/writes.h"

#include <shunt/core/error.h>
#include <shunt/ops.h>
#include <shunt/tensor/memory_overlap.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace shunt {

using namespace compiled;

struct HostPlanBuilder::State {
  Graph graph;
  std::vector<Tensor> fakes;  // by the value's id; of inputs once there is an operator
  bool has_nodes = false;
  std::unordered_set<const StorageImpl*> constants;  // storages of fakes
  std::vector<HostPlanOutput> outputs;

  Graph::Value* addConstant(const Tensor& t);
  Graph::Value* valueOf(const HostValue& v, const std::string& what) const;
  void closeInputs();
  void setFake(const Graph::Value* v, Tensor fake);
  const Tensor& fakeOf(const Graph::Value* v) const { return fakes[static_cast<size_t>(v->id)]; }
  void checkWrites(const Graph::Node& node) const;
  HostOutput whereIs(const Graph::Value* v) const;
  void checkOutput(const Graph::Value* v) const;
};

namespace {

Graph::Argument argumentOf(const HostArgument& a, const auto& valueOf) {
  if (a.kind() == HostArgument::Kind::kLiteral) return Graph::Argument(a.literal());
  std::vector<Graph::Value*> values;
  for (const HostValue& v : a.values()) values.push_back(v.defined() ? valueOf(v) : nullptr);
  if (a.kind() == HostArgument::Kind::kValue) return Graph::Argument(values[0]);
  return Graph::Argument(std::move(values));
}

void checkExpected(const Graph::Node& node, const FakeResults& results,
                   const std::vector<std::optional<HostSpec>>& expected) {
  if (expected.empty()) return;
  size_t i = 0;
  for (const auto& [is_list, tensors] : results)
    for (const Tensor& t : tensors) {
      const size_t position = i++;
      if (position >= expected.size() || !expected[position]) continue;
      const std::string what = detail::str("HostPlanBuilder::call: ", node.name(), ": result ", position);
      const HostSpec wanted = completed(*expected[position], what);
      SHUNT_CHECK(t.defined(), what, ": expected ", textOf(wanted), ", got None");
      const HostSpec got = hostSpecOf(specOf(t));
      SHUNT_CHECK(showsTheSame(wanted, got), what, ": expected ", textOf(wanted), ", got ", textOf(got));
    }
  SHUNT_CHECK(i == expected.size(), "HostPlanBuilder::call: ", node.name(), " has ", i, " results, expected ",
              expected.size());
}

/// Nodes that nobody needs and that host steps are among: what is left of dead code is the plan's to find.
std::unordered_set<const Graph::Node*> deadNodes(const Graph& graph) {
  std::unordered_set<const Graph::Value*> used(graph.outputs().begin(), graph.outputs().end());
  std::unordered_set<const Graph::Node*> dead;
  const std::vector<Graph::Node*> nodes = graph.nodes();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    bool is_used = false;
    trace_detail::forResults(**node, [&](const Graph::Value* v) { is_used |= used.contains(v); });
    const bool is_pure = isPureHostStep(**node) || (isOfDictionary(**node) && !trace_detail::writesAny(**node) &&
                                                    !drawsRandomNumbers((*node)->op));
    if (is_pure && !is_used)
      dead.insert(*node);
    else
      trace_detail::forArguments(**node, [&](const Graph::Value* v) { used.insert(v); });
  }
  return dead;
}

bool hasHostStep(const std::unordered_set<const Graph::Node*>& nodes) {
  return std::ranges::any_of(nodes, [](const Graph::Node* node) { return isHostStep(*node); });
}

}  // namespace

// ---- values -------------------------------------------------------------------------------------------------------
Graph::Value* HostPlanBuilder::State::valueOf(const HostValue& v, const std::string& what) const {
  SHUNT_CHECK(v.defined(), what, " is None");
  Graph::Value* out = graph.value(v.id_);
  SHUNT_CHECK(out != nullptr && v.builder_.lock().get() == this, what, " is a value of another builder");
  return out;
}

void HostPlanBuilder::State::setFake(const Graph::Value* v, Tensor fake) {
  if (fakes.size() <= static_cast<size_t>(v->id)) fakes.resize(static_cast<size_t>(v->id) + 1);
  fakes[static_cast<size_t>(v->id)] = std::move(fake);
}

Graph::Value* HostPlanBuilder::State::addConstant(const Tensor& t) {
  Graph::Value* v = graph.addConstant(t);
  Tensor fake = trace_detail::fakeOf(v->spec);
  constants.insert(fake.unsafeGetTensorImpl()->storage().get());
  setFake(v, std::move(fake));
  return v;
}

/// Storages of inputs are as large as all inputs in them need. They stay so once a node or an output uses them.
void HostPlanBuilder::State::closeInputs() {
  if (has_nodes) return;
  const trace_detail::Fakes made(graph);
  for (const Graph::Value* v : graph.inputs()) setFake(v, made.of(*v));
}

HostPlanBuilder::HostPlanBuilder() : state_(std::make_shared<State>()) {}
HostPlanBuilder::~HostPlanBuilder() = default;
HostPlanBuilder::HostPlanBuilder(HostPlanBuilder&&) noexcept = default;
HostPlanBuilder& HostPlanBuilder::operator=(HostPlanBuilder&&) noexcept = default;

HostValue HostPlanBuilder::input(HostSpec spec) {
  const std::string what = detail::str("HostPlanBuilder::input: input ", state_->graph.inputs().size());
  SHUNT_CHECK(!state_->has_nodes, what, ": inputs are declared before the first operator or step");
  return {state_, state_->graph.addInput(graphSpecOf(completed(std::move(spec), what)))->id};
}

HostValue HostPlanBuilder::input(HostSpec spec, const HostValue& shares) {
  Graph& graph = state_->graph;
  const std::string what = detail::str("HostPlanBuilder::input: input ", graph.inputs().size());
  SHUNT_CHECK(!state_->has_nodes, what, ": inputs are declared before the first operator or step");
  const Graph::Value* other = state_->valueOf(shares, what + ": what it shares memory with");
  SHUNT_CHECK(other->kind == Graph::Value::Kind::kInput, what, ": what it shares memory with is no input");
  return {state_, graph
                      .addValue({Graph::Value::Kind::kInput,
                                 graph.idBound(),
                                 graphSpecOf(completed(std::move(spec), what)),
                                 other->storage,
                                 nullptr,
                                 {}})
                      ->id};
}

HostValue HostPlanBuilder::constant(const Tensor& t) {
  SHUNT_CHECK(t.defined() && t.device().is_cpu(), "HostPlanBuilder::constant: expected a tensor on the CPU, got ",
              t.defined() ? detail::str("one on ", t.device()) : "an undefined one");
  trace_detail::ModesScope modes;
  modes.set(hostModes());
  const Tensor copy = t.detach().clone();
  return {state_, state_->addConstant(copy)->id};
}

HostSpec HostPlanBuilder::spec(const HostValue& v) const {
  return hostSpecOf(state_->valueOf(v, "HostPlanBuilder::spec: the value")->spec);
}

// ---- nodes --------------------------------------------------------------------------------------------------------
void HostPlanBuilder::State::checkWrites(const Graph::Node& node) const {
  trace_detail::forWritten(node, [&](const Graph::Value* v) {
    SHUNT_CHECK(!constants.contains(fakeOf(v).unsafeGetTensorImpl()->storage().get()),
                "HostPlanBuilder: ", isHostStep(node) ? "host step '" + hostFunctionOf(node).value + "'" : node.name(),
                " writes a constant; make it an input");
  });
}

std::vector<HostValue> HostPlanBuilder::call(std::string_view name, std::vector<HostArgument> arguments,
                                             std::vector<std::pair<std::string, HostArgument>> named,
                                             const std::vector<std::optional<HostSpec>>& expected) {
  State& state = *state_;
  const auto valueOf = [&](const HostValue& v) {
    return state.valueOf(v, detail::str("HostPlanBuilder::call: ", name, ": an argument"));
  };
  std::vector<Graph::Argument> given;
  for (const HostArgument& a : arguments) given.push_back(argumentOf(a, valueOf));
  NamedArguments given_by_name;
  for (const auto& [key, a] : named) given_by_name.emplace_back(key, argumentOf(a, valueOf));
  state.closeInputs();
  Graph::Node made = nodeOf(name, std::move(given), std::move(given_by_name));
  for (size_t i = 0; i < made.arguments.size(); ++i)
    if (isNumberForTensor(made, i))
      made.arguments[i] = Graph::Argument(state.addConstant(tensorOfNumber(made.arguments[i].literal)));
  state.checkWrites(made);
  const FakeResults results = callOnFakes(made, state.fakes);
  checkExpected(made, results, expected);
  Graph::Node* node = state.graph.append(std::move(made));
  state.has_nodes = true;
  std::vector<HostValue> out;
  for (const auto& [is_list, tensors] : results) {
    Graph::Output& o = node->outputs.emplace_back(Graph::Output{is_list, {}});
    for (const Tensor& t : tensors) {
      o.values.push_back(t.defined() ? state.graph.addResult(node, specOf(t)) : nullptr);
      out.push_back(t.defined() ? HostValue(state_, o.values.back()->id) : HostValue());
      if (t.defined()) state.setFake(o.values.back(), t);
    }
  }
  return out;
}

std::vector<HostValue> HostPlanBuilder::step(HostStep step) {
  State& state = *state_;
  const std::string what = "HostPlanBuilder::step: '" + step.name + "'";
  SHUNT_CHECK(step.function != nullptr, what, ": there is no function");
  std::vector<bool> is_written(step.inputs.size());
  for (const size_t i : step.written) {
    SHUNT_CHECK(i < step.inputs.size(), what, ": it writes input ", i, ", and has ", step.inputs.size());
    is_written[i] = true;
  }
  std::vector<Graph::Value*> read, written;
  std::vector<HostSpec> inputs;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    Graph::Value* v = state.valueOf(step.inputs[i], detail::str(what, ": input ", i));
    (is_written[i] ? written : read).push_back(v);
    inputs.push_back(hostSpecOf(v->spec));
  }
  for (size_t i = 0; i < step.results.size(); ++i) {
    step.results[i] = completed(std::move(step.results[i]), detail::str(what, ": result ", i));
    SHUNT_CHECK(step.results[i].offset == 0, what, ": result ", i, ": expected offset 0, got ", step.results[i].offset);
  }
  state.closeInputs();
  Graph::Node made(hostOperator());
  made.modes = hostModes();
  const std::vector<HostSpec> results = step.results;
  made.arguments.emplace_back(
      IValue(intrusive_ptr<detail::Boxed<std::string>>(makeHostFunction(std::move(step), std::move(inputs)))));
  made.arguments.emplace_back(std::move(read));
  made.arguments.emplace_back(std::move(written));
  state.checkWrites(made);
  Graph::Node* node = state.graph.append(std::move(made));
  state.has_nodes = true;
  node->outputs.push_back({.is_list = true, .values = {}});
  std::vector<HostValue> out;
  for (const HostSpec& spec : results) {
    Graph::Value* v = state.graph.addResult(node, graphSpecOf(spec));
    node->outputs[0].values.push_back(v);
    state.setFake(v, trace_detail::fakeOf(v->spec));
    out.push_back({state_, v->id});
  }
  return out;
}

// ---- outputs ------------------------------------------------------------------------------------------------------
HostOutput HostPlanBuilder::State::whereIs(const Graph::Value* v) const {
  HostOutput out{.spec = hostSpecOf(v->spec)};
  const Tensor& fake = fakeOf(v);
  const std::vector<Graph::Value*>& inputs = graph.inputs();
  const auto isSame = [&](const Graph::Value* in) { return fakeOf(in).is_same(fake); };
  const auto isAlias = [&](const Graph::Value* in) { return fakeOf(in).is_alias_of(fake); };
  auto found = std::ranges::find_if(inputs, isSame);
  out.kind = found != inputs.end() ? HostOutput::Kind::kInput : HostOutput::Kind::kView;
  if (found == inputs.end()) found = std::ranges::find_if(inputs, isAlias);
  if (found == inputs.end()) return {.spec = std::move(out.spec)};
  out.input = static_cast<size_t>(found - inputs.begin());
  return out;
}

void HostPlanBuilder::output(const HostValue& v) {
  Graph::Value* value = state_->valueOf(v, "HostPlanBuilder::output: the value");
  state_->closeInputs();
  HostPlanOutput out{.where = state_->whereIs(value)};
  out.is_constant = state_->constants.contains(state_->fakeOf(value).unsafeGetTensorImpl()->storage().get());
  state_->outputs.push_back(std::move(out));
  std::vector<Graph::Value*> all = state_->graph.outputs();
  all.push_back(value);
  state_->graph.setOutputs(std::move(all));
  state_->has_nodes = true;
}

void HostPlanBuilder::outputInto(const HostValue& v, std::vector<int64_t> strides) {
  Graph::Value* value = state_->valueOf(v, "HostPlanBuilder::outputInto: the value");
  const std::string what = detail::str("HostPlanBuilder::outputInto: output ", state_->outputs.size());
  const bool as_the_value = strides.empty();
  HostSpec spec{value->spec.dtype, value->spec.sizes, as_the_value ? value->spec.strides : std::move(strides), 0};
  // What is expanded has its elements each once.
  if (as_the_value && internal_overlap(spec.sizes, spec.strides) != MemoryOverlap::kNone) spec.strides.clear();
  spec = completed(std::move(spec), what);
  SHUNT_CHECK(internal_overlap(spec.sizes, spec.strides) == MemoryOverlap::kNone, what, ": with strides ",
              IntArrayRef(spec.strides), ", several elements of sizes ", IntArrayRef(spec.sizes), " are one place");
  state_->closeInputs();
  state_->outputs.push_back({.where = {HostOutput::Kind::kMemory, 0, std::move(spec)}});
  std::vector<Graph::Value*> all = state_->graph.outputs();
  all.push_back(value);
  state_->graph.setOutputs(std::move(all));
  state_->has_nodes = true;
}

HostPlan HostPlanBuilder::compile(HostPlanOptions options) const {
  Graph graph = state_->graph.clone();
  const std::unordered_set<const Graph::Node*> dead = deadNodes(graph);
  if (hasHostStep(dead)) graph.erase(dead);
  const auto matters = [](const Graph::Node* node) {
    return trace_detail::writesAny(*node) || (isHostStep(*node) ? !isPureHostStep(*node) : !isOfDictionary(*node));
  };
  SHUNT_CHECK(!graph.outputs().empty() || std::ranges::any_of(graph.nodes(), matters),
              "HostPlanBuilder::compile: ", options.name, " has no outputs, and nothing in it writes or has effects");
  return HostPlan(std::make_shared<const HostPlan::Impl>(std::move(graph), state_->outputs, std::move(options)));
}

}  // namespace shunt
