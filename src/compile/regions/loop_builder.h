// LoopBuilder: makes the loop of a region from what its nodes were recorded to compute. A local value.
#pragma once

#include "src/compile/loops/block_loop.h"
#include "src/compile/regions/pointwise_node.h"

#include <unordered_map>
#include <vector>

namespace shunt::compiled {

/// Operands are added in the order in which their addresses will be given: first those that are read, each value once
/// for each fit, then those results that are to be in memory. The others get buffers, which are used again when dead.
class LoopBuilder {
 public:
  using Nodes = std::vector<const PointwiseNode*>;
  /// `columns`: of a row; 0: as the nodes' inputs need it.
  LoopBuilder(const Nodes& nodes, BlockLoop& loop, int64_t columns = 0);
  void addOperand(const Graph::Value* v, Fit fit, ScalarType dtype);
  bool hasOperand(const Graph::Value* v, Fit fit) const { return places_.contains({v, fit}); }
  void finish();

 private:
  struct Key {
    const Graph::Value* value;
    Fit fit;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& k) const { return std::hash<const void*>()(k.value) * 4 + static_cast<size_t>(k.fit); }
  };
  void addInstruction(const PointwiseNode& p, size_t position, size_t& number);
  void freeBuffer(const Graph::Value* v);
  uint16_t placeOfResult(const Graph::Value* v);
  uint16_t newBuffer();
  uint16_t addCast(const PointwiseNode::Input& in);

  const Nodes& nodes_;
  BlockLoop& loop_;
  std::unordered_map<Key, uint16_t, Hash> places_;
  std::unordered_map<const Graph::Value*, size_t> last_;  // by value: the node that reads it last
  std::unordered_map<const Graph::Value*, uint16_t> buffer_of_;
  std::vector<uint16_t> free_;
  size_t first_buffer_ = 0;
};

}  // namespace shunt::compiled
