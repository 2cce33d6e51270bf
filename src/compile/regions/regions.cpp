#include "src/compile/regions/regions.h"

#include "src/compile/loops/block_loop.h"
#include "src/compile/passes/aliases.h"
#include "src/compile/passes/host_node.h"
#include "src/trace/writes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace shunt::compiled {
namespace {

struct Open {
  std::vector<const PointwiseNode*> nodes;
  std::vector<const Graph::Value*> results;  // tensors that it makes
  std::vector<std::pair<const Graph::Value*, Fit>> inputs;
  std::vector<const Graph::Value*> written;  // tensors of others that it writes
  size_t places = 0;                         // numbers, results and inputs
  int64_t columns = 0;                       // as in PointwiseNode

  bool gives(const Graph::Value* v) const { return std::ranges::find(results, v) != results.end(); }
};

class Ordering {
 public:
  Ordering(const Graph& graph, const Aliases& aliases, std::span<const PointwiseNode> pointwise, bool grads_apart)
      : graph_(graph), aliases_(aliases), grads_apart_(grads_apart) {
    for (const PointwiseNode& p : pointwise) known_[p.node] = &p;
  }

  std::vector<Group> take() {
    for (const Graph::Node* node : withLateGrads()) {
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
  /// The nodes, those that add to grads as late as may be.
  std::vector<const Graph::Node*> withLateGrads() const {
    std::vector<const Graph::Node*> out, late;
    std::unordered_set<size_t> grads, written;  // groups that are grads by now; those that the late ones may write
    const auto flush = [&] {
      out.insert(out.end(), late.begin(), late.end());
      late.clear();
    };
    for (const Graph::Node* node : graph_.nodes()) {
      const bool adds = grads_apart_ && node->is("trace::accumulate_grad_");
      if (!adds && !late.empty() && !goesBefore(*node, written)) flush();
      if (adds) written = grads;
      (adds ? late : out).push_back(node);
      if (!isOfDictionary(*node)) addGroups(*node, grads);
    }
    flush();
    return out;
  }
  bool goesBefore(const Graph::Node& node, const std::unordered_set<size_t>& written) const {
    const auto found = known_.find(&node);
    return found != known_.end() && !found->second->written &&
           std::ranges::none_of(found->second->inputs, [&](const PointwiseNode::Input& in) {
             return in.value != nullptr && written.contains(aliases_.of(in.value));
           });
  }
  void addGroups(const Graph::Node& node, std::unordered_set<size_t>& groups) const {
    // Of a leaf itself, which comes first, an operator of trace reads or writes the grad alone.
    for (size_t i = node.op.op().name().starts_with("trace::") ? 1 : 0; i < node.arguments.size(); ++i)
      for (const Graph::Value* v : node.arguments[i].values)
        if (v != nullptr) groups.insert(aliases_.of(v));
    for (const Graph::Output& o : node.outputs)
      for (const Graph::Value* v : o.values)
        if (v != nullptr) groups.insert(aliases_.of(v));
  }

  /// What a pointwise node touches: its inputs, and what it writes in place.
  static std::vector<PointwiseNode::Input> touchedBy(const PointwiseNode& p) {
    std::vector<PointwiseNode::Input> out = p.inputs;
    if (p.written) out.push_back(*p.written);
    return out;
  }
  bool sameMemory(const Graph::Value* a, const Graph::Value* b) const { return aliases_.of(a) == aliases_.of(b); }

  bool uses(const Graph::Node& node, const Open& region) const {
    return std::ranges::any_of(node.arguments, [&](const Graph::Argument& a) {
      return std::ranges::any_of(a.values, [&](const Graph::Value* v) {
        return v != nullptr && (region.gives(aliases_.tensorOf(v)) ||
                                std::ranges::any_of(region.written, [&](auto* w) { return sameMemory(v, w); }));
      });
    });
  }
  bool touches(const Open& region, const Graph::Value* v) const {
    return std::ranges::any_of(region.inputs, [&](const auto& in) { return sameMemory(in.first, v); }) ||
           std::ranges::any_of(region.results, [&](const auto* r) { return sameMemory(r, v); });
  }

  template <class P>
  void closeIf(P&& ends) {
    for (Open& region : open_)
      if (ends(region)) out_.push_back({.region = std::move(region.nodes)});
    std::erase_if(open_, [](const Open& region) { return region.nodes.empty(); });
  }

  void addOther(const Graph::Node& node) {
    const bool stays = !isPureHostStep(node) &&
                       (trace_detail::writesAny(node) || drawsRandomNumbers(node.op) || !isOfDictionary(node));
    closeIf([&](const Open& region) { return stays || !region.written.empty() || uses(node, region); });
    out_.push_back({.single = &node});
  }

  static bool isNew(const Open& region, const PointwiseNode::Input& in) {
    return in.value == nullptr ||
           (!region.gives(in.value) &&
            std::ranges::find(region.inputs, std::pair(in.value, in.fit)) == region.inputs.end());
  }
  static size_t newPlaces(const Open& region, const PointwiseNode& p) {
    const auto touched = touchedBy(p);
    return p.places() +
           static_cast<size_t>(std::ranges::count_if(touched, [&](const auto& in) { return isNew(region, in); }));
  }

  /// Whether `in` and what the region has of the same memory are the same elements at the same places.
  bool isOneTensor(const Open& region, const PointwiseNode::Input& in) const {
    return std::ranges::all_of(region.inputs,
                               [&](const auto& other) {
                                 return !sameMemory(other.first, in.value) ||
                                        (other.first == in.value && other.second == Fit::kFull);
                               }) &&
           std::ranges::all_of(region.results,
                               [&](const auto* r) { return !sameMemory(r, in.value) || r == in.value; });
  }

  bool takes(const Open& region, const PointwiseNode& p) const {
    const PointwiseNode& first = *region.nodes.front();
    if (first.sizes != p.sizes || region.places + newPlaces(region, p) > BlockLoop::kMaxPlaces) return false;
    if (region.columns != 0 && p.columns != 0 && region.columns != p.columns) return false;
    return std::ranges::all_of(touchedBy(p), [&](const PointwiseNode::Input& in) {
      if (in.value == nullptr) return true;
      // What the region gives or writes can be read in it as it is computed only.
      const bool written = (p.written && sameMemory(p.result, in.value)) ||
                           std::ranges::any_of(region.written, [&](auto* w) { return sameMemory(w, in.value); });
      if ((written || region.gives(in.value)) && in.fit != Fit::kFull) return false;
      return !written || isOneTensor(region, in);
    });
  }

  void addPointwise(const PointwiseNode& p) {
    const auto found = std::ranges::find_if(open_, [&](const Open& region) { return takes(region, p); });
    const Open* const home = found != open_.end() ? &*found : nullptr;
    const auto ends = [&](const Open& region) {
      return &region != home && (uses(*p.node, region) || (p.written && touches(region, p.result)));
    };
    const size_t first = home != nullptr ? static_cast<size_t>(home - open_.data()) : open_.size();
    const auto before = std::count_if(open_.begin(), open_.begin() + static_cast<ptrdiff_t>(first), ends);
    closeIf(ends);
    add(p, home != nullptr ? open_[first - static_cast<size_t>(before)] : open_.emplace_back());
  }

  static void add(const PointwiseNode& p, Open& region) {
    region.places += newPlaces(region, p);
    for (const PointwiseNode::Input& in : touchedBy(p))
      if (in.value != nullptr && isNew(region, in)) region.inputs.emplace_back(in.value, in.fit);
    region.nodes.push_back(&p);
    if (!p.written)
      region.results.push_back(p.result);
    else if (!region.gives(p.result))
      region.written.push_back(p.result);
    if (p.columns != 0) region.columns = p.columns;
  }

  const Graph& graph_;
  const Aliases& aliases_;
  const bool grads_apart_;
  std::unordered_map<const Graph::Node*, const PointwiseNode*> known_;
  std::vector<Open> open_;
  std::vector<Group> out_;
};

}  // namespace

std::vector<Group> orderOf(const Graph& graph, const Aliases& aliases, std::span<const PointwiseNode> pointwise,
                           bool grads_apart) {
  if (!grads_apart) return Ordering(graph, aliases, pointwise, false).take();
  return Ordering(graph, Aliases(graph, true), pointwise, true).take();
}

}  // namespace shunt::compiled
