#include "src/compile/regions.h"

#include "src/compile/aliases.h"
#include "src/compile/block_loop.h"

#include <algorithm>
#include <unordered_map>

namespace shunt::compiled {
namespace {

struct Open {
  std::vector<const PointwiseNode*> nodes;
  std::vector<const Graph::Value*> results;
  size_t places = 0;    // numbers, results, and inputs, each as often as it lies otherwise
  int64_t columns = 0;  // as in PointwiseNode

  std::vector<std::pair<const Graph::Value*, Fit>> inputs;

  bool gives(const Graph::Value* v) const { return std::ranges::find(results, v) != results.end(); }
};

class Ordering {
 public:
  Ordering(const Graph& graph, std::span<const PointwiseNode> pointwise) : graph_(graph) {
    for (const PointwiseNode& p : pointwise) known_[p.node] = &p;
  }

  std::vector<Group> take() {
    for (const Graph::Node* node : graph_.nodes()) {
      const auto found = known_.find(node);
      if (found != known_.end())
        addPointwise(*found->second);
      else
        addOther(*node);
    }
    closeIf([](const Open&) { return true; });
    return std::move(out_);
  }

 private:
  static bool uses(const Graph::Node& node, const Open& region) {
    return std::ranges::any_of(node.arguments, [&](const Graph::Argument& a) {
      return std::ranges::any_of(a.values, [&](const Graph::Value* v) { return v != nullptr && region.gives(v); });
    });
  }

  template <class P>
  void closeIf(P&& ends) {
    for (Open& region : open_)
      if (ends(region)) out_.push_back({std::move(region.nodes), nullptr});
    std::erase_if(open_, [](const Open& region) { return region.nodes.empty(); });
  }

  void addOther(const Graph::Node& node) {
    const bool stays = node.op.schema().is_mutable() || drawsRandomNumbers(node.op) || !isOfDictionary(node);
    closeIf([&](const Open& region) { return stays || uses(node, region); });
    out_.push_back({{}, &node});
  }

  static bool isNew(const Open& region, const PointwiseNode::Input& in) {
    return in.value == nullptr ||
           (!region.gives(in.value) && std::ranges::find(region.inputs, std::pair(in.value, in.fit)) == region.inputs.end());
  }
  static size_t newPlaces(const Open& region, const PointwiseNode& p) {
    return 1 + static_cast<size_t>(std::ranges::count_if(p.inputs, [&](const auto& in) { return isNew(region, in); }));
  }

  static bool takes(const Open& region, const PointwiseNode& p) {
    const PointwiseNode& first = *region.nodes.front();
    if (first.sizes != p.sizes || region.places + newPlaces(region, p) > BlockLoop::kMaxPlaces) return false;
    if (region.columns != 0 && p.columns != 0 && region.columns != p.columns) return false;
    // What it gives can be read in the region as it is computed only.
    return std::ranges::all_of(p.inputs, [&](const PointwiseNode::Input& in) {
      return in.value == nullptr || in.fit == Fit::kFull || !region.gives(in.value);
    });
  }

  void addPointwise(const PointwiseNode& p) {
    const auto found = std::ranges::find_if(open_, [&](const Open& region) { return takes(region, p); });
    const Open* const home = found != open_.end() ? &*found : nullptr;
    const auto ends = [&](const Open& region) { return &region != home && uses(*p.node, region); };
    const size_t first = home != nullptr ? static_cast<size_t>(home - open_.data()) : open_.size();
    const auto before = std::count_if(open_.begin(), open_.begin() + static_cast<ptrdiff_t>(first), ends);
    closeIf(ends);
    Open& region = home != nullptr ? open_[first - static_cast<size_t>(before)] : open_.emplace_back();
    region.places += newPlaces(region, p);
    for (const PointwiseNode::Input& in : p.inputs)
      if (in.value != nullptr && isNew(region, in)) region.inputs.emplace_back(in.value, in.fit);
    region.nodes.push_back(&p);
    region.results.push_back(p.node->result());
    if (p.columns != 0) region.columns = p.columns;
  }

  const Graph& graph_;
  std::unordered_map<const Graph::Node*, const PointwiseNode*> known_;
  std::vector<Open> open_;
  std::vector<Group> out_;
};

}  // namespace

std::vector<Group> orderOf(const Graph& graph, std::span<const PointwiseNode> pointwise) {
  return Ordering(graph, pointwise).take();
}

}  // namespace shunt::compiled
