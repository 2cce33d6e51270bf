#include "src/compile/backward/compiled_backward.h"

#include "src/compile/backward/backward_node.h"
#include "src/compile/backward/eligible.h"
#include "src/compile/guards/keys_that_matter.h"

#include <shunt/autograd/variable_utils.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

/// Each recorded pass takes as long as recording the function did.
constexpr size_t kMostAlone = 4;

std::vector<int64_t> rowMajor(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> out(sizes.size());
  int64_t n = 1;
  for (size_t d = sizes.size(); d-- > 0; n *= std::max<int64_t>(sizes[d], 1)) out[d] = n;
  return out;
}

/// How the results' gradients mostly lie: in row-major order, or as the results do; of one result, expanded from one
/// number, too; of several, some may have none.
std::vector<std::vector<GradientLayout>> usualGradients(const std::vector<const Graph::Spec*>& results) {
  std::vector<std::vector<GradientLayout>> out(1);
  const auto add = [&](std::vector<GradientLayout> layout) {
    if (std::ranges::find(out, layout) == out.end()) out.push_back(std::move(layout));
  };
  for (const Graph::Spec* r : results) out[0].emplace_back(rowMajor(r->sizes));
  if (results.size() == 1) add({std::vector<int64_t>(results[0]->sizes.size(), 0)});
  std::vector<GradientLayout> alike;
  for (const Graph::Spec* r : results) alike.emplace_back(r->strides);
  add(std::move(alike));
  for (size_t i = 0; results.size() > 1 && results.size() <= kMostAlone && i < results.size(); ++i) {
    std::vector<GradientLayout> alone(results.size());
    alone[i] = rowMajor(results[i]->sizes);
    add(std::move(alone));
  }
  return out;
}

std::vector<const Operator*> operatorsOf(const std::vector<std::pair<const Operator*, uint64_t>>& seen) {
  std::vector<const Operator*> out;
  for (const auto& [op, fingerprint] : seen) out.push_back(op);
  return out;
}

bool lies(const Tensor& gradient, const GradientLayout& layout, const Graph::Spec& result) {
  if (!gradient.defined() || !layout) return gradient.defined() == layout.has_value();
  return hasPlainKeys(gradient) && gradient.dtype() == result.dtype && gradient.sizes().equals(result.sizes) &&
         gradient.strides().equals(*layout) && !gradient.unsafeGetTensorImpl()->is_wrapped_number() &&
         !gradient.is_inference();
}

}  // namespace

std::shared_ptr<const CompiledBackward> CompiledBackward::make(const Graph& graph, const std::vector<Tensor>& outputs) {
  std::shared_ptr<CompiledBackward> out(new CompiledBackward(graph));
  out->results_ = resultsWithHistory(graph, outputs);
  out->draws_ = std::ranges::any_of(graph.nodes(), [](const Graph::Node* n) { return drawsRandomNumbers(n->op); });
  for (const Graph::Value* v : graph.constants()) out->constants_.push_back(v->constant);
  std::vector<const Graph::Spec*> specs;
  for (const size_t i : out->results_) specs.push_back(&graph.outputs()[i]->spec);
  for (std::vector<GradientLayout>& gradients : usualGradients(specs)) {
    const Joint joint = jointOf(graph, out->results_, gradients);
    if (out->passes_.empty()) out->setForward(joint);
    out->addPass(joint, std::move(gradients));
  }
  return out;
}

/// Of the pass in which all results have a gradient, so that every edge is there.
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
  for (size_t i = 0; i < graph_.inputs().size(); ++i)
    if (std::ranges::find(saved_, SavedValue{true, i}) == saved_.end()) sources_.push_back({true, i});
  edge_of_.assign(joint.edges, 0);
  for (const JointContribution& c : joint.contributions) {
    edge_of_.at(c.edge) = ends_.size();
    ends_.push_back(c.given);
  }
  if (ends_.size() != joint.edges) throw Error("a part of the results' history is never asked");
}

void CompiledBackward::addPass(const Joint& joint, std::vector<GradientLayout> gradients) {
  Pass pass;
  pass.gradients = std::move(gradients);
  pass.outputs.assign(ends_.size(), -1);
  pass.contributions.resize(ends_.size());
  size_t last = 0;
  for (size_t i = 0; i < joint.contributions.size(); ++i) {
    const JointContribution& c = joint.contributions[i];
    const size_t edge = edge_of_.at(c.edge);
    // Never seen to be so: with fewer results, fewer edges, in the same order. Else the graph is run again.
    if (joint.edges != ends_.size() || ends_[edge] != c.given || edge < last) return;
    last = edge;
    pass.contributions[edge] = c;
    if (c.arrives) pass.outputs[edge] = static_cast<int>(i);
  }
  pass.plan = std::make_unique<Plan>(
      backwardOf(joint, saved_),
      PlanOptions{
          .history_of_outputs = false, .views_of_outputs = false, .guarded = true, .seen = operatorsOf(joint.seen)});
  passes_.push_back(std::move(pass));
}

const CompiledBackward::Pass* CompiledBackward::passFor(std::span<const Tensor> gradients) const {
  const auto fits = [&](const Pass& p) {
    for (size_t i = 0; i < results_.size(); ++i)
      if (!lies(gradients[i], p.gradients[i], graph_.outputs()[results_[i]]->spec)) return false;
    return true;
  };
  const auto found = std::ranges::find_if(passes_, fits);
  return found != passes_.end() ? &*found : nullptr;
}

bool CompiledBackward::isResult(size_t output) const { return std::ranges::find(results_, output) != results_.end(); }

detail::CompileOutputs CompiledBackward::run(const Executor& forward, std::span<const Tensor* const> inputs) const {
  Drawn drawn;
  if (draws_) drawn.first = default_generator()->position();
  detail::CompileOutputs made = forward.runOn(inputs);
  if (draws_) drawn.second = default_generator()->position();
  auto node = make_intrusive<BackwardNode>(shared_from_this());
  for (const size_t end : ends_) node->add_next_edge(autograd::gradient_edge(given(end, inputs)));
  for (const size_t i : results_) autograd::set_history(made[i], intrusive_ptr<Node>(node));
  node->save(made, inputs, drawn);
  detail::CompileOutputs out;
  for (size_t i = 0; i < graph_.outputs().size(); ++i) out.push_back(std::move(made[i]));
  return out;
}

std::string CompiledBackward::describe() const {
  std::string text;
  for (const Pass& p : passes_) {
    text += "backward";
    for (const GradientLayout& layout : p.gradients)
      text += layout ? detail::str(" of a gradient with strides ", IntArrayRef(*layout)) : " of none";
    text += ":\n" + p.plan->describe();
  }
  return text;
}

}  // namespace shunt::compiled
