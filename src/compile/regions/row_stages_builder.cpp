#include "src/compile/regions/row_stages_builder.h"

#include "src/compile/regions/loop_builder.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

bool reads(const std::vector<const PointwiseNode*>& nodes, const Graph::Value* v) {
  return std::ranges::any_of(nodes, [&](const PointwiseNode* p) {
    return std::ranges::find(p->inputs, v, &PointwiseNode::Input::value) != p->inputs.end();
  });
}

/// Whether all the loop's scalars, as alpha, are one. Of float and double.
bool scalarsAreOne(const PointwiseNode& p) {
  return std::all_of(p.scalars, p.scalars + p.num_scalars, [&](const elementwise::ScalarSlot& slot) {
    return p.common == kFloat ? elementwise::loadRaw<float>(slot.bytes) == 1
                              : elementwise::loadRaw<double>(slot.bytes) == 1;
  });
}

}  // namespace

RowStagesBuilder::RowStagesBuilder(const Group& group, int64_t native_after)
    : group_(group), native_after_(native_after), after_(group.after), result_(group.rows->result) {
  const RowNode& rows = *group.rows;
  if (rows.weight) weight_ = &*rows.weight;
  if (rows.bias) bias_ = &*rows.bias;
  out_->run_rows = rows.run;
  out_->rows = rows.rows;
  out_->n = rows.n;
  out_->eps = rows.eps;
}

void RowStagesBuilder::addOperand(const Graph::Value* v, Fit fit, ScalarType dtype) {
  const int64_t size = elementSize(dtype);
  places_[{v, fit}] = static_cast<uint16_t>(out_->outer.size());
  out_->outer.push_back(fit == Fit::kFull ? size * out_->n : fit == Fit::kColumn ? size : 0);
}

uint16_t RowStagesBuilder::newBuffer(const Graph::Value* v) {
  return places_[{v, Fit::kFull}] = static_cast<uint16_t>(out_->outer.size() + out_->buffers++);
}

/// The row with which the node continues what the rows give so far, by `loop`; null: it does something else. Rows in a
/// group are all of n elements (withRows), and never cast (PointwiseNode).
const PointwiseNode::Input* RowStagesBuilder::parameterOf(const PointwiseNode& p, elementwise::LoopFn loop) const {
  if (p.run != loop || p.inputs[0].value != result_ || !scalarsAreOne(p)) return nullptr;
  const PointwiseNode::Input& row = p.inputs[1];
  return row.value != nullptr && row.fit == Fit::kRow ? &row : nullptr;
}

void RowStagesBuilder::fold(elementwise::LoopFn loop, const PointwiseNode::Input*& parameter) {
  if (loop == nullptr || parameter != nullptr || hasOperand(result_, Fit::kFull)) return;
  const auto readsIt = [&](const PointwiseNode* p) { return reads({p}, result_); };
  const auto reader = std::ranges::find_if(after_, readsIt);
  if (reader == after_.end() || std::any_of(reader + 1, after_.end(), readsIt)) return;
  parameter = parameterOf(**reader, loop);
  if (parameter == nullptr) return;
  result_ = (*reader)->result;
  after_.erase(reader);
  ++out_->folded;
}

/// A bias is added last, so a weight isn't folded behind one.
void RowStagesBuilder::foldParameters() {
  if (group_.rows->op != elementwise::RowOperator::kLayerNorm) return;
  const auto loops = elementwise::parameterLoops(detail::signature::dtypeOf(group_.rows->in.signature));
  if (bias_ == nullptr) fold(loops.weight, weight_);
  fold(loops.bias, bias_);
}

void RowStagesBuilder::addBuffers() {
  const RowNode& rows = *group_.rows;
  int64_t widest = elementSize(detail::signature::dtypeOf(rows.in.signature));
  for (const PointwiseNode* p : group_.region) {
    if (hasOperand(p->result, Fit::kFull) || (p->result != rows.in.value && !reads(after_, p->result))) continue;
    newBuffer(p->result);
    widest = std::max(widest, elementSize(p->dtype));
  }
  const uint16_t in = placeOf(rows.in.value, Fit::kFull);
  const bool in_place = in >= out_->outer.size() && !reads(after_, rows.in.value);
  if (hasOperand(result_, Fit::kFull))
    out_->out = placeOf(result_, Fit::kFull);
  else
    out_->out = in_place ? places_[{result_, Fit::kFull}] = in : newBuffer(result_);
  out_->in = in;
  out_->chooseBlock(widest);
}

std::unique_ptr<RowStages::Stage> RowStagesBuilder::stageOf(const Nodes& nodes) const {
  if (nodes.empty()) return nullptr;
  auto stage = std::make_unique<RowStages::Stage>();
  LoopBuilder loop(nodes, stage->loop, out_->n);
  const auto add = [&](const Graph::Value* v, Fit fit, ScalarType dtype) {
    loop.addOperand(v, fit, dtype);
    stage->places.push_back(placeOf(v, fit));
  };
  const auto isMade = [&](const Graph::Value* v) {
    return std::ranges::find(nodes, v, &PointwiseNode::result) != nodes.end();
  };
  for (const PointwiseNode* p : nodes)
    for (const PointwiseNode::Input& in : p->inputs)
      if (in.value != nullptr && !isMade(in.value) && !loop.hasOperand(in.value, in.fit))
        add(in.value, in.fit, detail::signature::dtypeOf(in.signature));
  for (const PointwiseNode* p : nodes)
    if (hasOperand(p->result, Fit::kFull)) add(p->result, Fit::kFull, p->dtype);
  loop.finish();
  stage->native = std::make_unique<const NativeLoop>(stage->loop, native_after_);
  return stage;
}

std::unique_ptr<const RowStages> RowStagesBuilder::finish() {
  foldParameters();
  addBuffers();
  if (weight_ != nullptr) out_->weight = placeOf(weight_->value, Fit::kRow);
  if (bias_ != nullptr) out_->bias = placeOf(bias_->value, Fit::kRow);
  out_->before = stageOf(group_.region);
  out_->after = stageOf(after_);
  if (out_->before == nullptr && out_->after == nullptr && out_->buffers == 0) out_->rows_at_once = out_->rows;
  return std::move(out_);
}

}  // namespace shunt::compiled
