#include "src/compile/recorded.h"

#include <shunt/autograd/graph_tensor.h>
#include <shunt/core/interrupt.h>

#include "src/base/errors_heard.h"
#include "src/compile/backward/draws.h"
#include "src/compile/checks/dump.h"
#include "src/compile/guards/own_calls.h"
#include "src/compile/guards/program_kernels.h"
#include "src/compile/passes/aliases.h"
#include "src/compile/passes/casts.h"
#include "src/compile/passes/ended_history.h"
#include "src/compile/program/plan.h"
#include "src/dispatch/changes.h"
#include "src/trace/fakes.h"
#include "src/trace/recorded_results.h"
#include "src/trace/results.h"
#include "src/trace/writes.h"

#include <algorithm>

namespace shunt {

bool detail::CompiledFunction::Variant::isCurrent() const {
  const uint64_t now = table_changes.load(std::memory_order_acquire);
  if (checked.load(std::memory_order_acquire) == now) [[likely]]
    return true;
  for (const auto& [op, fingerprint] : relies)
    if (fingerprintOf(*op) != fingerprint) return false;
  checked.store(now, std::memory_order_release);
  return true;
}

std::vector<PlanDescription> detail::CompiledFunction::Variant::plans() const {
  std::vector<PlanDescription> out{executor->description()};
  if (backward != nullptr) backward->describe(out);
  return out;
}

void detail::CompiledFunction::Variant::dump() const {
  const std::string guarded = guard->describe() + '\n';
  compiled::dumpTo(dumped + ".graph", guarded + graph.print() + (backward != nullptr ? backward->print() : ""));
  compiled::dumpTo(dumped + ".plan", guarded + textOf(plans()));
}

detail::CompileOutputs detail::CompiledFunction::Variant::runFor(const CompileArguments& arguments,
                                                                 const compiled::StandIns* stand_ins) const {
  if (takes_all) [[likely]]
    return runOn({arguments.tensors.data(), arguments.tensors.size()}, stand_ins);
  std::vector<const Tensor*> defined;
  for (const Tensor* t : arguments.tensors)
    if (t->defined()) defined.push_back(t);
  return runOn(defined, stand_ins);
}

detail::CompileOutputs detail::CompiledFunction::Variant::runOn(std::span<const Tensor* const> inputs,
                                                                const compiled::StandIns* stand_ins) const {
  if (backward != nullptr) return backward->run(*executor, inputs, stand_ins);
  CompileOutputs outputs = stand_ins != nullptr ? executor->runApart(inputs, *stand_ins) : executor->runOn(inputs);
  if (!any_ended) [[likely]]
    return outputs;
  for (size_t i = 0; i < ended.size(); ++i)
    if (!ended[i].empty() && !outputs[i].requires_grad()) compiled::endHistory(outputs[i], ended[i]);
  return outputs;
}

namespace compiled {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error("compile: " + why); }

/// What a graph can't leave behind: a place in a history for a tensor that was there before.
void checkGivenTensors(const std::vector<std::pair<Tensor, Tensor>>& given) {
  for (const auto& [real, fake] : given) {
    const Tensor& now = autograd::graph_tensor(fake);
    if (now.requires_grad() != real.requires_grad() || now.is_leaf() != real.is_leaf())
      refuse("the function changes whether a tensor that it is given requires grad");
  }
}

/// What a backward() from a result throws: Note [History that is over]. Empty: its history goes on.
std::string endOfHistory(const Tensor& fake, bool differentiated) {
  if (const char* why = whyNoGraphHasHistoryOf(fake)) refuse(why);
  const std::string custom = customFunctionIn(fake);
  if (custom.empty()) return errorOfEndedHistory(fake);
  try {
    // Where no backward() has freed anything, a program's backward isn't called to find that out.
    if (std::string error = differentiated ? errorOfEndedHistory(fake) : ""; !error.empty()) return error;
  } catch (const Interrupt&) {
    throw;
  } catch (const std::exception&) {  // what such a backward throws doesn't help: the result can be used detached only
  }
  refuse(detail::str(
      "the history of a result goes on through the custom autograd function ", custom,
      ", whose node no graph can make: ", differentiated ? "" : "call backward() inside of the function, or ",
      "return the result detached"));
}

/// The same for each output. Empty where there is no history, or all of them have one that goes on.
std::vector<std::string> endsOfHistory(const Graph& graph, const std::vector<Tensor>& fakes, bool differentiated,
                                       bool& goes_on) {
  std::vector<std::string> errors(fakes.size());
  bool any_over = false;
  for (size_t i = 0; i < fakes.size(); ++i) {
    const Graph::Value* value = graph.outputs()[i];
    // Not as it was made: a later write through a view may have given it a history.
    if (value == nullptr || value->kind != Graph::Value::Kind::kResult || !fakes[i].requires_grad()) continue;
    errors[i] = endOfHistory(fakes[i], differentiated);
    if (!errors[i].empty() && autograd::get_view_autograd_meta(fakes[i]) != nullptr)
      refuse("the function returns a view whose graph a backward() in it has freed");
    (errors[i].empty() ? goes_on : any_over) = true;
  }
  if (goes_on && any_over)
    refuse("the function returns tensors whose graph a backward() in it has freed, and others whose graph it hasn't");
  return errors;
}

/// A variable that outlives the call would hold a wrapper then, and the graph wouldn't put a tensor there.
void checkNoneIsKept(const std::vector<std::pair<Tensor, const Graph::Value*>>& wrappers) {
  if (wrappers.empty()) return;
  const auto& [kept, value] = wrappers[0];
  const std::string from = value->node != nullptr                      ? ", the result of " + value->node->name() + ","
                           : value->kind == Graph::Value::Kind::kInput ? ", which it was given,"
                                                                       : ", which it captures,";
  throw KeepsTensors(detail::str("compile: the function keeps a tensor of shape ", kept.sizes(), from,
                                 " in a variable that outlives the call, where the graph can't put one: return it, "
                                 "or write into a tensor that is there already"));
}

/// Whether running it twice is something else than running it once.
bool hasEffects(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Graph::Node* node) {
    return trace_detail::writesAny(*node) || drawsRandomNumbers(node->op) || !isOfDictionary(*node);
  });
}

