// Joining regions with nodes along rows: withRows (regions.h).
#include "src/compile/loops/block_loop.h"
#include "src/compile/loops/row_stages.h"
#include "src/compile/regions/regions.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

// Loops over shorter rows cost more than what stays in the cache saves.
constexpr int64_t kShortestRow = 64;

using Nodes = std::vector<const PointwiseNode*>;

bool gives(const Nodes& nodes, const Graph::Value* v) {
  return std::ranges::find(nodes, v, &PointwiseNode::result) != nodes.end();
}

/// Whether a region is of the node's rows and writes nothing but new tensors.
bool isOfRows(const Group& g, const RowNode& rows) {
  return !g.region.empty() && g.rows == nullptr && std::ranges::all_of(g.region, [&](const PointwiseNode* p) {
    return !p->written && p->sizes == rows.in.sizes && (p->columns == 0 || p->columns == rows.n);
  });
}

bool mayGoBefore(const Group& g, const RowNode& rows) {
  const auto isMade = [&](const auto& parameter) { return parameter && gives(g.region, parameter->value); };
  return isOfRows(g, rows) && gives(g.region, rows.in.value) && !isMade(rows.weight) && !isMade(rows.bias);
}

bool mayGoAfter(const Group& g, const Nodes& before, const RowNode& rows) {
  bool reads = false;
  const auto fits = [&](const PointwiseNode::Input& in) {
    const bool of_rows = in.value == rows.result;
    reads = reads || of_rows;
    return in.value == nullptr || !(of_rows || gives(before, in.value)) || in.fit == Fit::kFull;
  };
  return isOfRows(g, rows) &&
         std::ranges::all_of(g.region, [&](auto* p) { return std::ranges::all_of(p->inputs, fits); }) && reads;
}

size_t placesOf(const Nodes& nodes) {
  size_t n = 0;
  for (const PointwiseNode* p : nodes) n += p->places() + p->inputs.size();
  return n;
}

/// At most: for each result of the first region that is read behind it, and the node's.
size_t mostBuffers(const Group& g) {
  const auto isRead = [&](const PointwiseNode* made) {
    return made->result == g.rows->in.value || std::ranges::any_of(g.after, [&](const PointwiseNode* p) {
             return std::ranges::find(p->inputs, made->result, &PointwiseNode::Input::value) != p->inputs.end();
           });
  };
  return 1 + static_cast<size_t>(std::ranges::count_if(g.region, isRead));
}

}  // namespace

std::vector<Group> withRows(std::vector<Group> groups, std::span<const RowNode> rows) {
  std::vector<Group> out;
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto found = std::ranges::find(rows, groups[i].single, &RowNode::node);
    if (groups[i].single == nullptr || found == rows.end() || found->n < kShortestRow) {
      out.push_back(std::move(groups[i]));
      continue;
    }
    Group joined{.single = groups[i].single, .rows = &*found};
    if (!out.empty() && mayGoBefore(out.back(), *found)) joined.region = out.back().region;
    if (i + 1 < groups.size() && mayGoAfter(groups[i + 1], joined.region, *found)) joined.after = groups[i + 1].region;
    if (!RowStages::fits(found->n, mostBuffers(joined)) || (joined.region.empty() && joined.after.empty()) ||
        placesOf(joined.region) + placesOf(joined.after) + 4 > BlockLoop::kMaxPlaces) {
      out.push_back(std::move(groups[i]));
      continue;
    }
    if (!joined.region.empty()) out.pop_back();
    if (!joined.after.empty()) ++i;
    out.push_back(std::move(joined));
  }
  return out;
}

}  // namespace shunt::compiled
