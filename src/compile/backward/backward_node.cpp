#include "src/compile/backward/backward_node.h"

#include "src/autograd/graph_task.h"
#include "src/autograd/unshared.h"
#include "src/compile/backward/contributions.h"
#include "src/compile/backward/eligible.h"
#include "src/compile/steps/grad_step.h"

#include <shunt/autograd/accumulate_grad.h>
#include <shunt/ops.h>

#include <algorithm>

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

/// Makes a gradient what it is in eager code to those who add it to another, or keep it as a leaf's grad.
void fit(const JointContribution& c, const Node* next, Tensor& gradient) {
  if (!(c.is_view || c.is_held) || !gradient.defined() || !autograd::isUnshared(gradient)) return;
  const auto* accumulator = dynamic_cast<const AccumulateGrad*>(next);
  if (accumulator == nullptr || isHooked(*accumulator) || !autograd::currentTaskEndsAt(next)) {
    gradient = ops::alias::call(gradient);  // a view is left alone where gradients are added
    return;
  }
  if (layOutAs(accumulator->variable, gradient) && c.is_held)
    gradient.unsafeGetTensorImpl()->version().set(1);  // as that of a copy
}

}  // namespace

void CompiledBackward::BackwardNode::save(const detail::CompileOutputs& made, std::span<const Tensor* const> inputs,
                                          const Drawn& drawn) {
  saved_.reserve(of_->sources_.size());
  for (const SavedSource& s : of_->sources_) {
    if (s.is_given)
      saved_.emplace_back(of_->given(s.number, inputs), false);
    else
      saved_.emplace_back(made[s.number], of_->isResult(s.number));
  }
  drawn_ = drawn;
}

void CompiledBackward::BackwardNode::release_variables() {
  for (autograd::SavedVariable& s : saved_) s.reset_data();
}

Tensor CompiledBackward::BackwardNode::unpack(size_t i) const {
  return saved_[i].unpack(const_cast<BackwardNode*>(this));
}

variable_list CompiledBackward::BackwardNode::apply(variable_list&& grads) {
  if (std::ranges::none_of(grads, &Tensor::defined)) return variable_list(num_outputs());
  const Pass* pass = GradMode::is_enabled() || autocastIsOn() ? nullptr : of_->passFor(grads);
  return pass != nullptr ? runPass(*pass, std::move(grads)) : runGraphAgain(grads);
}

variable_list CompiledBackward::BackwardNode::runPass(const Pass& pass, variable_list gradients) const {
  const size_t saved = of_->saved_.size();
  variable_list out(num_outputs());
  {
    InlineVector<Tensor, 8> unpacked;
    InlineVector<const Tensor*, 8> given;
    unpacked.reserve(saved);
    given.reserve(saved + gradients.size());
    for (size_t i = 0; i < saved; ++i) unpacked.push_back(unpack(i));
    for (const Tensor& t : unpacked) given.push_back(&t);
    for (const Tensor& t : gradients)
      if (t.defined()) given.push_back(&t);
    detail::CompileOutputs made = pass.plan->runOn({given.data(), given.size()});
    for (size_t i = 0; i < out.size(); ++i)
      if (pass.outputs[i] >= 0) out[i] = std::move(made[static_cast<size_t>(pass.outputs[i])]);
    gradients.clear();  // so that nobody but `out` holds what only that should
  }
  for (size_t i = 0; i < out.size(); ++i) fit(pass.contributions[i], next_edge(i).function.get(), out[i]);
  return out;
}

/// Throws where a backward pass of eager code would, and where an input was written that only the graph reads.
std::vector<Tensor> CompiledBackward::BackwardNode::inputsAgain() const {
  std::vector<Tensor> inputs(of_->graph_.inputs().size());
  for (size_t i = 0; i < saved_.size(); ++i) {
    const SavedSource& source = of_->sources_[i];
    Tensor t = unpack(i);
    if (source.is_given && source.number < inputs.size()) inputs[source.number] = std::move(t);
  }
  return inputs;
}

std::vector<Tensor> CompiledBackward::BackwardNode::drawAgain(const std::vector<Tensor>& inputs) const {
  const Generator same = make_generator();
  same->set_position(drawn_.first);
  const Graph graph = of_->graph_.clone();
  for (Graph::Node* node : graph.nodes())
    if (drawsRandomNumbers(node->op)) generatorOf(*node)->literal = IValue(same);
  std::vector<Tensor> outputs = graph.run(inputs);
  SHUNT_CHECK(same->position() == drawn_.second, name(),
              ": the function has drawn random numbers while another thread drew from the same generator, so that its "
              "graph can't be run again for this backward(), as create_graph, autocast and gradients in other than "
              "row-major order need it. Draw from a generator of each thread's own, or call the function without "
              "compile()");
  return outputs;
}

variable_list CompiledBackward::BackwardNode::runGraphAgain(const variable_list& gradients) const {
  const std::vector<Tensor> inputs = inputsAgain();
  const std::vector<Tensor> outputs = of_->draws_ ? drawAgain(inputs) : of_->graph_.run(inputs);
  std::vector<Tensor> results, leaves;
  for (const size_t i : of_->results_) results.push_back(outputs[i]);
  std::vector<size_t> given_of_leaf;
  for (size_t i = 0; i < inputs.size() + of_->constants_.size(); ++i) {
    const Tensor& t = i < inputs.size() ? inputs[i] : of_->constants_[i - inputs.size()];
    if (!t.requires_grad()) continue;
    leaves.push_back(t);
    given_of_leaf.push_back(i);
  }
  variable_list out(num_outputs());
  const auto take = [&](size_t edge, size_t leaf, Tensor&& t) {
    const size_t mine = edge < of_->edge_of_.size() ? of_->edge_of_[edge] : out.size();
    SHUNT_INTERNAL_ASSERT(mine < out.size() && of_->ends_[mine] == given_of_leaf[leaf],
                          "a compiled function's graph has another history than it was recorded with");
    out[mine] = std::move(t);
  };
  contributionsOf(results, gradients, leaves, GradMode::is_enabled(), take);
  return out;
}

}  // namespace shunt::compiled
