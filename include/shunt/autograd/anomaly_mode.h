// AnomalyMode: finds the forward call whose backward fails or makes NaNs.
//
// While it is on for a thread, every node that the thread records keeps where it was recorded: a description that a
// hook of the program's language makes (a traceback), and the node of the backward pass that was running, if any. When
// such a node fails in a backward pass of a thread for which the mode is on, or with `check_nan` returns a NaN, the
// description is given to the log as a warning, with those of the nodes that led to it. PyTorch's detect_anomaly is for
// the process; this is for the thread. Slow: for debugging.
#pragma once

#include <shunt/autograd/node.h>

#include <memory>
#include <string>

namespace shunt::autograd {

/// What a program's language adds to the mode. Set once, before the mode is used; any thread calls it.
struct ForwardPlaces {
  /// Notes where the program is. May throw, which ends the forward call.
  std::shared_ptr<void> (*capture)() = nullptr;
  /// The text of what `capture` noted, for the warning.
  std::string (*describe)(const std::shared_ptr<void>& captured) = nullptr;
};
/// Sets what notes the places of forward calls; null: nothing does.
SHUNT_API void set_forward_places(ForwardPlaces places) noexcept;

/// What a node keeps.
struct ForwardPlace {
  std::shared_ptr<void> captured;  // null without a `capture`
  intrusive_ptr<Node> parent;      // the node that was running when this one was recorded (create_graph)
};

class SHUNT_API AnomalyMode {
 public:
  /// Whether anomaly mode is on, whether it looks for NaNs, and the switch of both.
  static bool is_enabled();
  static bool should_check_nan();
  static void set_enabled(bool enabled, bool check_nan = true);
};

/// AnomalyMode for a scope.
class SHUNT_API DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true);
  ~DetectAnomalyGuard();
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  const bool was_enabled_, checked_nan_;
};

}  // namespace shunt::autograd
