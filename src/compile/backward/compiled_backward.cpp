#include "src/compile/backward/compiled_backward.h"

#include "src/autograd/graph_task.h"
#include "src/autograd/unshared.h"
#include "src/compile/backward/contributions.h"
#include "src/compile/guards/keys_that_matter.h"
#include "src/compile/passes/aliases.h"
#include "src/compile/steps/grad_step.h"
#include "src/trace/modes.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/autograd/autograd.h>
#include <shunt/autograd/saved_variable.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/ops.h>

#include <algorithm>
#include <unordered_set>

namespace shunt::compiled {
namespace {

using autograd::SavedVariable;
using autograd::variable_list;

[[noreturn]] void refuse(const char* why) { throw Error(why); }

/// The one output that requires grad.
size_t outputWithHistory(const Graph& graph, const std::vector<Tensor>& outputs) {
  size_t found = outputs.size();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Graph::Value* v = graph.outputs()[i];
    if (v == nullptr || !outputs[i].requires_grad()) continue;
    if (found != outputs.size()) refuse("several results require grad");
    if (v->kind != Graph::Value::Kind::kResult)
      refuse("a result that requires grad is a tensor that the function was given");
    if (autograd::get_view_autograd_meta(outputs[i]) != nullptr) refuse("the result that requires grad is a view");
    found = i;
  }
  if (found == outputs.size()) refuse("no result requires grad");
  return found;
}

/// The generator argument of an operator that draws: none given. Null: the operator takes none.
Graph::Argument* generatorOf(const Graph::Node& node) {
  const auto& wanted = node.op.schema().arguments();
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i].type.kind == TypeKind::Generator && node.arguments[i].literal.isNone())
      return const_cast<Graph::Argument*>(&node.arguments[i]);
  return nullptr;
}

/// Whether the graph can be run again with the same results, and no result is another's alias.
void checkGraph(const Graph& graph) {
  const Aliases aliases(graph);
  for (const Graph::Node* node : graph.nodes()) {
    if (!isOfDictionary(*node)) refuse("the function calls operators of another library, or uses grads");
    if (node->modes.inference) refuse("the function enters inference mode");
    if (drawsRandomNumbers(node->op) && generatorOf(*node) == nullptr)
      refuse("the function draws from a generator of its own");
  }
  for (const Graph::Value* v : givenOf(graph))
    if (aliases.isWritten(v)) refuse("the function writes into a tensor that it was given");
  std::vector<size_t> groups;
  for (const Graph::Value* v : graph.outputs()) {
    if (v == nullptr) continue;
    if (aliases.holdsGiven(aliases.of(v))) refuse("a result shares memory with what the function was given");
    groups.push_back(aliases.of(v));
  }
  // Where a result is a view, its base would have to have the history.
  std::unordered_set<const Graph::Value*> tensors;
  for (const Graph::Node* node : graph.nodes())
    for (const Graph::Output& o : node->outputs)
      for (const Graph::Value* v : o.values)
        if (v != nullptr && std::ranges::find(groups, aliases.of(v)) != groups.end())
          tensors.insert(aliases.tensorOf(v));
  if (tensors.size() != groups.size()) refuse("a result is a view, or there is a view of it");
}

/// How gradients of such a result mostly lie: in row-major order, expanded from one number, or as the result does.
std::vector<std::vector<int64_t>> gradientStrides(const Graph::Spec& result) {
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

std::vector<const Operator*> operatorsOf(const std::vector<std::pair<const Operator*, uint64_t>>& seen) {
  std::vector<const Operator*> out;
  for (const auto& [op, fingerprint] : seen) out.push_back(op);
  return out;
}

bool autocastIsOn() {
  const Graph::Modes modes = Graph::Modes::now();
  return modes.in_autocast || !modes.autocast.empty();
}

bool isHooked(const autograd::AccumulateGrad& accumulator) {
  return accumulator.hooks() != nullptr || autograd::get_autograd_meta(accumulator.variable)->hooks_ != nullptr;
}

/// Makes a gradient what it is in eager code to those who add it to another, or keep it as a leaf's grad.
void fit(const JointContribution& c, const Node* next, Tensor& gradient) {
  if (!(c.is_view || c.is_held) || !gradient.defined() || !autograd::isUnshared(gradient)) return;
  const auto* accumulator = dynamic_cast<const autograd::AccumulateGrad*>(next);
  if (accumulator == nullptr || isHooked(*accumulator) || !autograd::currentTaskEndsAt(next)) {
    gradient = ops::alias::call(gradient);  // a view is left alone where gradients are added
    return;
  }
  if (layOutAs(accumulator->variable, gradient) && c.is_held)
    gradient.unsafeGetTensorImpl()->version().set(1);  // as that of a copy
}

}  // namespace