/// Whether it writes elements with a history that several tensors show.
bool writesViewsWithHistory(const Graph& graph) {
  const Aliases aliases(graph);
  struct Group {
    const Graph::Value* first = nullptr;
    bool has_views = false, has_history = false, is_written = false;
  };
  std::vector<Group> groups(aliases.count());
  const auto note = [&](const Graph::Value* v) {
    Group& g = groups[aliases.of(v)];
    if (g.first == nullptr) g.first = aliases.tensorOf(v);
    g.has_views |= aliases.tensorOf(v) != g.first;
    g.has_history |= v->spec.requires_grad;
  };
  std::ranges::for_each(graph.inputs(), note);
  std::ranges::for_each(graph.constants(), note);
  for (const Graph::Node* node : graph.nodes()) {
    trace_detail::forResults(*node, note);
    if (node->name().starts_with("trace::")) continue;  // of grads, and of what requires them
    trace_detail::forWritten(*node, [&](const Graph::Value* v) {
      if (v != nullptr) groups[aliases.of(v)].is_written = true;
    });
  }
  return std::ranges::any_of(groups, [](const Group& g) { return g.has_views && g.has_history && g.is_written; });
}

void compileBackward(Variant& variant, const detail::CompileArguments& arguments, const std::vector<Tensor>& outputs,
                     const std::string& name, bool checks, std::vector<const Operator*>& seen) {
  const auto isInference = [](const Tensor& t) { return t.defined() && t.is_inference(); };
  if (std::ranges::any_of(arguments.tensors, [&](const Tensor* t) { return isInference(*t); }) ||
      std::ranges::any_of(variant.captured, isInference)) {
    variant.why_no_backward = "a tensor that the function reads is an inference tensor";
    return;
  }
  try {
    variant.backward = CompiledHistory::make(variant.graph, outputs, name, checks);
  } catch (const Interrupt&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {  // a custom function's backward may throw what it likes
    variant.why_no_backward = e.what();
    return;
  }
  for (const auto& [op, fingerprint] : variant.backward->seen()) {
    if (std::ranges::find(seen, op) != seen.end()) continue;
    seen.push_back(op);
    variant.relies.emplace_back(op, fingerprint);
  }
}

/// Autocast's cache has one cast of a leaf. Recorded, each place where the function finds it has one of its own, so
/// that gradients would be added in another dtype.
void checkCastLeaves(const detail::CompileArguments& arguments, const Variant& variant) {
  const auto casts = [](const Graph::Node* node) { return mayAutocast(*node) && node->modes.cast_cache; };
  if (std::ranges::none_of(variant.graph.nodes(), casts)) return;
  std::vector<Tensor> leaves = variant.captured;
  for (const Tensor* t : arguments.tensors)
    if (t->defined()) leaves.push_back(*t);
  std::erase_if(leaves, [](const Tensor& t) { return !t.requires_grad() || !t.is_leaf(); });
  std::ranges::sort(leaves, {}, [](const Tensor& t) { return t.unsafeGetTensorImpl(); });
  const auto isSame = [](const Tensor& a, const Tensor& b) { return a.is_same(b); };
  if (std::ranges::adjacent_find(leaves, isSame) != leaves.end())
    refuse("under autocast, a leaf that requires grad is passed twice, or passed and captured");
}

/// Arguments from another graph are fine where their history goes on in the results and nowhere else, or no node
/// records any. `differentiated`: gradients inside of the function would go on through that graph.
void checkHistoryOf(const detail::CompileArguments& arguments, const Variant& variant, bool differentiated) {
  const auto mayRecord = [](const Graph::Node* node) { return node->modes.grad; };
  const bool records = std::ranges::any_of(variant.graph.nodes(), mayRecord);
  if ((variant.backward != nullptr && !differentiated) || !records) return variant.guard->linkHistory();
  for (const Tensor* t : arguments.tensors)
    if (const Why why = whyNotWith(*t); why != Why::kNone)
      throw KeepsHistory(detail::str("compile: ", textOf(why),
                                     differentiated
                                         ? ", and the function differentiates itself"
                                         : ", and the backward pass of the function's result is not compiled",
                                     variant.why_no_backward.empty() ? "" : ": ", variant.why_no_backward));
}

/// Whether runs may be checked although that calls all operators twice: CompileCheck::kFirst.
bool mayRunTwice(const Variant& variant) {
  std::vector<const Operator*> called;
  for (const auto& [op, fingerprint] : variant.relies) called.push_back(op);
  for (const Operator* op : drawnBy(variant.graph)) called.push_back(op);
  return !callsProgramKernels(variant.graph, called);
}

}  // namespace

