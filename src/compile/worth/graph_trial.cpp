#include "src/compile/worth/graph_trial.h"

#include <shunt/core/error.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

// The first trial comes when the first checks are over.
constexpr uint64_t kFirstRun = 8, kNearest = 32, kFarthest = uint64_t{1} << 20;
// A graph that is clearly faster is asked again after many more calls than one that might become so.
constexpr uint64_t kStep = 4, kStepIfClear = 32;
constexpr int64_t kClearly = 4;  // by one part in
constexpr int kTurns = 32;
// Long calls differ by less, and turns of theirs are fewer.
constexpr int kTurnsOfLongCalls = 10;
constexpr int64_t kLongTrial = 5'000'000;  // ns
// What two measurements of one thing may differ by.
constexpr int64_t kNoise = 8;  // ns
constexpr int64_t kNoisePart = 100;

void lower(std::atomic<int64_t>& least, int64_t value) {
  int64_t known = least.load(std::memory_order_relaxed);
  while (value < known && !least.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

std::string inMicroseconds(int64_t ns) { return detail::str(static_cast<double>(ns) / 1000, " us"); }

}  // namespace

void GraphTrial::begin(bool has_backward) {
  has_backward_ = has_backward;
  distance_.store(kNearest, std::memory_order_relaxed);
  next_.store(kFirstRun, std::memory_order_relaxed);
}

void GraphTrial::open() {
  turn_.store(0, std::memory_order_relaxed);
  spent_.store(0, std::memory_order_relaxed);
  graph_.call.store(kUnknown, std::memory_order_relaxed);
  function_.call.store(kUnknown, std::memory_order_relaxed);
  next_.store(kNever, std::memory_order_relaxed);
  mode_.store(Mode::kOpen, std::memory_order_relaxed);
}

// The first turn of each warms up.
bool GraphTrial::took(Turn turn, int64_t nanoseconds, uint64_t run) {
  if (turn.number >= 2) lower((turn.isGraphs() ? graph_ : function_).call, nanoseconds);
  const int64_t spent = spent_.fetch_add(nanoseconds, std::memory_order_relaxed) + nanoseconds;
  if (turn.number < (spent > kLongTrial ? kTurnsOfLongCalls : kTurns)) return false;
  Mode open = Mode::kOpen;
  if (!mode_.compare_exchange_strong(open, Mode::kGraph, std::memory_order_relaxed)) return false;  // it is over
  conclude(run);
  return true;
}

int64_t GraphTrial::timeOf(const Side& side) const {
  const int64_t call = side.call.load(std::memory_order_relaxed);
  const int64_t backward = has_backward_ ? side.backward.load(std::memory_order_relaxed) : 0;
  return call == kUnknown || backward == kUnknown ? kUnknown : call + backward;
}

void GraphTrial::conclude(uint64_t run) {
  const int64_t graph = timeOf(graph_), function = timeOf(function_);
  const bool is_known = graph != kUnknown && function != kUnknown;
  const bool is_slower = is_known && graph > function + std::max(kNoise, function / kNoisePart);
  const bool is_clear = is_known && graph < function - function / kClearly;
  const uint64_t distance = distance_.load(std::memory_order_relaxed);
  distance_.store(std::min(distance * (is_clear ? kStepIfClear : kStep), kFarthest), std::memory_order_relaxed);
  left_.store(distance, std::memory_order_relaxed);
  if (is_slower)
    mode_.store(Mode::kFunction, std::memory_order_relaxed);
  else
    next_.store(run + distance, std::memory_order_relaxed);
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

int64_t GraphTrial::functionNs() const {
  const int64_t call = function_.call.load(std::memory_order_relaxed);
  return call == kUnknown ? 0 : call;
}

std::string GraphTrial::describe() const {
  if (mode() != Mode::kFunction) return "";
  return detail::str("a call takes ", inMicroseconds(timeOf(graph_)), " with the graph and ",
                     inMicroseconds(timeOf(function_)), " with the function",
                     has_backward_ ? ", each with its backward pass" : "");
}

}  // namespace shunt::compiled
