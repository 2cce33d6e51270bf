#include "src/compile/program/buffers.h"

#include "src/compile/passes/host_node.h"
#include "src/compile/program/program.h"
#include "src/compile/steps/view_step.h"
#include "src/trace/values_of.h"

#include <algorithm>

namespace shunt::compiled {
namespace {

using trace_detail::forArguments;
using trace_detail::forResults;

// Blocks that lie a multiple of 4096 bytes apart look alike to the CPU's store forwarding.
constexpr size_t kLarge = 2048, kApart = 2 * kBufferAlignment;

size_t bytesOf(const Graph::Value* v) {
  const size_t bytes = static_cast<size_t>(numelOf(v->spec)) * elementSize(v->spec.dtype);
  const size_t room = (std::max<size_t>(bytes, 1) + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  return room >= kLarge ? room + kApart : room;
}

/// Values that share a place, one after the other, and the positions from which and until which they do.
struct Block {
  std::vector<const Graph::Value*> values = {};
  size_t begin = 0, end = 0, bytes = 0, offset = 0;
  bool isAliveWith(const Block& other) const { return begin < other.end && other.begin < end; }
};

class Planner {
 public:
  Planner(const Aliases& aliases, const Placement& placement, const Program& draft)
      : aliases_(aliases), at_(placement), draft_(draft) {
    for (const Region& r : draft.regions)
      for (size_t i = 0; i < r.steps; ++i) region_of_[r.first_step + i] = &r;
  }

  Buffers plan() {
    for (size_t i = 0; i < at_.order().size(); ++i) addCandidates(i);
    addTakes();
    while (dropRefused()) {
    }
    Buffers out;
    out.views = views_;
    out.grads = grads_;
    std::vector<Block> blocks = blocksOf();
    out.bytes = place(blocks);
    for (const Block& b : blocks)
      for (const Graph::Value* v : b.values) out.at[v] = static_cast<uint32_t>(b.offset / kBufferAlignment);
    return out;
  }

 private:
  const Region* regionAt(size_t position) const {
    const auto found = region_of_.find(position);
    return found != region_of_.end() ? found->second : nullptr;
  }
  bool isPrepared(size_t position) const {
    return regionAt(position) == nullptr && draft_.steps[position].prepared != nullptr;
  }
  size_t begin(size_t position) const {
    const Region* region = regionAt(position);
    return region != nullptr ? region->first_step : position;
  }
  size_t end(size_t position) const {
    const Region* region = regionAt(position);
    return region != nullptr ? region->first_step + region->steps : position + 1;
  }

  void addCandidates(size_t i) {
    const Graph::Node& node = *at_.order()[i];
    forArguments(node, [&](const Graph::Value* v) { readers_[aliases_.tensorOf(v)].push_back(i); });
    if (at_.mayPassBy(node)) views_.insert(&node);
    if (readsLeaf(node)) grads_.insert(&node);
    if ((regionAt(i) == nullptr && !isPrepared(i)) || node.outputs.size() > PreparedStep::kMostResults) return;
    forResults(node, [&](const Graph::Value* v) {
      if (aliases_.tensorOf(v) == v && v->spec.device == kCPU && at_.isReadFrom(v, end(i)) &&
          at_.last(v) != Placement::kNever && (!isHostStep(node) || liesAsNew(v->spec)))
        values_.insert(v);
    });
  }

  /// Whether the node is a quick read of the grad of a given tensor.
  bool readsLeaf(const Graph::Node& node) const {
    if (!node.is("trace::grad") || draft_.steps[at_.position(node)].quick == nullptr) return false;
    const Source::Kind kind = at_.sourceOf(node.arguments[0].value()).kind;
    return kind == Source::Kind::kInput || kind == Source::Kind::kConstant;
  }
  /// Whether somebody else wants the tensor, or the leaf may have another grad before the last one has read it.
  bool isRefusedGrad(const Graph::Node& read) const {
    const Graph::Value* grad = read.result();
    if (at_.last(grad) == Placement::kNever || !readers_.contains(grad) || aliases_.tensorOf(grad) != grad) return true;
    const std::vector<size_t>& readers = readers_.at(grad);
    if (!std::ranges::all_of(readers, [&](size_t i) { return regionAt(i) != nullptr; })) return true;
    for (size_t i = at_.position(read) + 1; i < end(readers.back()); ++i)
      if (regionAt(i) == nullptr && !at_.order()[i]->is("trace::grad")) return true;
    return false;
  }
  /// Whether those who read the tensor take its elements where they are.
  bool areReadersContent(const Graph::Value* v, bool is_view) const {
    return std::ranges::all_of(readers_.at(v), [&](size_t i) {
      const Graph::Node& node = *at_.order()[i];
      if (const Region* region = regionAt(i)) return !is_view || isPlainIn(*region, v, node);
      return isPrepared(i) || views_.contains(&node);
    });
  }
  /// Whether the region only reads the view, and found it to be an ordinary tensor.
  bool isPlainIn(const Region& region, const Graph::Value* v, const Graph::Node& node) const {
    const Graph::Value* written = writtenInPlace(node);
    return (written == nullptr || aliases_.tensorOf(written) != v) &&
           std::ranges::all_of(region.inputs, [&](const Region::Input& in) {
             return in.source != at_.sourceOf(v) || in.keys == kPlainCpu.raw();
           });
  }
  bool isRefused(const Graph::Node& view) const {
    const Graph::Value* base = aliases_.tensorOf(view.arguments[0].value());
    const bool is_known =
        values_.contains(base) || at_.isGuarded(base) || (base->node != nullptr && views_.contains(base->node));
    return !is_known || !readers_.contains(view.result()) || !areReadersContent(view.result(), true);
  }
  /// Whether a new tensor would rather have the value's memory.
  bool isRefused(const Graph::Value* v) const {
    const auto taken = taken_by_.find(v);
    return !areReadersContent(v, false) || (taken != taken_by_.end() && !values_.contains(taken->second));
  }
  bool dropRefused() {
    return std::erase_if(grads_, [&](const Graph::Node* read) { return isRefusedGrad(*read); }) +
               std::erase_if(views_, [&](const Graph::Node* view) { return isRefused(*view); }) +
               std::erase_if(values_, [&](const Graph::Value* v) { return isRefused(v); }) !=
           0;
  }

  /// Which result of a region takes the memory of which tensor.
  void addTakes() {
    std::unordered_map<uint32_t, const Graph::Value*> in_slot;
    for (const Graph::Node* node : at_.order())
      forResults(*node, [&](const Graph::Value* v) {
        if (aliases_.tensorOf(v) == v && at_.slotOf(v) >= 0) in_slot[static_cast<uint32_t>(at_.slotOf(v))] = v;
      });
    for (const Region& r : draft_.regions)
      for (const Region::Output& o : r.outputs)
        if (o.takes >= 0)
          taken_by_[in_slot.at(r.inputs[static_cast<size_t>(o.takes)].source.index)] = in_slot.at(o.slot);
  }

  /// The position behind the last one that reads the memory.
  size_t endOf(const Graph::Value* v) const {
    size_t last = 0;
    for (const size_t i : readers_.at(v)) {
      const Graph::Node* node = at_.order()[i];
      last = std::max(last, views_.contains(node) ? endOf(node->result()) : end(i));
    }
    return last;
  }
  bool isViewed(const Graph::Value* v) const {
    return std::ranges::any_of(readers_.at(v), [&](size_t i) { return views_.contains(at_.order()[i]); });
  }

  std::vector<Block> blocksOf() const {
    std::unordered_map<const Graph::Value*, const Graph::Value*> taken;  // by who takes its memory
    for (const auto& [v, made] : taken_by_)
      if (values_.contains(v) && !isViewed(v)) taken[made] = v;
    std::unordered_map<const Graph::Value*, size_t> block_of;
    std::vector<Block> out;
    for (size_t i = 0; i < at_.order().size(); ++i)
      forResults(*at_.order()[i], [&](const Graph::Value* v) {
        if (!values_.contains(v)) return;
        const auto from = taken.find(v);
        const size_t at = from != taken.end() ? block_of.at(from->second) : out.size();
        if (at == out.size()) out.push_back({.begin = begin(i), .bytes = bytesOf(v)});
        block_of[v] = at;
        out[at].values.push_back(v);
        out[at].end = std::max(out[at].end, endOf(v));
      });
    return out;
  }
  /// The largest ones first, each as low as may be. Returns the bytes of all.
  static size_t place(std::vector<Block>& blocks) {
    std::vector<Block*> placed, left;
    for (Block& b : blocks) left.push_back(&b);
    // Of equal ones in the order of the run, whatever the library: their addresses are in this order.
    std::ranges::sort(left,
                      [](const Block* a, const Block* b) { return std::pair(b->bytes, a) < std::pair(a->bytes, b); });
    size_t bytes = 0;
    for (Block* b : left) {
      for (const Block* other : placed)  // by offset
        if (other->isAliveWith(*b) && other->offset < b->offset + b->bytes)
          b->offset = std::max(b->offset, other->offset + other->bytes);
      placed.insert(std::ranges::upper_bound(placed, b->offset, {}, &Block::offset), b);
      bytes = std::max(bytes, b->offset + b->bytes);
    }
    return bytes;
  }

  const Aliases& aliases_;
  const Placement& at_;
  const Program& draft_;
  std::unordered_map<size_t, const Region*> region_of_;                   // by position
  std::unordered_map<const Graph::Value*, std::vector<size_t>> readers_;  // by tensor: positions
  std::unordered_map<const Graph::Value*, const Graph::Value*> taken_by_;
  std::unordered_set<const Graph::Value*> values_;        // that may be buffers
  std::unordered_set<const Graph::Node*> views_, grads_;  // that may be passed by
};

}  // namespace

Buffers findBuffers(const Aliases& aliases, const Placement& placement, const Program& draft) {
  return Planner(aliases, placement, draft).plan();
}

}  // namespace shunt::compiled