class CompiledBackward::BackwardNode final : public Node {
 public:
  explicit BackwardNode(std::shared_ptr<const CompiledBackward> of) : of_(std::move(of)) {}
  std::string name() const override { return "CompiledFunctionBackward"; }
  variable_list apply(variable_list&& grads) override;
  void release_variables() override {
    for (SavedVariable& s : saved_) s.reset_data();
  }

  void save(const detail::CompileOutputs& made, std::span<const Tensor* const> inputs, const Drawn& drawn);

 private:
  variable_list runGraphAgain(const Tensor& gradient);
  std::vector<Tensor> drawAgain(const std::vector<Tensor>& inputs) const;

  const std::shared_ptr<const CompiledBackward> of_;
  InlineVector<SavedVariable, 6> saved_;  // of_->sources_
  Drawn drawn_;
};

void CompiledBackward::BackwardNode::save(const detail::CompileOutputs& made, std::span<const Tensor* const> inputs,
                                          const Drawn& drawn) {
  const CompiledBackward& of = *of_;
  saved_.reserve(of.sources_.size());
  for (const SavedSource& s : of.sources_)
    saved_.emplace_back(s.is_given ? of.given(s.number, inputs) : made[s.number],
                        !s.is_given && s.number == of.output_);
  drawn_ = drawn;
}

variable_list CompiledBackward::BackwardNode::apply(variable_list&& grads) {
  Tensor gradient = std::move(grads[0]);
  grads.clear();
  variable_list out(num_outputs());
  if (!gradient.defined()) return out;
  const Pass* pass = GradMode::is_enabled() || autocastIsOn() ? nullptr : of_->passFor(gradient);
  if (pass == nullptr) return runGraphAgain(gradient);
  InlineVector<Tensor, 8> unpacked;
  InlineVector<const Tensor*, 8> given;
  const size_t saved = of_->saved_.size();
  unpacked.reserve(saved);
  given.reserve(saved + 1);
  for (size_t i = 0; i < saved; ++i) unpacked.push_back(saved_[i].unpack(this));
  for (const Tensor& t : unpacked) given.push_back(&t);
  given.push_back(&gradient);
  detail::CompileOutputs made = pass->plan->runOn({given.data(), given.size()});
  for (size_t i = 0; i < out.size(); ++i) out[i] = std::move(made[i]);
  unpacked.clear();
  gradient.reset();
  for (size_t i = 0; i < out.size(); ++i) fit(pass->contributions[i], next_edge(i).function.get(), out[i]);
  return out;
}

std::vector<Tensor> CompiledBackward::BackwardNode::drawAgain(const std::vector<Tensor>& inputs) const {
  Generator same = make_generator();
  same->set_position(drawn_.first);
  Graph graph = of_->graph_.clone();
  for (const Graph::Node* node : graph.nodes())
    if (drawsRandomNumbers(node->op)) generatorOf(*node)->literal = IValue(same);
  std::vector<Tensor> outputs = graph.run(inputs);
  SHUNT_CHECK(same->position() == drawn_.second, name(),
              ": the function has drawn random numbers while another thread drew from the same generator, so that its "
              "graph can't be run again for this backward(), as create_graph, autocast and gradients in other than "
              "row-major order need it. Seed a generator for each thread, or call the function without compile()");
  return outputs;
}

variable_list CompiledBackward::BackwardNode::runGraphAgain(const Tensor& gradient) {
  std::vector<Tensor> inputs(of_->graph_.inputs().size());
  for (size_t i = 0; i < saved_.size(); ++i) {
    const SavedSource& source = of_->sources_[i];
    Tensor t = saved_[i].unpack(this);  // throws where eager code would
    if (source.is_given && source.number < inputs.size()) inputs[source.number] = std::move(t);
  }
  const std::vector<Tensor> outputs = of_->draws_ ? drawAgain(inputs) : of_->graph_.run(inputs);
  std::vector<Tensor> leaves;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < inputs.size() + of_->constants_.size(); ++i) {
    const Tensor& t = i < inputs.size() ? inputs[i] : of_->constants_[i - inputs.size()];
    if (!t.requires_grad()) continue;
    leaves.push_back(t);
    numbers.push_back(i);
  }
  variable_list out;
  const auto& expected = of_->passes_[0].contributions;
  const auto take = [&](size_t leaf, Tensor&& t) {
    SHUNT_INTERNAL_ASSERT(out.size() < expected.size() && expected[out.size()].given == numbers[leaf],
                          "a compiled function's graph has another history than it was recorded with");
    out.push_back(std::move(t));
  };
  contributionsOf(outputs[of_->output_], gradient, leaves, GradMode::is_enabled(), take);
  SHUNT_INTERNAL_ASSERT(out.size() == expected.size(), "a compiled function's graph has lost a part of its history");
  return out;
}

