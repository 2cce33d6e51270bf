#include "src/compile/program/region_builder.h"

#include "src/compile/regions/loop_builder.h"
#include "src/compile/regions/row_stages_builder.h"

#include <algorithm>
#include <unordered_map>

namespace shunt::compiled {

/// The input whose tensor the result of node `made` may become: of its kind, dead after the region, and read by no node
/// that comes later. -1: none.
int RegionBuilder::takenBy(const std::vector<const PointwiseNode*>& nodes, size_t made, const Region& region) const {
  for (const PointwiseNode::Input& in : nodes[made]->inputs) {
    if (in.value == nullptr || in.fit != Fit::kFull || in.sizes != region.sizes || in.dtype != nodes[made]->dtype)
      continue;
    const auto isIt = [&](const Region::Input& i) { return i.source == at_.placeOf(in.value).source; };
    const auto at = std::ranges::find_if(region.inputs, isIt);
    if (at == region.inputs.end() || std::ranges::count_if(region.inputs, isIt) != 1) continue;
    const int index = static_cast<int>(at - region.inputs.begin());
    const bool is_last =
        at->source.kind == Source::Kind::kSlot && std::ranges::find(region.last, at->source.index) != region.last.end();
    const bool is_taken =
        std::ranges::find(region.outputs, index, &Region::Output::takes) != region.outputs.end() ||
        std::ranges::find(region.written, static_cast<size_t>(index), &Region::Written::input) != region.written.end();
    const bool read_later =
        std::any_of(nodes.begin() + static_cast<ptrdiff_t>(made) + 1, nodes.end(), [&](auto* later) {
          return std::ranges::find(later->inputs, in.value, &PointwiseNode::Input::value) != later->inputs.end();
        });
    if (is_last && !is_taken && !read_later) return index;
  }
  return -1;
}

Region RegionBuilder::pointwiseRegion(const std::vector<const PointwiseNode*>& nodes, size_t position) const {
  Region region = newRegion(nodes[0]->sizes, position, nodes.size());
  LoopBuilder loop(nodes, region.loop);
  const size_t end = position + nodes.size();
  const auto isMade = [&](const Graph::Value* v) {
    return std::ranges::any_of(nodes, [&](const PointwiseNode* p) { return !p->written && p->result == v; });
  };
  const int64_t numel = region.loop.rows * region.loop.columns;
  std::unordered_map<const Graph::Value*, size_t> at;  // of operands that may be written
  const auto add = [&](const PointwiseNode::Input& in) {
    if (in.value == nullptr || isMade(in.value) || loop.hasOperand(in.value, in.fit)) return;
    if (in.fit == Fit::kFull) at[in.value] = region.inputs.size();
    loop.addOperand(in.value, in.fit, detail::signature::dtypeOf(in.signature));
    addInput(in, numel, region);
  };
  for (const PointwiseNode* p : nodes) {
    for (const PointwiseNode::Input& in : p->inputs) add(in);
    if (!p->written) continue;
    add(*p->written);
    if (isMade(p->result)) continue;
    if (at_.isBuffer(p->result)) continue;  // its version is nobody's
    const auto known = std::ranges::find(region.written, at.at(p->result), &Region::Written::input);
    if (known != region.written.end())
      ++known->times;
    else
      region.written.push_back({at.at(p->result), 1});
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    const PointwiseNode* p = nodes[i];
    const Graph::Value* v = p->result;
    if (p->written || !at_.isReadFrom(v, end)) continue;
    loop.addOperand(v, Fit::kFull, p->dtype);
    const auto writes = std::ranges::count_if(nodes, [&](const auto* n) { return n->written && n->result == v; });
    if (at_.isBuffer(v))
      region.outputs.push_back(outputInBuffer(v, p->dtype));
    else
      region.outputs.push_back({.slot = at_.sourceOf(v).index,
                                .dtype = p->dtype,
                                .times_written = writes,
                                .takes = takenBy(nodes, i, region),
                                .into = at_.intoOf(v)});
    region.bytes += elementSize(p->dtype) * numel;
  }
  loop.finish();
  region.native = std::make_unique<const NativeLoop>(region.loop, at_.options().native_after);
  finish(region);
  return region;
}

/// The operator along rows and what is around it: the results of all three that somebody else reads are in memory.
Region RegionBuilder::rowRegion(const Group& group, size_t position) const {
  const RowNode& rows = *group.rows;
  Region region = newRegion(rows.in.sizes, position, stepsOf(group));
  RowStagesBuilder stages(group, at_.options().native_after);
  std::vector<std::pair<const Graph::Value*, ScalarType>> made;
  for (const PointwiseNode* p : group.region) made.emplace_back(p->result, p->dtype);
  made.emplace_back(rows.result, detail::signature::dtypeOf(rows.in.signature));
  for (const PointwiseNode* p : group.after) made.emplace_back(p->result, p->dtype);
  const int64_t numel = rows.rows * rows.n;
  const auto add = [&](const PointwiseNode::Input& in) {
    const bool is_made = std::ranges::any_of(made, [&](const auto& m) { return m.first == in.value; });
    if (in.value == nullptr || is_made || stages.hasOperand(in.value, in.fit)) return;
    stages.addOperand(in.value, in.fit, detail::signature::dtypeOf(in.signature));
    addInput(in, numel, region);
  };
  for (const PointwiseNode* p : group.region) std::ranges::for_each(p->inputs, add);
  add(rows.in);
  if (rows.weight) add(*rows.weight);
  if (rows.bias) add(*rows.bias);
  for (const PointwiseNode* p : group.after) std::ranges::for_each(p->inputs, add);
  for (const auto& [v, dtype] : made) {
    if (!at_.isReadFrom(v, position + region.steps)) continue;
    stages.addOperand(v, Fit::kFull, dtype);
    if (at_.isBuffer(v))
      region.outputs.push_back(outputInBuffer(v, dtype));
    else
      region.outputs.push_back(
          {.slot = at_.sourceOf(v).index, .dtype = dtype, .times_written = 0, .into = at_.intoOf(v)});
    region.bytes += elementSize(dtype) * numel;
  }
  region.rows = stages.finish();
  finish(region);
  return region;
}

Region RegionBuilder::newRegion(const std::vector<int64_t>& sizes, size_t position, size_t steps) const {
  Region region;
  region.first_step = position;
  region.steps = steps;
  region.sizes = sizes;
  region.strides.assign(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) region.strides[d - 1] = region.strides[d] * sizes[d];
  return region;
}

Region::Output RegionBuilder::outputInBuffer(const Graph::Value* v, ScalarType dtype) const {
  return {.slot = at_.sourceOf(v).index, .dtype = dtype, .times_written = 0, .buffer = at_.placeOf(v).source.index};
}

void RegionBuilder::addInput(const PointwiseNode::Input& in, int64_t numel, Region& region) const {
  const PreparedStep::Place place = at_.placeOf(in.value);
  const Source source = place.source;
  const bool is_shown = place.isBuffer() || at_.behind(in.value) != in.value;
  region.inputs.push_back({source, in.signature, in.keys, in.sizes, in.strides, place.spec == nullptr, is_shown});
  region.bytes += elementSize(detail::signature::dtypeOf(in.signature)) * (in.fit == Fit::kFull ? numel : 1);
  if (source.kind == Source::Kind::kSlot && at_.last(in.value) < region.first_step + region.steps &&
      std::ranges::find(region.last, source.index) == region.last.end())
    region.last.push_back(source.index);
}

void RegionBuilder::finish(Region& region) {
  region.unchecked = region.written.empty() && std::ranges::all_of(region.inputs, &Region::Input::guarded);
  region.plain = region.written.empty() && region.last.empty() &&
                 std::ranges::all_of(region.outputs, [](const Region::Output& o) { return o.times_written == 0; });
  for (size_t i = 0; i < region.inputs.size(); ++i)
    if (!region.inputs[i].guarded) region.compared.push_back(static_cast<uint16_t>(i));
  const auto isLike = [&](const Region::Input& in) { return !in.shown && in.sizes == region.sizes; };
  const auto full = std::ranges::find_if(region.inputs, isLike);
  if (full != region.inputs.end())
    region.like = static_cast<int>(full - region.inputs.begin());
  else
    region.shape = Tensor(detail::makeTensor(region.sizes, {}, kFloat, Device(kMeta)));
  region.in_buffers = std::ranges::any_of(region.inputs, &Region::Input::isBuffer) ||
                      std::ranges::any_of(region.outputs, [](const Region::Output& o) { return o.buffer >= 0; });
}

}  // namespace shunt::compiled
