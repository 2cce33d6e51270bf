#include "src/compile/worth/graph_trial.h"

#include <shunt/core/error.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

// The first trial comes when the first checks are over.
constexpr uint64_t kFirstRun = 8, kNearest = 32;
// At most so far away that the turns of the slower side cost some 0.4 %: 4096 calls, times how much slower it is.
constexpr double kFarthest = 4096, kFarthestOfAll = 1 << 20;
// A graph that is clearly faster is asked again after many more calls than one that might become so.
constexpr uint64_t kStep = 4, kStepIfClear = 32;
constexpr int64_t kClearly = 4;  // by one part in
constexpr int kTurns = 32, kWarmUp = 2;
// Long calls differ by less, and turns of theirs are fewer; fewest where the first ones leave no doubt.
constexpr int kTurnsOfLongCalls = 10, kTurnsWithoutDoubt = 6;
constexpr int64_t kLongTrial = 5'000'000;  // ns
// What two measurements of one thing may differ by.
constexpr int64_t kNoise = 8;  // ns
constexpr int64_t kNoisePart = 100;

void lower(std::atomic<int64_t>& least, int64_t value) {
  if (value < least.load(std::memory_order_relaxed)) least.store(value, std::memory_order_relaxed);
}

std::string inMicroseconds(int64_t ns) { return detail::str(static_cast<double>(ns) / 1000, " us"); }

}  // namespace

void GraphTrial::begin(bool has_backward) {
  has_backward_ = has_backward;
  distance_ = kFirstRun;
  next_.store(kFirstRun, std::memory_order_relaxed);
}

void GraphTrial::open() {
  turns_ = 0;
  spent_ = 0;
  graph_.call = function_.call = kUnknown;
  next_.store(kNever, std::memory_order_relaxed);
  mode_.store(Mode::kOpen, std::memory_order_release);
}

bool GraphTrial::took(int64_t nanoseconds, uint64_t run) {
  Side& side = isGraphsTurn() ? graph_ : function_;
  if (turns_ >= kWarmUp) {
    side.call = std::min(side.call, nanoseconds);
    spent_ += nanoseconds;
  }
  ++turns_;
  const int wanted = spent_ <= kLongTrial ? kTurns : isWithoutDoubt() ? kTurnsWithoutDoubt : kTurnsOfLongCalls;
  if (turns_ < wanted) return false;
  conclude(run);
  return true;
}

int64_t GraphTrial::timeOf(const Side& side) const {
  const int64_t backward = has_backward_ ? side.backward.load(std::memory_order_relaxed) : 0;
  return side.call == kUnknown || backward == kUnknown ? kUnknown : side.call + backward;
}

bool GraphTrial::isWithoutDoubt() const {
  const int64_t graph = timeOf(graph_), function = timeOf(function_);
  if (graph == kUnknown || function == kUnknown) return false;
  return std::min(graph, function) < std::max(graph, function) - std::max(graph, function) / kClearly;
}

void GraphTrial::conclude(uint64_t run) {
  const int64_t graph = timeOf(graph_), function = timeOf(function_);
  const bool is_known = graph != kUnknown && function != kUnknown;
  const bool is_slower = is_known && graph > function + std::max(kNoise, function / kNoisePart);
  const bool is_clear = graph < function && isWithoutDoubt();
  // What has changed is looked at again soon.
  const double ratio = is_known ? static_cast<double>(std::max(graph, function)) /
                                      static_cast<double>(std::max<int64_t>(std::min(graph, function), 1))
                                : 1;
  const auto farthest = static_cast<uint64_t>(std::min(kFarthest * ratio, kFarthestOfAll));
  distance_ = is_slower != was_slower_ ? kNearest : std::min(distance_ * (is_clear ? kStepIfClear : kStep), farthest);
  was_slower_ = is_slower;
  left_.store(distance_, std::memory_order_relaxed);
  graph_.told.store(graph, std::memory_order_relaxed);
  function_.told.store(function, std::memory_order_relaxed);
  function_ns_.store(function_.call, std::memory_order_relaxed);
  if (!is_slower) next_.store(run + distance_, std::memory_order_relaxed);
  mode_.store(is_slower ? Mode::kFunction : Mode::kGraph, std::memory_order_release);
}

bool GraphTrial::passed(uint64_t calls) {
  const uint64_t left = left_.load(std::memory_order_relaxed);
  left_.store(left - std::min(left, calls), std::memory_order_relaxed);
  return left <= calls;
}

void GraphTrial::tookBackward(int64_t graph_ns, int64_t function_ns) {
  lower(graph_.backward, graph_ns);
  lower(function_.backward, function_ns);
}

std::string GraphTrial::describe() const {
  if (mode() != Mode::kFunction) return "";
  return detail::str("a call takes ", inMicroseconds(graph_.told.load(std::memory_order_relaxed)),
                     " with the graph and ", inMicroseconds(function_.told.load(std::memory_order_relaxed)),
                     " with the function", has_backward_ ? ", each with its backward pass" : "");
}

}  // namespace shunt::compiled
