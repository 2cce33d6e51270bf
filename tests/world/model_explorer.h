// The explorer: every interleaving of a few programs over a memory with store buffers.
//
// Note [What is not explored twice]
// States already seen are not entered again (128-bit fingerprints of the whole state). In each state only a persistent
// set of steps is explored: all steps of some threads such that nothing the other threads can do, as long as these
// stand still, conflicts with one of those steps (footprint.h); or one step alone that commutes with everything. That
// keeps every violation and every end, because the state graph has no cycles, which is checked. What a program can
// still do is learned: first by random walks, and whatever the exploration learns beyond restarts it. A test compares
// with the full exploration.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/world/model_machine.h"

namespace shunt::world::model {

struct Outcome {
  std::optional<std::string> violation;  // with the steps that lead there
  size_t states = 0, transitions = 0, histories = 0, ends = 0;
  double interleavings = 0;  // from the start to an end, in the explored graph
};

/// An operator's state that is published from the start.
struct Initial {
  uint8_t location;
  Content content;
};

class Explorer {
 public:
  Explorer(std::vector<Program> programs, const std::vector<Initial>& operators);
  ~Explorer();
  /// Stops at the first violation. Without `reduce` every step is explored in every state.
  Outcome explore(bool reduce = true);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shunt::world::model
