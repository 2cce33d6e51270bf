// RowStagesBuilder: makes the loops of a group with a node along rows. A local value.
#pragma once

#include "src/compile/loops/row_stages.h"
#include "src/compile/regions/regions.h"

#include <map>
#include <memory>
#include <utility>

namespace shunt::compiled {

/// Operands are added in the order in which their addresses will be given: first those that are read, each value once
/// for each fit, then those results that are to be in memory. What else lies between the loops gets buffers.
class RowStagesBuilder {
 public:
  RowStagesBuilder(const Group& group, int64_t native_after);
  void addOperand(const Graph::Value* v, Fit fit, ScalarType dtype);
  bool hasOperand(const Graph::Value* v, Fit fit) const { return places_.contains({v, fit}); }
  std::unique_ptr<const RowStages> finish();

 private:
  using Nodes = std::vector<const PointwiseNode*>;
  uint16_t placeOf(const Graph::Value* v, Fit fit) const { return places_.at({v, fit}); }
  uint16_t newBuffer(const Graph::Value* v);
  void addBuffers();
  std::unique_ptr<RowStages::Stage> stageOf(const Nodes& nodes) const;

  const Group& group_;
  const int64_t native_after_;
  std::map<std::pair<const Graph::Value*, Fit>, uint16_t> places_;
  std::unique_ptr<RowStages> out_ = std::make_unique<RowStages>();
};

}  // namespace shunt::compiled
