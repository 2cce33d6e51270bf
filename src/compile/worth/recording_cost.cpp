#include "src/compile/worth/recording_cost.h"

#include "src/tiering/compiler.h"

#include <shunt/core/error.h>

#include <cmath>

namespace shunt::compiled {
namespace {

// A training step of some fifty operators, with what the first recording of a process makes: 2.4 ms were measured.
constexpr int64_t kAtFirst = 3'000'000;  // ns

std::atomic<int64_t> sum_of_all{0}, attempts_of_all{0};

}  // namespace

void RecordingCost::took(int64_t nanoseconds, bool counts) {
  sum_.fetch_add(nanoseconds, std::memory_order_relaxed);
  attempts_.fetch_add(1, std::memory_order_relaxed);
  sum_of_all.fetch_add(nanoseconds, std::memory_order_relaxed);
  attempts_of_all.fetch_add(1, std::memory_order_relaxed);
  if (counts) jit::Compiler::instance().spend(nanoseconds);
}

int64_t RecordingCost::expected() const {
  if (const int64_t n = attempts_.load(std::memory_order_relaxed); n != 0)
    return sum_.load(std::memory_order_relaxed) / n;
  const int64_t n = attempts_of_all.load(std::memory_order_relaxed);
  return n != 0 ? sum_of_all.load(std::memory_order_relaxed) / n : kAtFirst;
}

bool RecordingCost::isAllowed(int64_t nanoseconds) { return jit::Compiler::instance().allows(nanoseconds); }

std::string RecordingCost::describeBudget() {
  const jit::BudgetStats s = jit::Compiler::instance().budgetStats();
  if (s.percent <= 0) return "SHUNT_JIT_BUDGET is 0, so nothing is recorded";
  return detail::str("compiling and recording may use ", s.percent, " % of the process's CPU time, which is ",
                     std::llround(s.process_ms), " ms so far, and have used ", std::llround(s.compiler_ms),
                     " ms (SHUNT_JIT_BUDGET)");
}

}  // namespace shunt::compiled
