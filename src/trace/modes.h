// Graph::Modes of the calling thread: set for the nodes of a graph, one after the other, and restored.
#pragma once

#include <shunt/trace/graph.h>

namespace shunt::trace_detail {

/// Whether the calling thread's are these. Without autocast, it allocates nothing.
bool areOn(const Graph::Modes& modes);

/// Restores the thread's settings when destroyed. Nodes inside of one AutocastGuard share its cache, as in the program.
class ModesScope {
 public:
  ModesScope();
  ~ModesScope();
  ModesScope(const ModesScope&) = delete;
  ModesScope& operator=(const ModesScope&) = delete;
  void set(const Graph::Modes& modes);

 private:
  void setNesting(bool on);
  const uint64_t included_, excluded_, mode_;
  ScalarType autocast_dtype_[kNumDeviceTypes];
  bool nested_ = false;
};

}  // namespace shunt::trace_detail
