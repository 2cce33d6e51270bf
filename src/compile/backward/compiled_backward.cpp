#include "src/compile/backward/compiled_backward.h"

#include "src/compile/backward/backward_node.h"
#include "src/compile/backward/eligible.h"
#include "src/compile/backward/own_writes.h"
#include "src/compile/guards/keys_that_matter.h"

#include <shunt/autograd/variable_utils.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

/// Composites that an operator is recorded as, and casts, have nodes of their own.
constexpr uint64_t kNodesOfOperator = 64;

/// How gradients of such a result mostly lie: Note [Compiled backward passes].
std::vector<std::vector<int64_t>> usualStrides(const Graph::Spec& result) {
  std::vector<int64_t> row_major(result.sizes.size());
  int64_t n = 1;
  for (size_t d = result.sizes.size(); d-- > 0; n *= std::max<int64_t>(result.sizes[d], 1)) row_major[d] = n;
  std::vector<std::vector<int64_t>> out = {row_major};
  const auto add = [&](std::vector<int64_t> strides) {
    if (std::ranges::find(out, strides) == out.end()) out.push_back(std::move(strides));
  };
  add(std::vector<int64_t>(result.sizes.size(), 0));
  add(result.strides);
  return out;
}

[[noreturn]] void refuse(const char* why) { throw Error(why); }

std::vector<const Operator*> operatorsOf(const std::vector<std::pair<const Operator*, uint64_t>>& seen) {
  std::vector<const Operator*> out;
  for (const auto& [op, fingerprint] : seen) out.push_back(op);
  return out;
}

}  // namespace

std::shared_ptr<const CompiledBackward> CompiledBackward::make(const Graph& recorded,
                                                               const std::vector<Tensor>& outputs, std::string name) {
  std::shared_ptr<CompiledBackward> out(new CompiledBackward(recorded, std::move(name)));
  out->output_ = resultWithHistory(recorded, outputs);
  out->views_ = TrailingViews::takenFrom(out->graph_, out->output_);
  const Graph& graph = out->graph_;
  checkIsNoView(graph, out->output_, out->views_.empty() ? outputs[out->output_] : Tensor());
  out->own_writes_ = ownWritesOf(graph);
  out->graph_again_ = withoutOwnWrites(graph);
  out->draws_ = std::ranges::any_of(graph.nodes(), [](const Graph::Node* n) { return drawsRandomNumbers(n->op); });
  for (const Graph::Value* v : graph.constants()) out->constants_.push_back(v->constant);
  std::optional<Joint> first;
  for (const std::vector<int64_t>& strides : usualStrides(graph.outputs()[out->output_]->spec)) {
    Joint joint = jointOf(graph, out->output_, strides);
    if (!first) out->setForward(joint);
    out->addPass(joint, false);
    if (!first) first = std::move(joint);
  }
  out->adds_ = first->adds;  // whose sum is known to lie as in eager code for these layouts only
  if (!out->adds_) out->addPass(*first, true);
  return out;
}

void CompiledBackward::setForward(const Joint& joint) {
  saved_ = savedFor(joint);
  forward_ = forwardOf(joint, saved_);
  seen_ = joint.seen;
  const auto& outputs = joint.graph.outputs();
  size_t made = outputs.size();
  for (const SavedValue& s : saved_) {
    if (s.is_given) {
      sources_.push_back({true, s.number});
      continue;
    }
    const auto same = std::ranges::find(outputs, valueOf(joint, s));
    sources_.push_back({false, same != outputs.end() ? static_cast<size_t>(same - outputs.begin()) : made});
    ++made;
  }
  for (size_t i = 0; i < own_writes_.size(); ++i)
    if (!own_writes_[i] && std::ranges::find(saved_, SavedValue{true, i}) == saved_.end())
      sources_.push_back({true, i});
  places_ = kNodesOfOperator * (graph_.nodes().size() + 1);
  default_dtype_ = get_default_dtype();
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
  pass.graph = backwardOf(joint, saved_, of_any_layout);
  if (!of_any_layout)
    pass.plan = std::make_unique<Plan>(
        pass.graph,
        PlanOptions{
            .history_of_outputs = false, .views_of_outputs = false, .guarded = true, .seen = operatorsOf(joint.seen)});
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

detail::CompileOutputs CompiledBackward::run(const Executor& forward, std::span<const Tensor* const> inputs) const {
  Drawn drawn;
  if (draws_) drawn.first = default_generator()->position();
  detail::CompileOutputs made = forward.runOn(inputs);
  if (draws_) drawn.second = default_generator()->position();
  auto node = make_intrusive<BackwardNode>(shared_from_this());
  autograd::detail::next_sequence_nr += places_;
  for (const JointContribution& c : passes_[0].contributions)
    node->add_next_edge(autograd::gradient_edge(given(c.given, inputs)));
  autograd::set_history(made[output_], intrusive_ptr<Node>(node));
  node->save(made, inputs, drawn);
  detail::CompileOutputs out;
  for (size_t i = 0; i < graph_.outputs().size(); ++i) out.push_back(std::move(made[i]));
  if (!views_.empty()) out[output_] = views_.of(std::move(out[output_]));
  return out;
}

std::string CompiledBackward::Pass::title() const {
  return strides ? detail::str("backward of a gradient with strides ", IntArrayRef(*strides), ":")
                 : "backward of others:";
}

std::string CompiledBackward::describe() const {
  std::string text = views_.describe();
  for (const Pass& p : passes_)
    text += p.title() +
            (p.plan != nullptr ? '\n' + p.plan->describe() : detail::str(' ', p.graph.nodes().size(), " operators\n"));
  return text;
}

std::string CompiledBackward::print() const {
  std::string text;
  for (const Pass& p : passes_) text += p.title() + '\n' + p.graph.print();
  return text;
}

}  // namespace shunt::compiled
