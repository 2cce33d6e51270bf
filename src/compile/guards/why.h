// Why: the reasons for which a call of a compiled function runs the function itself, and how many calls had each.
//
// Note [Why a call runs the function]
// Whatever leads to the function instead of a graph counts one of these, so that explain() has a reason for every call:
//   decide()                 the function or the thread: SHUNT_COMPILE=0, a check that found a difference, modes
//   decideWithoutVariant()   a tensor that no graph can serve; recording that was given up, or is under way elsewhere;
//                            arguments that aren't recorded yet, or never (whyNotRecorded())
//   callInTrial()            a graph that is slower, and the function's turns in trials
//   Attempt::record()        a recording that failed in this call, or has to be confirmed by it (attempt.cpp)
//   passesBy(), callWithoutLook()   the reason of the call that let them pass: Note [Calls that pass by]
//                            (function_state.h). Counted when they are let pass, and taken back if they don't come.
// Calls that a graph was chosen for count as its runs, also where the function is called then: in checked runs, and
// where an operator of the graph throws (run.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace shunt::compiled {

enum class Why : uint8_t {
  kNone,  // a graph may run
  kSwitchedOff,
  kFoundWrong,
  // The thread's settings.
  kTrace,
  kTransform,
  kFunctionalize,
  kFakeMode,
  kMode,
  kExcludedKeys,
  kAnomaly,
  kSavedHooks,
  // A tensor among the arguments or captures.
  kWrapper,
  kOtherKeys,
  kOutsideHistory,
  kHooks,
  // What becomes of arguments without a variant.
  kRecordedElsewhere,
  kNew,
  kTooSeldom,
  kFailedBefore,
  kNoBudget,
  kAllKinds,
  kAllSizes,
  kTooManyVariants,
  kFailed,
  kConfirming,
  kFailedTooOften,
  kGivenUp,
  // A variant that isn't used.
  kTrial,
  kSlower,
  kCount,
};

/// For people: "it was called in a trace".
const char* textOf(Why why);

/// Any thread; relaxed. Where several threads call at once, calls that pass by may be counted with small errors.
class WhyCounts {
 public:
  void add(Why why, uint64_t calls = 1) { of(why).fetch_add(calls, std::memory_order_relaxed); }
  /// Calls that were added and haven't come.
  void takeBack(Why why, uint64_t calls) {
    std::atomic<uint64_t>& count = of(why);
    uint64_t now = count.load(std::memory_order_relaxed);
    while (!count.compare_exchange_weak(now, now - std::min(now, calls), std::memory_order_relaxed)) {
    }
  }

  using Numbers = std::array<uint64_t, static_cast<size_t>(Why::kCount)>;
  Numbers numbers() const;
  /// For people: a line for each reason that calls had, the most frequent first.
  static std::string describe(const Numbers& numbers);

 private:
  std::atomic<uint64_t>& of(Why why) { return counts_[static_cast<size_t>(why)]; }

  std::array<std::atomic<uint64_t>, static_cast<size_t>(Why::kCount)> counts_{};
};

}  // namespace shunt::compiled
