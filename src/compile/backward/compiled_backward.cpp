#include "src/compile/backward/compiled_backward.h"

#include "src/compile/backward/backward_node.h"
#include "src/compile/backward/draws.h"
#include "src/compile/backward/own_writes.h"
#include "src/compile/guards/keys_that_matter.h"
#include "src/dispatch/changes.h"

#include <shunt/autograd/variable_utils.h>
#include <shunt/core/log.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

/// How gradients of such a result mostly lie: Note [Compiled backward passes].
std::vector<std::vector<int64_t>> usualStrides(const Graph::Spec& result) {
  std::vector<int64_t> row_major(result.sizes.size());
  int64_t n = 1;
  for (size_t d = result.sizes.size(); d-- > 0; n *= std::max<int64_t>(result.sizes[d], 1)) row_major[d] = n;
  std::vector<std::vector<int64_t>> out = {row_major};
  const auto add = [&](std::vector<int64_t> strides) {
    if (std::ranges::find(out, strides) == out.end()) out.push_back(std::move(strides));
  };
  add(Tensor(detail::makeCpuTensor({}, {}, kFloat)).expand(result.sizes).strides().vec());
  add(result.strides);
  return out;
}

/// What gives this output alone, where the other ones are inputs, behind the graph's own.
Graph partOf(Graph graph, size_t output, const std::vector<size_t>& others) {
  for (const size_t i : others) {
    const Graph::Value* made = graph.outputs()[i];
    graph.replace(made, graph.addInput(made->spec));
  }
  std::vector<Graph::Value*> outputs(graph.outputs().size());
  outputs[output] = graph.outputs()[output];
  graph.setOutputs(std::move(outputs));
  graph.eliminate_dead_code();
  return graph;
}

std::vector<const Operator*> operatorsOf(const std::vector<std::pair<const Operator*, uint64_t>>& seen) {
  std::vector<const Operator*> out;
  for (const auto& [op, fingerprint] : seen) out.push_back(op);
  return out;
}

}  // namespace

std::shared_ptr<CompiledBackward> CompiledBackward::make(const Graph& graph, size_t output, std::vector<size_t> others,
                                                         std::string name, const Places& places, bool checks,
                                                         std::optional<Joint>& first) {
  std::shared_ptr<CompiledBackward> out(new CompiledBackward(graph, std::move(name)));
  out->checks_ = checks;
  out->output_ = output;
  out->others_ = std::move(others);
  checkOwnWrites(graph);
  Graph whole = withoutOwnWrites(graph);
  takeGenerators(whole);  // which read fewer tensors
  out->graph_again_ = partOf(std::move(whole), output, out->others_);
  const Graph& again = out->graph_again_;
  const auto isRead = [&](const Graph::Value* v) {
    return v != nullptr && (!again.users(v).empty() || again.isOutput(v));
  };
  for (const Graph::Value* v : givenOf(graph)) out->read_again_.push_back(isRead(again.value(v->id)));
  for (size_t i = graph.inputs().size(); i < again.inputs().size(); ++i)
    out->read_again_.push_back(isRead(again.inputs()[i]));
  out->draws_ = std::ranges::any_of(graph.nodes(), [](const Graph::Node* n) { return drawsRandomNumbers(n->op); });
  for (const Graph::Value* v : graph.constants()) out->constants_.push_back(v->constant);
  out->places_again_ = places.ofNodes(again);
  out->default_dtype_ = get_default_dtype();
  first.reset();
  for (const std::vector<int64_t>& strides : usualStrides(graph.outputs()[output]->spec)) {
    Joint joint = jointOf(graph, output, out->others_, strides);
    if (!first) {
      out->saved_ = savedFor(joint);
      out->remade_.emplace(joint, out->saved_);
    }
    out->addPass(joint, false);
    if (!first) first = std::move(joint);
  }
  out->seen_ = first->seen;
  for (const Graph::Node* node : again.nodes())
    if (const Operator& op = node->op.op();
        std::ranges::find(out->seen_, &op, [](const auto& s) { return s.first; }) == out->seen_.end())
      out->seen_.emplace_back(&op, detail::fingerprintOf(op));
  out->adds_ = first->adds;  // whose sum is known to lie as in eager code for these layouts only
  if (!out->adds_) out->addPass(*first, true);
  return out;
}

void CompiledBackward::addsBesideOthers(const Parts& parts, Layouts& layouts) {
  const size_t given = read_again_.size() - others_.size();
  if (parts.given.empty()) return;
  const std::vector<size_t> homes = homesOf(givenOf(graph_));
  for (const Pass& p : passes_)
    for (const JointContribution& c : p.contributions) {
      const bool is_given = c.given < given;
      const size_t output = is_given ? 0 : others_[c.given - given];
      if (!c.arrives || !(is_given ? parts.given[c.given] : parts.reached_often[output])) continue;
      const Graph::Value* target = is_given ? givenOf(graph_)[c.given] : graph_.outputs()[output];
      const Graph::Spec lies{.sizes = target->spec.sizes, .strides = c.strides};
      auto& known = layouts[is_given ? homes[c.given] : given + output];
      const auto isAddedAlike = [&](const auto& other) { return other.first == this || addAlike(lies, other.second); };
      if (!std::ranges::all_of(known, isAddedAlike))
        refuse("several results require grad, and gradients that come from them to one tensor lie in different ways");
      known.emplace_back(this, lies);
      adds_ = true;
    }
  if (adds_) std::erase_if(passes_, [](const Pass& p) { return !p.strides; });
}

