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
///
/// layer_norm's loop does a mul by a row that follows as its weight, and an add of a row as its bias, where it has none
/// and nothing else reads what lies between.
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
  void foldParameters();
  void fold(elementwise::LoopFn loop, const PointwiseNode::Input*& parameter);
  const PointwiseNode::Input* parameterOf(const PointwiseNode& p, elementwise::LoopFn loop) const;
  std::unique_ptr<RowStages::Stage> stageOf(const Nodes& nodes) const;

  const Group& group_;
  const int64_t native_after_;
  Nodes after_;                 // the group's that aren't folded
  const Graph::Value* result_;  // of the rows, or of what is folded into them
  const PointwiseNode::Input *weight_ = nullptr, *bias_ = nullptr;
  std::map<std::pair<const Graph::Value*, Fit>, uint16_t> places_;
  std::unique_ptr<RowStages> out_ = std::make_unique<RowStages>();
};

}  // namespace shunt::compiled