bool isRecordedInParts(const OperatorHandle& op) {
  return op.op().name() != "aten::layer_norm" && callsOwn(op.op(), EntryReason::kCompositeImplicit, false);
}

std::unique_ptr<Variant> recordVariant(const detail::CompileArguments& arguments, const CompileOptions& options,
                                       RecordFn record, const char* why_no_backward) {
  auto variant = std::make_unique<Variant>();
  variant->guard = std::make_unique<Guard>(arguments, options);
  variant->checked = detail::table_changes.load(std::memory_order_acquire);
  detail::TraceCall trace({.fake = true});
  detail::TracedResults::takeApart(trace, isRecordedInParts);
  detail::TracedResults::refuseElements(trace);
  trace_detail::RecordedForFakes recorded;  // outlives `trace`, whose end asks for grads
  std::vector<Tensor> wrappers;
  for (const Tensor* t : arguments.tensors) {
    wrappers.push_back(t->defined() ? trace.input(*t) : Tensor());
    variant->takes_all &= t->defined();
  }
  {
    const detail::TraceCall::Scope on(trace);
    const detail::ErrorsHeard heard;
    variant->result = record(trace, wrappers);
    if (heard.lostAny()) refuse("no memory for the errors that the function catches");
    variant->errors = heard.messages();
  }
  if (detail::TracedResults::seeded(trace))
    refuse(
        "the function makes or seeds a generator, and a graph contains operators only: do it outside of the function" +
        detail::TracedResults::seededAt(trace));
  if (detail::TracedResults::readVersionFromOutside(trace))
    refuse(
        "the function reads the version of a tensor that it was given, which differs at each call: read it outside "
        "of the function" +
        detail::TracedResults::readVersionAt(trace));
  if (detail::TracedResults::calledWithOtherDtype(trace))
    refuse("the function calls operators under another default dtype than it was called with");
  const bool reads_offset = detail::TracedResults::readOffsetFromOutside(trace);
  const std::vector<Tensor> outputs = detail::TracedResults::outputs(trace);
  std::vector<std::pair<Tensor, Tensor>> given = detail::TracedResults::captured(trace);
  for (const auto& [real, fake] : given) {
    if (const Why why = whyNotWith(real); why != Why::kNone) refuse(textOf(why));
    variant->captured.push_back(real);
  }
  for (size_t i = 0; i < wrappers.size(); ++i)
    if (wrappers[i].defined()) given.emplace_back(*arguments.tensors[i], autograd::graph_tensor(wrappers[i]));
  wrappers.clear();
  checkGivenTensors(given);
  std::vector<const Operator*> seen;
  for (const auto& [op, fingerprint] : detail::TracedResults::seen(trace)) {
    seen.push_back(op);
    variant->relies.emplace_back(op, fingerprint);
  }
  const bool differentiated = detail::TracedResults::differentiated(trace);
  variant->graph = trace.finish();
  for (const Tensor& t : outputs) recorded.add(t);
  bool history_goes_on = false;
  variant->ended = endsOfHistory(variant->graph, outputs, differentiated, history_goes_on);
  variant->any_ended = !std::ranges::all_of(variant->ended, &std::string::empty);
  // In which order gradients of gradients are added depends on when views of what was written get their nodes, and on
  // clones that autograd saves: the graph shows neither.
  if (history_goes_on && detail::TracedResults::createdGraph(trace) &&
      (detail::TracedResults::savedClones(trace) || writesViewsWithHistory(variant->graph)))
    refuse("the function returns what has a history, differentiates with create_graph, and writes in place");
  checkNoneIsKept(detail::TracedResults::living(trace));
  variant->has_effects = hasEffects(variant->graph);
  if (history_goes_on && why_no_backward != nullptr)
    variant->why_no_backward = why_no_backward;
  else if (history_goes_on)
    compileBackward(*variant, arguments, outputs, options.name, options.check == CompileCheck::kAlways, seen);
  checkHistoryOf(arguments, *variant, differentiated);
  checkCastLeaves(arguments, *variant);
  const Graph& runs = variant->backward != nullptr ? variant->backward->forward() : variant->graph;
  history_goes_on &= variant->backward == nullptr;
  variant->executor = std::make_unique<Plan>(
      runs,
      PlanOptions{
          .history_of_outputs = history_goes_on, .guarded = true, .seen = std::move(seen), .compares_strides = true});
  if (!variant->isCurrent())
    throw RegisteredMeanwhile("compile: an operator was registered while the function was recorded");
  const std::string changed = variant->guard->difference(arguments);
  if (!changed.empty()) refuse("the function changes what its arguments and settings were compared by: " + changed);
  variant->guard->add(arguments, variant->captured, reads_offset || trace_detail::hasPlaces(variant->graph));
  const std::string misfit = variant->guard->difference(arguments);
  if (!misfit.empty()) refuse("no call would fit: " + misfit);
  if (options.check == CompileCheck::kAlways || (options.check == CompileCheck::kFirst && mayRunTwice(*variant)))
    variant->schedule.begin();
  if (isDumpWanted()) variant->dumped = pathOfDump(options.name);
  return variant;
}

}  // namespace compiled
}  // namespace shunt
