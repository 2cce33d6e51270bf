#include "src/compile/program/step_builder.h"

#include "src/compile/passes/host_node.h"
#include "src/compile/passes/same_views.h"
#include "src/compile/steps/fill_step.h"
#include "src/compile/steps/grad_step.h"
#include "src/compile/steps/host_step.h"
#include "src/compile/steps/loss_step.h"
#include "src/compile/steps/norm_step.h"
#include "src/compile/steps/reduction_step.h"
#include "src/compile/steps/row_step.h"
#include "src/compile/steps/view_step.h"
#include "src/trace/writes.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

/// What the step adds to a grad, if it does that.
const Operand* gradientOf(const Step& step) {
  return step.node->is("trace::accumulate_grad_") ? &step.operands[1] : nullptr;
}

}  // namespace

std::vector<Step> StepBuilder::build() {
  bool has_effects = false;
  for (const Graph::Node* node : at_.order()) {
    steps_.push_back(stepOf(*node, steps_.size()));
    has_effects |= drawsRandomNumbers(node->op);
    trace_detail::forWritten(*node, [&](const Graph::Value* v) { has_effects |= at_.isOfGiven(v); });
    steps_.back().may_run_again = !has_effects;
  }
  return std::move(steps_);
}

Step StepBuilder::stepOf(const Graph::Node& node, size_t position) {
  Step step(node);
  const auto& wanted = node.op.schema().arguments();
  for (size_t i = 0; i < node.arguments.size(); ++i) step.operands.push_back(operandOf(node.arguments[i], wanted[i]));
  for (size_t i = 0; i < step.operands.size(); ++i)
    if (step.operands[i].kind == Operand::Kind::kLiteral) fitLiteral(node.op, i, step.operands[i].literal);
  if (at_.options().expected != nullptr) step.expected = at_.options().expected->of(node);
  if (!isOfDictionary(node))
    callDirectly(step);
  else if (step.expected == nullptr)
    step.direct = directCallOf(node.op);
  markLast(node, position, step);
  step.adds_view = addsViewOfOtherStrides(node);
  for (const Graph::Output& o : node.outputs) {
    Step::Result r{o.is_list, {}};
    for (const Graph::Value* v : o.values) r.slots.push_back(at_.slotOf(v));
    step.results.push_back(std::move(r));
  }
  if (!step.results.empty() && !step.results[0].is_list) step.result = step.results[0].slots[0];
  if (!step.operands.empty() && step.operands[0].kind == Operand::Kind::kTensor) {
    step.from = step.operands[0].source;
    step.from_spec = &node.arguments[0].value()->spec;
  }
  if (!isOfDictionary(node)) callQuickly(step);
  passAutogradBy(node, step);
  makeViewDirectly(at_.uses(), step);
  if (at_.isLate(node)) {
    const Graph::Value* from = node.arguments[0].value();
    makeViewLate(step, at_.placeOf(from).spec == nullptr || (from->node != nullptr && at_.isLate(*from->node)));
  }
  if (at_.isLateGrad(node)) readGradLate(step);
  trace_detail::forArguments(node, [&](const Graph::Value* v) {
    if (v->node != nullptr && (at_.isLate(*v->node) || at_.isLateGrad(*v->node)))
      step.late.push_back(static_cast<uint32_t>(at_.position(*v->node)));
  });
  if (const ProductNode* product = at_.productOf(node); product != nullptr && step.result >= 0)
    addProduct(node, *product, position, step);
  else if (isHostStep(node))
    addHostStep(node, step);
  else
    addPrepared(node, step);
  joinWithMaker(node, step);
  findBuffers(node, step);
  return step;
}

void StepBuilder::findBuffers(const Graph::Node& node, Step& step) const {
  const auto isBuffer = [&](const Graph::Value* v) { return v != nullptr && at_.isBuffer(v); };
  const auto bufferOf = [&](size_t output) -> int64_t {
    const Graph::Value* v = node.outputs.size() > output ? node.outputs[output].values[0] : nullptr;
    return isBuffer(v) ? static_cast<int64_t>(at_.placeOf(v).source.index) : -1;
  };
  if (step.prepared != nullptr && !isHostStep(node))
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      step.buffers[i] = bufferOf(i);
      step.into[i] = at_.intoOf(node.outputs[i].values[0]);
    }
  step.in_buffers =
      at_.isRarelyMade(node) || std::ranges::any_of(step.buffers, [](int64_t b) { return b >= 0; }) ||
      (isHostStep(node) && std::ranges::any_of(node.outputs[0].values, isBuffer)) ||
      std::ranges::any_of(node.arguments, [&](auto& a) { return std::ranges::any_of(a.values, isBuffer); });
  // Where the run has left the buffers, these tensors live until its end.
  if (!at_.isInRegion(node)) std::erase_if(step.dead, [&](uint32_t slot) { return slot >= at_.keptSlots(); });
}

Operand StepBuilder::operandOf(const Graph::Value* v) const {
  Operand o;
  o.kind = v != nullptr ? Operand::Kind::kTensor : Operand::Kind::kUndefined;
  if (v != nullptr) o.source = at_.sourceOf(v);
  return o;
}

Operand StepBuilder::operandOf(const Graph::Argument& a, const Argument& wanted) const {
  if (a.kind == Graph::Argument::Kind::kValue) return operandOf(a.values[0]);
  Operand o;
  o.literal = a.literal;
  if (a.kind != Graph::Argument::Kind::kList) return o;
  o.kind = wanted.type.element_optional ? Operand::Kind::kOptionalList : Operand::Kind::kList;
  for (const Graph::Value* v : a.values) o.list.push_back(operandOf(v));
  return o;
}

