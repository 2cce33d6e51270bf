#include "src/compile/regions/loop_builder.h"

#include <algorithm>

namespace shunt::compiled {

LoopBuilder::LoopBuilder(const Nodes& nodes, BlockLoop& loop, int64_t columns) : nodes_(nodes), loop_(loop) {
  int64_t numel = 1;
  for (const int64_t n : nodes[0]->sizes) numel *= n;
  for (const PointwiseNode* p : nodes) columns = std::max(columns, p->columns);
  loop.columns = columns != 0 ? columns : numel;
  loop.rows = numel / loop.columns;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const PointwiseNode::Input& in : nodes[i]->inputs)
      if (in.value != nullptr) last_[in.value] = i;
  for (size_t i = 0; i < nodes.size(); ++i)  // written in place, by the last one
    if (nodes[i]->written) last_[nodes[i]->result] = std::max(last_[nodes[i]->result], i);
}

void LoopBuilder::addOperand(const Graph::Value* v, Fit fit, ScalarType dtype) {
  const int64_t size = elementSize(dtype), row = size * loop_.columns;
  BlockLoop::Place place;
  place.dtype = dtype;
  place.inner = fit == Fit::kFull || fit == Fit::kRow ? size : 0;
  place.outer = fit == Fit::kFull ? row : fit == Fit::kColumn ? size : 0;
  places_[{v, fit}] = static_cast<uint16_t>(loop_.operands.size());
  loop_.operands.push_back(place);
}

void LoopBuilder::finish() {
  for (const PointwiseNode* p : nodes_)
    for (const PointwiseNode::Input& in : p->inputs)
      if (in.value == nullptr) loop_.numbers.push_back({in.number, in.dtype});
  first_buffer_ = loop_.operands.size() + loop_.numbers.size();
  int64_t widest = 1;
  size_t number = loop_.operands.size();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    addInstruction(*nodes_[i], i, number);
    widest = std::max(widest, elementSize(nodes_[i]->dtype));
    for (const PointwiseNode::Input& in : nodes_[i]->inputs)
      if (in.isCast()) widest = std::max(widest, elementSize(in.loop_dtype));
  }
  loop_.chooseBlock(widest);
}

/// The input as its loop takes it, in a buffer of its own. The caller frees that.
uint16_t LoopBuilder::addCast(const PointwiseNode::Input& in) {
  BlockLoop::Instruction made;
  made.cast = in.cast.run;
  made.generic = in.cast.generic;
  made.common = made.result = in.loop_dtype;
  made.num_inputs = 1;
  made.in[0] = places_.at({in.value, in.fit});
  made.in_row[0] = elementSize(in.dtype) * loop_.columns;
  made.out = newBuffer();
  made.out_row = elementSize(in.loop_dtype) * loop_.columns;
  made.scalars = static_cast<uint32_t>(loop_.scalars.size());
  loop_.scalars.insert(loop_.scalars.end(), elementwise::kMaxScalars, {});
  loop_.instructions.push_back(made);
  return made.out;
}

void LoopBuilder::addInstruction(const PointwiseNode& p, size_t position, size_t& number) {
  BlockLoop::Instruction made;
  made.run = p.run;
  made.cast = p.cast;
  made.generic = p.generic;
  made.common = p.common;
  made.result = p.dtype;
  made.num_inputs = static_cast<int>(p.inputs.size());
  made.out_row = elementSize(p.dtype) * loop_.columns;
  made.scalars = static_cast<uint32_t>(loop_.scalars.size());
  loop_.scalars.insert(loop_.scalars.end(), p.scalars, p.scalars + elementwise::kMaxScalars);
  std::vector<uint16_t> casts;
  for (size_t k = 0; k < p.inputs.size(); ++k) {
    const PointwiseNode::Input& in = p.inputs[k];
    if (in.isCast()) {
      casts.push_back(made.in[k] = addCast(in));
      made.in_row[k] = elementSize(in.loop_dtype) * loop_.columns;
      continue;
    }
    made.in[k] = in.value == nullptr ? static_cast<uint16_t>(number++) : places_.at({in.value, in.fit});
    if (in.value == nullptr || in.fit == Fit::kOne || in.fit == Fit::kColumn) made.repeated |= 1u << k;
    if (in.value == nullptr) continue;
    const int64_t size = elementSize(detail::signature::dtypeOf(in.signature));
    made.by_rows = made.by_rows || in.fit == Fit::kRow || in.fit == Fit::kColumn;
    made.in_row[k] = in.fit == Fit::kFull ? size * loop_.columns : in.fit == Fit::kColumn ? size : 0;
  }
  // An output may lie where an input of its element size lay, no other one: element i is read before it is written.
  const auto freeLast = [&](bool of_its_size) {
    for (const PointwiseNode::Input& in : p.inputs) {
      const bool same = elementSize(detail::signature::dtypeOf(in.signature)) == elementSize(p.dtype);
      if (in.value != nullptr && last_.at(in.value) == position && same == of_its_size) freeBuffer(in.value);
    }
  };
  if (!p.written) freeLast(true);
  made.out = placeOfResult(p.result);
  if (p.written) freeLast(true);
  freeLast(false);
  free_.insert(free_.end(), casts.begin(), casts.end());
  loop_.instructions.push_back(made);
}

void LoopBuilder::freeBuffer(const Graph::Value* v) {
  const auto held = buffer_of_.find(v);
  if (held == buffer_of_.end()) return;
  free_.push_back(held->second);
  buffer_of_.erase(held);
}

uint16_t LoopBuilder::newBuffer() {
  if (free_.empty()) free_.push_back(static_cast<uint16_t>(first_buffer_ + loop_.buffers++));
  const uint16_t place = free_.back();
  free_.pop_back();
  return place;
}

uint16_t LoopBuilder::placeOfResult(const Graph::Value* v) {
  if (const auto found = places_.find({v, Fit::kFull}); found != places_.end()) return found->second;
  const uint16_t place = newBuffer();
  places_[{v, Fit::kFull}] = place;
  buffer_of_[v] = place;
  return place;
}

}  // namespace shunt::compiled
