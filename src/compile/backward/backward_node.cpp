#include "src/compile/backward/backward_node.h"

#include "src/autograd/graph_task.h"
#include "src/autograd/saved_output.h"
#include "src/autograd/unshared.h"
#include "src/compile/backward/contributions.h"
#include "src/compile/backward/draws.h"
#include "src/compile/guards/onlookers.h"
#include "src/compile/steps/grad_step.h"
#include "src/compile/steps/quick_counts.h"
#include "src/dispatch/changes.h"
#include "src/trace/interpreter.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/ops.h>

#include <algorithm>
#include <utility>

namespace shunt::compiled {
namespace {

using autograd::AccumulateGrad;
using autograd::variable_list;

bool autocastIsOn() {
  const Graph::Modes modes = Graph::Modes::now();
  return modes.in_autocast || !modes.autocast.empty();
}

bool isHooked(const AccumulateGrad& accumulator) {
  return accumulator.hooks() != nullptr || autograd::get_autograd_meta(accumulator.variable)->hooks_ != nullptr;
}

/// What stands for a tensor that eager code doesn't hold: the same elements, version and place in a graph. The tensor
/// itself may become part of a graph that the node is in, by a write, and would never be freed.
Tensor withoutItself(const Tensor& t) {
  if (t.requires_grad() && t.is_leaf()) return t;  // which the accumulator holds
  const Tensor out = autograd::detached_alias(t);
  if (t.requires_grad()) autograd::set_gradient_edge(out, autograd::gradient_edge(t));
  return out;
}

/// Makes a gradient what it is in eager code to those who add it to another, or keep it as a leaf's grad. `is_first`:
/// nothing has come there before.
void fit(const JointContribution& c, const Node* next, bool is_first, Tensor& gradient) {
  if (!(c.is_view || c.is_held) || !gradient.defined() || !autograd::isUnshared(gradient)) return;
  const auto* accumulator = dynamic_cast<const AccumulateGrad*>(next);
  if (accumulator == nullptr || isHooked(*accumulator) || !autograd::currentTaskEndsAt(next)) {
    // A view is left alone where gradients are added, and so is what others hold when it comes; when the next one does,
    // they hold it no more.
    if (c.is_view || !is_first) gradient = ops::alias::call(gradient);
    return;
  }
  if (layOutAs(accumulator->variable, gradient) && c.is_held)
    gradient.unsafeGetTensorImpl()->version().set(1);  // as that of a copy
}

uint32_t numberAmongResults(const Graph::Value& v) {
  const auto isIt = [&](const Graph::Output& o) { return std::ranges::find(o.values, &v) != o.values.end(); };
  return static_cast<uint32_t>(std::ranges::find_if(v.node->outputs, isIt) - v.node->outputs.begin());
}

/// For an input of a graph that reads no elements of it.
Tensor unreadLike(const Graph::Spec& spec) {
  return ops::empty_strided::call(spec.sizes, spec.strides, spec.dtype, std::nullopt, spec.device, std::nullopt);
}

}  // namespace

void CompiledBackward::BackwardNode::save(const detail::CompileOutputs& made, std::span<const Tensor* const> inputs,
                                          const StandIns* stand_ins) {
  saved_.reserve(of_->sources_.size());
  for (const SavedSource& s : of_->sources_) {
    if (s.is_given && saved_.size() < of_->saved_.size())
      saved_.emplace_back(of_->given(s.number, inputs, stand_ins), false);
    else if (s.is_given)
      saved_.emplace_back(withoutItself(of_->given(s.number, inputs, stand_ins)), false);
    else if (saved_.size() < of_->saved_.size())
      saved_.emplace_back(made[s.number], s.number == of_->output_);
    else
      saved_.emplace_back(withoutItself(made[s.number]), false);
  }
  if (isChecked()) [[unlikely]]
    noteGiven(inputs);
}

// A run for some inputs only frees, in eager code, the nodes that it has come by. Where eager code saves nothing, it
// frees nothing, so that there may be a gradient with a graph later.
void CompiledBackward::BackwardNode::release_variables() {
  const bool is_running = autograd::runningNode() == this;
  if (!is_dying_ && ((is_running && !runWantsAll()) || of_->saved_.empty())) return;
  if (is_running) is_freed_.store(true, std::memory_order_relaxed);
  for (autograd::SavedVariable& s : saved_) s.reset_data();
}

void CompiledBackward::BackwardNode::release_resources() {
  is_dying_ = true;
  Node::release_resources();
}

bool CompiledBackward::BackwardNode::runWantsAll() const {
  for (size_t i = 0; i < num_outputs(); ++i)
    if (next_edge(i).is_valid() && !task_should_compute_output(i)) return false;
  return true;
}

Tensor CompiledBackward::BackwardNode::unpack(size_t i) const {
  return saved_[i].unpack(const_cast<BackwardNode*>(this));
}

// One that was freed throws when it has its turn.
const autograd::Edge* CompiledBackward::BackwardNode::unfolded() noexcept {
  return is_freed_.load(std::memory_order_relaxed) ? nullptr : end_.load(std::memory_order_acquire);
}

std::shared_ptr<autograd::NodeHooks> CompiledBackward::BackwardNode::shared_hooks() {
  const std::lock_guard lock(mutex_);
  if (shared_hooks_ == nullptr) {
    shared_hooks_ = std::make_shared<autograd::NodeHooks>();
    hooks_.store(shared_hooks_.get(), std::memory_order_release);
  }
  return shared_hooks_;
}

/// All nodes of a call unfold, or none, as they may lead to each other. What stands in the way of running the graph
/// again, apply() throws when the node has its turn.
bool CompiledBackward::BackwardNode::unfold(bool create_graph) noexcept try {
  std::atomic<bool>* const any = call_.any_unfolded.get();
  if (is_freed_.load(std::memory_order_relaxed)) return false;
  if (!create_graph && (any == nullptr || !any->load(std::memory_order_relaxed))) return false;
  if (end_.load(std::memory_order_acquire) != nullptr) return true;
  const AutoGradMode with_history(true);
  auto end = std::make_unique<const autograd::Edge>(autograd::gradient_edge(resultsAgain(givenAgain())[of_->output_]));
  end->function->share_hooks(shared_hooks(), end->input_nr);
  of_->again_.fetch_add(kMostAgain, std::memory_order_relaxed);
  if (any != nullptr) any->store(true, std::memory_order_relaxed);
  const autograd::Edge* first = nullptr;
  if (end_.compare_exchange_strong(first, end.get(), std::memory_order_acq_rel)) end.release();
  return true;
} catch (...) {
  return false;
}

/// What was saved of the result; undefined where nothing was.
Tensor CompiledBackward::BackwardNode::firstResult() const {
  for (size_t i = 0; i < saved_.size(); ++i)
    if (!of_->sources_[i].is_given && of_->sources_[i].number == of_->output_) return unpack(i);
  return Tensor();
}

variable_list CompiledBackward::BackwardNode::apply(variable_list&& grads) {
  Tensor gradient = std::move(grads[0]);
  grads.clear();
  if (!gradient.defined()) return variable_list(num_outputs());
  const bool needs_history = GradMode::is_enabled() || autocastIsOn() || of_->gaveOtherResults();
  const Pass* pass = needs_history ? nullptr : of_->passFor(gradient);
  return pass != nullptr ? runPass(*pass, std::move(gradient)) : runGraphAgain(gradient);
}

const Plan* CompiledBackward::BackwardNode::planOf(const Pass& pass) const {
  if (pass.plan == nullptr || (of_->remade_->none() && pass.summed == nullptr)) return pass.plan.get();
  const bool is_as_good = nothingSeesOperators() && pass.plan->holds();
  if (!is_as_good) return of_->remade_->none() ? pass.plan.get() : nullptr;
  const auto isFirst = [&](const Sum& sum) { return autograd::currentTaskHasNothingFor(next_edge(sum.parts[0])); };
  const bool adds = pass.summed != nullptr && autograd::runningNode() == this &&
                    (hooks() == nullptr || hooks()->post.empty()) && of_->own_additions_.now() &&
                    pass.summed->holds() && std::ranges::all_of(pass.sums, isFirst);
  return adds ? pass.summed.get() : pass.plan.get();
}

/// False where an operator has given other results than were recorded (Note [Recorded results],
/// src/trace/recorded_results.h), and nothing but those was done.
template <class Run>
bool CompiledBackward::BackwardNode::runUnlessOther(const Run& run) const {
  try {
    run();
    return true;
  } catch (const trace_detail::OtherResults& e) {
    of_->leave(e);
    if (!e.mayRunAgain()) throw Error(detail::str(of_->name_, ", backward: ", e.what()));
    return false;
  }
}

variable_list CompiledBackward::BackwardNode::runPass(const Pass& pass, Tensor gradient) const {
  const Plan* plan = planOf(pass);
  const bool adds = plan != nullptr && plan == pass.summed.get();
  const bool is_free = adds && autograd::canAddInPlace(gradient);
  const uint32_t begun = is_free && !gradient.is_inference() ? gradient.unsafeGetTensorImpl()->version().current() : 0;
  std::optional<variable_list> expected;
  if (isChecked()) [[unlikely]]
    expected = this->expected(pass, gradient);
  const size_t saved = of_->saved_.size();
  variable_list out(num_outputs());
  if (plan == nullptr) {
    std::vector<Tensor> given;
    for (size_t i = 0; i < saved; ++i) given.push_back(unpack(i));
    of_->remade_->appendTo(given);
    given.push_back(std::move(gradient));
    if (!runUnlessOther([&] { out = trace_detail::runGraph(pass.graph, given, [](const Graph::Node&, Stack&) {}); }))
      return runGraphAgain(given.back());
  } else {
    InlineVector<Tensor, 8> given;
    InlineVector<const Tensor*, 8> inputs;
    given.reserve(saved + 1);
    inputs.reserve(saved + 1);
    for (size_t i = 0; i < saved; ++i) inputs.push_back(&given.emplace_back(unpack(i)));
    inputs.push_back(&given.emplace_back(std::move(gradient)));
    const auto run = [&] {
      detail::CompileOutputs made = plan->runOn({inputs.data(), inputs.size()});
      for (size_t i = 0; i < out.size(); ++i) out[i] = std::move(made[i]);
    };
    if (!runUnlessOther(run)) return runGraphAgain(given.back());
  }
  if (adds) {
    ++quick_counts.sums;
    for (const Sum& sum : pass.sums) {
      const SumVersion& v = sum.version;
      const uint32_t of_free = v.counts_on ? begun + v.of_free : v.of_free;
      out[sum.parts[0]].unsafeGetTensorImpl()->version().set(is_free ? of_free : v.of_held);
    }
  }
  if (expected) [[unlikely]] {
    if (adds) addUp(*expected, pass.sums);
    compare(pass, out, *expected);
  }
  // What was given is gone: nobody but `out` holds what only that should.
  const std::vector<JointContribution>& gives = adds ? pass.with_sums : pass.contributions;
  const auto isFirst = [&](size_t i) {
    for (size_t k = 0; k < i; ++k)
      if (out[k].defined() && next_edge(k) == next_edge(i)) return false;
    return autograd::currentTaskHasNothingFor(next_edge(i));
  };
  for (size_t i = 0; i < out.size(); ++i)
    fit(gives[i], next_edge(i).function.get(), !gives[i].is_held || isFirst(i), out[i]);
  return out;
}

/// Inputs, then constants, then other results. Throws where a backward pass of eager code would, and where something is
/// not as it was that only the graph reads.
std::vector<Tensor> CompiledBackward::BackwardNode::givenAgain() const {
  const std::vector<Graph::Value*> specs = givenOf(of_->graph_);
  std::vector<Tensor> given(specs.size() + of_->others_.size());
  for (size_t i = 0; i < saved_.size(); ++i) {
    const SavedSource& source = of_->sources_[i];
    Tensor t = unpack(i);
    const auto other = std::ranges::find(of_->others_, source.number);
    if (source.is_given)
      given[source.number] = std::move(t);
    else if (other != of_->others_.end())
      given[specs.size() + static_cast<size_t>(other - of_->others_.begin())] = std::move(t);
  }
  for (size_t i = 0; i < specs.size(); ++i)
    if (!of_->read_again_[i]) given[i] = unreadLike(specs[i]->spec);
  for (size_t i = 0; i < of_->others_.size(); ++i)
    if (!of_->read_again_[specs.size() + i])
      given[specs.size() + i] = unreadLike(of_->graph_.outputs()[of_->others_[i]]->spec);
  const auto check = [&](bool holds, const char* what) {
    SHUNT_CHECK(
        holds, name(), ": ", what,
        " has changed since the compiled function was called, so that its graph can't be run again for this "
        "backward(), as create_graph and autocast need it. Change it after backward(), or call the function without "
        "compile()");
  };
  for (size_t i = 0; i < specs.size(); ++i)
    check(!of_->read_again_[i] || given[i].requires_grad() == specs[i]->spec.requires_grad,
          "whether a tensor that it reads requires grad");
  check(get_default_dtype() == of_->default_dtype_, "the default dtype");
  for (const auto& [op, fingerprint] : of_->seen_)
    check(detail::fingerprintOf(*op) == fingerprint, "a registration for an operator that it calls");
  return given;
}

/// With the places that its nodes would have had beside the function's others: a node takes its place from the thread's
/// counter while its operator runs.
std::vector<Tensor> CompiledBackward::BackwardNode::runInPlaces(const Graph& graph,
                                                                const std::vector<Tensor>& inputs) const {
  const std::vector<uint64_t>& places = of_->places_again_;
  const Places::Scope scope(autograd::detail::next_sequence_nr);
  const std::vector<Graph::Node*> nodes = graph.nodes();
  const Graph::Value* const result = graph.outputs()[of_->output_];
  const Tensor before = firstResult();
  std::optional<autograd::SavesInstead> saves;
  size_t next = 0;
  const auto goToNext = [&] {
    saves.reset();
    if (next == nodes.size()) return;
    scope.goTo(call_.first_place + places[next]);
    if (nodes[next++] == result->node && before.defined()) saves.emplace(before, numberAmongResults(*result));
  };
  goToNext();
  return trace_detail::runGraphAlone(graph, inputs, [&](const Graph::Node&, Stack&) { goToNext(); });
}

std::vector<Tensor> CompiledBackward::BackwardNode::drawAgain(const std::vector<Tensor>& inputs) const {
  const Generator same = make_generator();
  same->set_position(call_.drawn.first);
  const Graph graph = of_->graph_again_.clone();
  for (Graph::Node* node : graph.nodes())
    if (drawsRandomNumbers(node->op)) generatorOf(*node)->literal = IValue(same);
  std::vector<Tensor> outputs = runInPlaces(graph, inputs);
  SHUNT_CHECK(same->position() == call_.drawn.second, name(),
              ": the function has drawn random numbers while another thread drew from the same generator, so that its "
              "graph can't be run again for this backward(), as create_graph and autocast need it. Draw from a "
              "generator of each thread's own, or call the function without compile()");
  return outputs;
}

/// With the history that they would have had: later gradients of gradients are added in its order.
std::vector<Tensor> CompiledBackward::BackwardNode::resultsAgain(const std::vector<Tensor>& given) const {
  // Nobody saw the function's operators, and the gradient may have a batch, the graph has none.
  const ExcludeDispatchKeyGuard below({DispatchKey::Python, DispatchKey::PythonKernel, DispatchKey::PythonTLSSnapshot,
                                       DispatchKey::Functionalize, DispatchKey::Batched, DispatchKey::Tracer});
  std::vector<Tensor> inputs(given.begin(), given.begin() + static_cast<ptrdiff_t>(of_->graph_.inputs().size()));
  inputs.insert(inputs.end(), given.end() - static_cast<ptrdiff_t>(of_->others_.size()), given.end());
  return of_->draws_ ? drawAgain(inputs) : runInPlaces(of_->graph_again_, inputs);
}

variable_list CompiledBackward::BackwardNode::runGraphAgain(const Tensor& gradient) const {
  const bool once_is_enough = GradMode::is_enabled() || of_->adds_;
  of_->again_.fetch_add(once_is_enough ? kMostAgain : 1, std::memory_order_relaxed);
  return contributionsAgain(givenAgain(), gradient);
}

variable_list CompiledBackward::BackwardNode::contributionsAgain(const std::vector<Tensor>& given,
                                                                 const Tensor& gradient) const {
  const Tensor result = resultsAgain(given)[of_->output_];
  std::vector<Tensor> leaves;
  for (const Tensor& t : given)
    if (t.requires_grad()) leaves.push_back(t);
  const auto& expected = of_->passes_[0].contributions;
  variable_list out;
  const auto isOneLeaf = [](const Tensor& a, const Tensor& b) {
    return autograd::gradient_edge(a) == autograd::gradient_edge(b);
  };
  const auto take = [&](size_t leaf, Tensor&& t) {
    // Two of the given tensors may be one.
    SHUNT_INTERNAL_ASSERT(out.size() < expected.size() && isOneLeaf(given[expected[out.size()].given], leaves[leaf]),
                          "a compiled function's graph has another history than it was recorded with");
    out.push_back(std::move(t));
  };
  contributionsOf(result, gradient, leaves, GradMode::is_enabled(), take);
  SHUNT_INTERNAL_ASSERT(out.size() == expected.size(), "a compiled function's graph has lost a part of its history");
  return out;
}

}  // namespace shunt::compiled