void CompiledBackward::setSources(FunctionRef<size_t(const SavedValue&)> place) {
  for (const SavedValue& s : saved_) sources_.push_back({s.is_given, s.is_given ? s.number : place(s)});
  const auto add = [&](SavedSource source) {
    if (std::ranges::find(sources_, source) == sources_.end()) sources_.push_back(source);
  };
  const size_t given = read_again_.size() - others_.size();
  for (size_t i = 0; i < read_again_.size(); ++i)
    if (read_again_[i]) add(i < given ? SavedSource{true, i} : SavedSource{false, others_[i - given]});
}

void CompiledBackward::addPass(const Joint& joint, bool of_any_layout) {
  const auto isSameWay = [](const JointContribution& a, const JointContribution& b) {
    return a.given == b.given && a.arrives == b.arrives;
  };
  if (!passes_.empty() && !std::ranges::equal(passes_[0].contributions, joint.contributions, isSameWay))
    refuse("its backward pass depends on how the gradient lies");
  Pass pass;
  if (!of_any_layout) pass.strides = joint.gradient->spec.strides;
  pass.contributions = joint.contributions;
  std::vector<SavedValue> all = saved_;
  all.insert(all.end(), remade_->values().begin(), remade_->values().end());
  pass.graph = backwardOf(joint, all, of_any_layout);
  const PlanOptions options{.history_of_outputs = false,
                            .views_of_outputs = false,
                            .guarded = true,
                            .seen = operatorsOf(joint.seen),
                            .compares_strides = true};
  if (!of_any_layout) {
    Graph planned = remade_->none() ? pass.graph.clone() : backwardOf(joint, saved_, false);
    pass.plan = std::make_unique<Plan>(planned, options);
    pass.sums = sumsOf(joint);
    if (!pass.sums.empty()) {
      giveSums(planned, pass.sums);
      pass.with_sums = withSums(joint, pass.sums);
      pass.summed = std::make_unique<Plan>(planned, options);
    }
  }
  passes_.push_back(std::move(pass));
}

const CompiledBackward::Pass* CompiledBackward::passFor(const Tensor& gradient) const {
  const Graph::Spec& result = graph_.outputs()[output_]->spec;
  if (!hasPlainKeys(gradient) || gradient.dtype() != result.dtype || !gradient.sizes().equals(result.sizes) ||
      gradient.unsafeGetTensorImpl()->is_wrapped_number() || gradient.is_inference())
    return nullptr;
  const auto found =
      std::ranges::find_if(passes_, [&](const Pass& p) { return !p.strides || gradient.strides().equals(*p.strides); });
  return found != passes_.end() ? &*found : nullptr;
}

void CompiledBackward::leave(const trace_detail::OtherResults& other) const {
  again_.fetch_add(kMostAgain, std::memory_order_relaxed);
  if (gave_others_.exchange(true)) return;
  const char* const now = other.mayRunAgain() ? "This pass and later ones" : "Later passes";
  detail::log(LogLevel::kWarning, detail::str(name_, ", backward: ", other.what(), ". ", now,
                                              " go through the history of the function's operators"));
}

void CompiledBackward::addNode(detail::CompileOutputs& made, std::span<const Tensor* const> inputs, const Call& call,
                               const StandIns* stand_ins) const {
  auto node = make_intrusive<BackwardNode>(shared_from_this(), call);
  for (const JointContribution& c : passes_[0].contributions) {
    const size_t all = inputs.size() + constants_.size();
    node->add_next_edge(
        autograd::gradient_edge(c.given < all ? given(c.given, inputs, stand_ins) : made[others_[c.given - all]]));
  }
  autograd::set_history(made[output_], intrusive_ptr<Node>(node));
  node->save(made, inputs, stand_ins);
}

std::string CompiledBackward::nameOf(size_t i) const {
  const std::vector<Graph::Value*> all = givenOf(graph_);
  const size_t inputs = graph_.inputs().size();
  const Graph::Value* v = i < all.size() ? all[i] : graph_.outputs()[others_[i - all.size()]];
  const auto name = i < inputs       ? detail::str("argument tensor ", i)
                    : i < all.size() ? detail::str("captured tensor ", i - inputs)
                                     : detail::str("result ", others_[i - all.size()]);
  return detail::str(name, ", of shape ", IntArrayRef(v->spec.sizes));
}

std::string CompiledBackward::Pass::title() const {
  return strides ? detail::str("backward of a gradient with strides ", IntArrayRef(*strides)) : "backward of others";
}

void CompiledBackward::describe(const std::string& result, std::vector<PlanDescription>& out) const {
  for (const Pass& p : passes_) {
    const Plan* const plan = p.summed != nullptr ? p.summed.get() : p.plan.get();
    PlanDescription& d = out.emplace_back(plan != nullptr ? plan->description() : PlanDescription());
    d.of = result + p.title();
    if (plan == nullptr) d.operators_alone = p.graph.nodeCount();
  }
}

std::string CompiledBackward::print() const {
  std::string text;
  for (const Pass& p : passes_) text += p.title() + ":\n" + p.graph.print();
  return text;
}

}  // namespace shunt::compiled
