// Graph::Modes of the calling thread: set for the nodes of a graph, one after the other, and restored.
#pragma once

#include <shunt/core/tls.h>
#include <shunt/trace/graph.h>

namespace shunt::trace_detail {

/// Modes as words of the thread's state, where autocast has no part in them: compared in a few instructions.
class ModeWords {
 public:
  /// False: there are none, under autocast.
  bool describe(const Graph::Modes& modes);
  /// True only where areOn() is, for the modes that were described.
  bool areOn() const {
    const ::shunt::detail::LocalState& s = ::shunt::detail::tls_state;
    return s.user_excluded == excluded_ && s.mode == mode_ && s.autocast_nesting == 0;
  }

 private:
  uint64_t excluded_ = 0, mode_ = 0;
};

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
