// AnomalyMode: finds the forward call whose backward fails or produces NaNs. It is slow, for debugging only.
//
// The mode is on per thread; PyTorch's detect_anomaly applies to the process. While it is on:
// - Every node that the thread records keeps its forward place. The place is a description made by a hook of the
//   program's language (a traceback), and the node of the backward pass that was running, if any.
// - When such a node fails in a backward pass of the thread, the log gets a warning with its description and those of
//   the nodes that led to it. With `check_nan`, returning a NaN is such a failure.
#pragma once

#include <shunt/autograd/node.h>

#include <memory>
#include <string>

namespace shunt::autograd {

/// The hooks of a program's language. Set them once, before the mode is used; any thread calls them.
struct ForwardPlaces {
  /// Notes where the program is. An exception from it ends the forward call.
  std::shared_ptr<void> (*capture)() = nullptr;
  /// Returns the warning's text for what `capture` noted.
  std::string (*describe)(const std::shared_ptr<void>& captured) = nullptr;
};
/// Sets the hooks for the process. With null functions, warnings name no place.
SHUNT_API void set_forward_places(ForwardPlaces places) noexcept;

/// The place that a node keeps.
struct ForwardPlace {
  std::shared_ptr<void> captured;  // null without a `capture`
  intrusive_ptr<Node> parent;      // the node that ran when this one was recorded (create_graph); may be null
};

class SHUNT_API AnomalyMode {
 public:
  /// Whether the mode is on for this thread, whether it checks for NaNs, and the setter of both.
  static bool is_enabled();
  static bool should_check_nan();
  static void set_enabled(bool enabled, bool check_nan = true);
};

/// Turns anomaly mode on for a scope, and restores the previous setting at its end.
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
