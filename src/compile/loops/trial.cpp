#include "src/compile/loops/trial.h"

#include "src/tiering/switches.h"

#include <chrono>

namespace shunt::compiled {
namespace {

constexpr int kTurns = 32;
// Long runs differ by less, and are fewer.
constexpr int kTurnsOfLongRuns = 10;
constexpr int64_t kLongTrial = 5'000'000;  // ns

void lower(std::atomic<int64_t>& least, int64_t value) {
  int64_t known = least.load(std::memory_order_relaxed);
  while (value < known && !least.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

Trial::Trial() : verdict_(jit::switches().sync || jit::switches().keep ? Verdict::kNative : Verdict::kOpen) {}

int64_t Trial::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The first turn of each warms up.
void Trial::add(bool is_native, int64_t nanoseconds, int turn) {
  if (turn >= 2) lower(is_native ? native_ : blocks_, nanoseconds);
  const int64_t spent = spent_.fetch_add(nanoseconds, std::memory_order_relaxed) + nanoseconds;
  if (turn < (spent > kLongTrial ? kTurnsOfLongRuns : kTurns)) return;
  // By more than one step of the clock, which is 10 ns on some machines: small regions take 30 to 60.
  constexpr int64_t kStepOfClock = 10;
  const bool slower = native_.load(std::memory_order_relaxed) > blocks_.load(std::memory_order_relaxed) + kStepOfClock;
  verdict_.store(slower ? Verdict::kBlocks : Verdict::kNative, std::memory_order_relaxed);
}

}  // namespace shunt::compiled
