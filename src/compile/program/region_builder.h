// RegionBuilder: makes the region that a group of nodes is, with its loop. A local value.
#pragma once

#include "src/compile/program/placement.h"
#include "src/compile/program/region.h"

namespace shunt::compiled {

class RegionBuilder {
 public:
  explicit RegionBuilder(const Placement& placement) : at_(placement) {}
  /// `position`: of the group's first step.
  Region build(const Group& group, size_t position) const {
    return group.rows != nullptr ? rowRegion(group, position) : pointwiseRegion(group.region, position);
  }

 private:
  Region pointwiseRegion(const std::vector<const PointwiseNode*>& nodes, size_t position) const;
  Region rowRegion(const Group& group, size_t position) const;
  Region newRegion(const std::vector<int64_t>& sizes, size_t position, size_t steps) const;
  Region::Output outputInBuffer(const Graph::Value* v, ScalarType dtype) const;
  void addInput(const PointwiseNode::Input& in, int64_t numel, Region& region) const;
  static void finish(Region& region);
  int takenBy(const std::vector<const PointwiseNode*>& nodes, size_t made, const Region& region) const;

  const Placement& at_;
};

}  // namespace shunt::compiled