std::shared_ptr<const CompiledBackward> CompiledBackward::make(const Graph& graph, const std::vector<Tensor>& outputs) {
  checkGraph(graph);
  std::shared_ptr<CompiledBackward> out(new CompiledBackward(graph));
  out->output_ = outputWithHistory(graph, outputs);
  out->draws_ = std::ranges::any_of(graph.nodes(), [](const Graph::Node* n) { return drawsRandomNumbers(n->op); });
  for (const Graph::Value* v : graph.constants()) out->constants_.push_back(v->constant);
  for (const std::vector<int64_t>& strides : gradientStrides(graph.outputs()[out->output_]->spec)) {
    Joint joint = jointOf(graph, out->output_, strides);
    if (out->passes_.empty()) out->setForward(joint);
    out->addPass(std::move(joint));
  }
  return out;
}

void CompiledBackward::setForward(const Joint& joint) {
  saved_ = savedFor(joint);
  forward_ = forwardOf(joint, saved_);
  seen_ = joint.seen;
  size_t made = joint.graph.outputs().size();
  for (const SavedValue& s : saved_) {
    if (s.is_given) {
      sources_.push_back({true, s.number});
      continue;
    }
    const auto same = std::ranges::find(joint.graph.outputs(), valueOf(joint, s));
    sources_.push_back({false, same != joint.graph.outputs().end()
                                   ? static_cast<size_t>(same - joint.graph.outputs().begin())
                                   : made});
    ++made;
  }
  for (size_t i = 0; i < graph_.inputs().size(); ++i)
    if (std::ranges::find(saved_, SavedValue{true, i}) == saved_.end()) sources_.push_back({true, i});
}

void CompiledBackward::addPass(Joint joint) {
  Pass pass;
  pass.strides = joint.gradient->spec.strides;
  pass.contributions = joint.contributions;
  const auto isSameWay = [](const JointContribution& a, const JointContribution& b) {
    return a.given == b.given && a.arrives == b.arrives;
  };
  if (!passes_.empty() && !std::ranges::equal(passes_[0].contributions, pass.contributions, isSameWay)) return;
  pass.plan = std::make_unique<Plan>(
      backwardOf(joint, saved_),
      PlanOptions{
          .history_of_outputs = false, .views_of_outputs = false, .guarded = true, .seen = operatorsOf(joint.seen)});
  passes_.push_back(std::move(pass));
}

const CompiledBackward::Pass* CompiledBackward::passFor(const Tensor& gradient) const {
  const Graph::Spec& spec = graph_.outputs()[output_]->spec;
  if (!hasPlainKeys(gradient) || gradient.dtype() != spec.dtype || !gradient.sizes().equals(spec.sizes) ||
      gradient.unsafeGetTensorImpl()->is_wrapped_number() || gradient.is_inference())
    return nullptr;
  const auto lies = [&](const Pass& p) { return gradient.strides().equals(p.strides); };
  const auto found = std::ranges::find_if(passes_, lies);
  return found != passes_.end() ? &*found : nullptr;
}

detail::CompileOutputs CompiledBackward::run(const Executor& forward, std::span<const Tensor* const> inputs) const {
  Drawn drawn;
  if (draws_) drawn.first = default_generator()->position();
  detail::CompileOutputs made = forward.runOn(inputs);
  if (draws_) drawn.second = default_generator()->position();
  auto node = make_intrusive<BackwardNode>(shared_from_this());
  for (const JointContribution& c : passes_[0].contributions)
    node->add_next_edge(autograd::gradient_edge(given(c.given, inputs)));
  autograd::set_history(made[output_], node);
  node->save(made, inputs, drawn);
  detail::CompileOutputs out;
  for (size_t i = 0; i < graph_.outputs().size(); ++i) out.push_back(std::move(made[i]));
  return out;
}

std::string CompiledBackward::describe() const {
  std::string text;
  for (const Pass& p : passes_)
    text += detail::str("backward of a gradient with strides ", IntArrayRef(p.strides), ":\n", p.plan->describe());
  return text;
}

}  // namespace shunt::compiled
