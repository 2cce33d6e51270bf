#include "src/compile/guards/why.h"

#include "src/base/counted.h"
#include "src/dispatch/profile.h"

#include <shunt/core/error.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace shunt::compiled {

const char* textOf(Why why) {
  switch (why) {
    case Why::kSwitchedOff:
      return profile::isOn() ? "calls are profiled (SHUNT_PROFILE)" : "SHUNT_COMPILE=0";
    case Why::kFoundWrong:
      return "a check has found that a graph differs from the function";
    case Why::kTrace:
      return "it was called in a trace";
    case Why::kTransform:
      return "it was called inside vmap or grad";
    case Why::kFunctionalize:
      return "it was called under functionalize";
    case Why::kFakeMode:
      return "it was called in a fake mode";
    case Why::kMode:
      return "a dispatch mode, or a key that a guard includes, was on";
    case Why::kExcludedKeys:
      return "a guard excluded keys";
    case Why::kAnomaly:
      return "anomaly detection was on";
    case Why::kSavedHooks:
      return "saved-tensor hooks were on";
    case Why::kWrapper:
      return "a tensor is a wrapper, or fake";
    case Why::kOtherKeys:
      return "a tensor has keys for which operators may have special kernels";
    case Why::kOutsideHistory:
      return "a tensor has a graph from outside of the function";
    case Why::kHooks:
      return "a tensor has hooks";
    case Why::kRecordedElsewhere:
      return "another call was recording the function, or this one came from inside of it";
    case Why::kNew:
      return "such arguments were seen for the first time";
    case Why::kTooSeldom:
      return "calls with such arguments were still too few, or took too little time in all, to be recorded";
    case Why::kFailedBefore:
      return "recording failed for such arguments, and a retry was not yet due";
    case Why::kNoBudget:
      return "the budget had no room for recording";
    case Why::kAllKinds:
      return "there are graphs for the maximum number of kinds of arguments (CompileOptions::max_variants)";
    case Why::kAllSizes:
      return "there are graphs for the maximum number of sizes of such arguments (CompileOptions::max_sizes)";
    case Why::kTooManyVariants:
      return "registrations invalidated too many graphs";
    case Why::kFailed:
      return "recording failed in that call";
    case Why::kConfirming:
      return "the function catches errors, which were compared with those of its recording";
    case Why::kFailedTooOften:
      return "recording failed for such arguments, and is not retried";
    case Why::kGivenUp:
      return "the function is not recorded any more";
    case Why::kTrial:
      return "it was their turn in a trial that times the graph against the function";
    case Why::kSlower:
      return "the graph is slower";
    case Why::kNone:
    case Why::kCount:
      break;
  }
  return "";
}

WhyCounts::Numbers WhyCounts::numbers() const {
  Numbers out{};
  for (size_t i = 0; i < out.size(); ++i) out[i] = counts_[i].load(std::memory_order_relaxed);
  return out;
}

std::string WhyCounts::describe(const Numbers& numbers) {
  std::vector<size_t> order;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] > 0) order.push_back(i);
  std::ranges::sort(order, {}, [&](size_t i) { return std::pair(~numbers[i], i); });
  std::string text;
  for (const size_t i : order)
    text += detail::str("  ", detail::counted(numbers[i], "call"), " ran the function: ", textOf(static_cast<Why>(i)),
                        '\n');
  return text;
}

}  // namespace shunt::compiled