/// The last mention of a slot in the step that reads it last moves the tensor out.
void StepBuilder::markLast(const Graph::Node& node, size_t position, Step& step) const {
  std::vector<uint32_t> seen;
  const auto mark = [&](Operand& o, const Graph::Value* v) {
    if (v == nullptr || o.source.kind != Source::Kind::kSlot || at_.last(v) != position) return;
    if (&o == gradientOf(step) && isHeld(node)) {
      step.copies_dead = true;
      return;
    }
    o.last = std::ranges::find(seen, o.source.index) == seen.end();
    seen.push_back(o.source.index);
  };
  for (size_t i = node.arguments.size(); i-- > 0;) {
    const std::vector<Graph::Value*>& values = node.arguments[i].values;
    Operand& o = step.operands[i];
    if (o.kind == Operand::Kind::kTensor) mark(o, values[0]);
    for (size_t j = o.list.size(); j-- > 0;) mark(o.list[j], values[j]);
  }
}

void StepBuilder::passAutogradBy(const Graph::Node& node, Step& step) {
  Graph::Modes modes = node.modes;
  step.passed_by = at_.autogradPassedBy(node);
  if (step.passed_by.slot >= 0) modes.excluded |= kAutogradKeys.functionalities().raw();
  const auto known = std::ranges::find_if(modes_, [&](const auto& m) { return *m == modes; });
  step.modes = known != modes_.end() ? known->get() : modes_.emplace_back(std::make_unique<Graph::Modes>(modes)).get();
}

void StepBuilder::addProduct(const Graph::Node& node, const ProductNode& product, size_t position, Step& step) const {
  const auto matrix = [&](size_t i) { return at_.placeOf(node.arguments[product.first_matrix + i].value()); };
  prepare(step, std::make_shared<const PreparedProduct>(product, matrix(0), matrix(1),
                                                        at_.placeOf(node.arguments[0].value())));
  for (const Graph::Argument& a : node.arguments) {
    if (a.value() == nullptr) continue;
    const Graph::Value* v = at_.tensorOf(at_.behind(a.value()));
    const Source source = at_.sourceOf(v);
    const bool is_operand = std::ranges::any_of(
        step.operands, [&](const Operand& o) { return o.kind == Operand::Kind::kTensor && o.source == source; });
    if (source.kind == Source::Kind::kSlot && at_.last(v) == position && !is_operand) step.dead.push_back(source.index);
  }
}

void StepBuilder::addHostStep(const Graph::Node& node, Step& step) const {
  std::vector<PreparedStep::Place> inputs;
  const HostFunction& function = hostFunctionOf(node);
  const std::vector<Graph::Value*>&read = node.arguments[1].values, &written = node.arguments[2].values;
  for (size_t i = 0; i < function.inputSpecs().size(); ++i) {
    const size_t place = function.placeOf(i);
    inputs.push_back(at_.placeOf(place < read.size() ? read[place] : written[place - read.size()]));
  }
  std::vector<PreparedHostStep::Result> results;
  for (const Graph::Value* v : node.outputs[0].values) {
    PreparedHostStep::Result result{.slot = at_.slotOf(v), .into = at_.intoOf(v)};
    if (at_.isBuffer(v)) result.buffer = at_.placeOf(v).source.index;
    results.push_back(result);
  }
  prepareHostStep(step, std::move(inputs), std::move(results));
}

/// Small operators of which prepared ones are known, where the step stands for one.
void StepBuilder::addPrepared(const Graph::Node& node, Step& step) const {
  const bool is_known = isReduction(node) || isRowOperator(node) || isFill(node) || isLoss(node) || isNorm(node);
  if (!is_known || step.passed_by.slot < 0 || step.result < 0) return;
  const auto placeOfArgument = [&](size_t i) {
    const Graph::Value* v = node.arguments[i].value();
    return v != nullptr ? at_.placeOf(v) : PreparedStep::Place();
  };
  std::shared_ptr<const PreparedStep> prepared;
  if (isReduction(node)) prepared = reductionOf(node, placeOfArgument(0), node.result()->spec);
  if (isRowOperator(node)) prepared = rowsOf(node, placeOfArgument(0), placeOfArgument(1));
  if (isLoss(node)) prepared = lossOf(node, placeOfArgument);
  if (isNorm(node)) prepared = normOf(node, placeOfArgument);
  // What a function of operators calls is compared by the caller alone.
  if (isFill(node) && at_.options().guarded) prepared = fillOf(node, placeOfArgument(0));
  if (prepared != nullptr) prepare(step, std::move(prepared));
}

/// Lets the step before do the view as well, where that makes the tensor behind and nobody else reads this one: no
/// other step is between the two.
void StepBuilder::joinWithMaker(const Graph::Node& view, const Step& step) {
  if (steps_.empty() || !howViewed(step) || !step.operands[0].last || step.result < 0) return;
  Step& maker = steps_.back();
  const Graph::Value* from = view.arguments[0].value();
  const Graph::Spec& shown = view.result()->spec;
  if (from->node != maker.node || maker.prepared == nullptr || !isReduction(*maker.node) || !liesAsNew(shown) ||
      numelOf(shown) != numelOf(from->spec) || at_.isLate(view))
    return;
  auto prepared = reductionOf(*maker.node, at_.placeOf(maker.node->arguments[0].value()), shown);
  if (prepared == nullptr) return;
  maker.prepared = std::move(prepared);
  maker.view = step.result;
}

}  // namespace shunt::compiled
