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

}  // namespace

RowStagesBuilder::RowStagesBuilder(const Group& group, int64_t native_after)
    : group_(group), native_after_(native_after) {
  const RowNode& rows = *group.rows;
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

void RowStagesBuilder::addBuffers() {
  const RowNode& rows = *group_.rows;
  int64_t widest = elementSize(detail::signature::dtypeOf(rows.in.signature));
  for (const PointwiseNode* p : group_.region) {
    if (hasOperand(p->result, Fit::kFull) || (p->result != rows.in.value && !reads(group_.after, p->result))) continue;
    newBuffer(p->result);
    widest = std::max(widest, elementSize(p->dtype));
  }
  const uint16_t in = placeOf(rows.in.value, Fit::kFull);
  const bool in_place = in >= out_->outer.size() && !reads(group_.after, rows.in.value);
  if (hasOperand(rows.result, Fit::kFull))
    out_->out = placeOf(rows.result, Fit::kFull);
  else
    out_->out = in_place ? places_[{rows.result, Fit::kFull}] = in : newBuffer(rows.result);
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
  addBuffers();
  const RowNode& rows = *group_.rows;
  if (rows.weight) out_->weight = placeOf(rows.weight->value, Fit::kRow);
  if (rows.bias) out_->bias = placeOf(rows.bias->value, Fit::kRow);
  out_->before = stageOf(group_.region);
  out_->after = stageOf(group_.after);
  return std::move(out_);
}

}  // namespace shunt::compiled
