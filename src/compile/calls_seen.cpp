#include "src/compile/calls_seen.h"

#include "src/base/counted.h"

#include <shunt/core/error.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace shunt::compiled {
namespace {

// What comes once isn't worth a graph; and many functions make something in their first call that later ones use.
constexpr int kLeastCalls = 2;
// What stood in the way at one call may be gone (a hook, a registration meanwhile), so there are further attempts, but
// few, each after so many times as many calls.
constexpr int kMostAttempts = 3, kTimesAsMany = 16;
constexpr int kSizesOfAStep = 8, kMostSteps = 8;
constexpr int64_t kTimesTheCost = 2;  // Note [When recording pays] (worth/recording_cost.h)
constexpr int64_t kPostponedBy = 8;   // by one part in

int64_t factorOf(int attempts, int sizes_in_use) {
  int64_t factor = int64_t{1} << std::min(sizes_in_use / kSizesOfAStep, kMostSteps);
  while (attempts-- > 0) factor *= kTimesAsMany;
  return factor;
}

int clampedInt(int64_t n) { return static_cast<int>(std::min<int64_t>(n, std::numeric_limits<int>::max())); }

std::string inMilliseconds(int64_t ns) {
  constexpr int64_t kMicrosecond = 1000;
  return detail::str(static_cast<double>(ns / kMicrosecond) / kMicrosecond, " ms");
}

/// After a failed recording: what is missing in calls that run the function.
std::string whenRetried(int64_t nanoseconds, int calls) {
  if (nanoseconds > 0) return detail::str("after ", inMilliseconds(nanoseconds), " more in calls of the function");
  if (calls == 0) return "in the next call";
  return detail::str("after ", calls, " more ", calls == 1 ? "call runs" : "calls run", " the function");
}

}  // namespace

Why CallsSeen::whyNoRoom(const Kind& kind, const Sizes& sizes) const {
  if (sizes.variants == 0 && kind.in_use > 0) return kind.in_use < max_sizes_ ? Why::kNone : Why::kAllSizes;
  return (sizes.variants > 0 ? sizes.variants : kinds_in_use_) < max_kinds_ ? Why::kNone : Why::kAllKinds;
}

bool CallsSeen::isTriedTooOften(const Sizes& sizes) const { return sizes.attempts >= kMostAttempts; }

int CallsSeen::callsBeforeRecording(const Kind& kind, const Sizes& sizes) const {
  if (record_after_ == CompileOptions::kWhenItPays) return kLeastCalls;
  return clampedInt((int64_t{record_after_} + 1) * factorOf(sizes.attempts, kind.in_use));
}

/// 0: time doesn't matter.
int64_t CallsSeen::timeBeforeRecording(const Kind& kind, const Sizes& sizes, int64_t cost) const {
  if (record_after_ != CompileOptions::kWhenItPays) return 0;
  return std::max(kTimesTheCost * cost * factorOf(sizes.attempts, kind.in_use), sizes.postponed_until);
}

bool CallsSeen::isDue(const detail::CompileKind& call, int64_t cost) {
  if (remembered_ >= kMostRemembered) forgetTheRarest();
  Kind& kind = kinds_[call.kind];
  const auto known = kind.sizes.find(call.sizes);
  if (!hasRoomFor(kind, known != kind.sizes.end() ? known->second : Sizes())) {
    if (kind.sizes.empty()) kinds_.erase(call.kind);
    return false;
  }
  if (known == kind.sizes.end()) ++remembered_;
  Sizes& sizes = kind.sizes[call.sizes];
  if (sizes.calls < std::numeric_limits<int>::max()) ++sizes.calls;
  if (isTriedTooOften(sizes) || sizes.calls < callsBeforeRecording(kind, sizes) ||
      sizes.taken < timeBeforeRecording(kind, sizes, cost))
    return false;
  ++sizes.attempts;
  return true;
}

Why CallsSeen::whyHopeless(const detail::CompileKind& call) const {
  const auto kind = kinds_.find(call.kind);
  const Sizes* sizes = find(call);
  const Why no_room = whyNoRoom(kind != kinds_.end() ? kind->second : Kind(), sizes != nullptr ? *sizes : Sizes());
  if (no_room != Why::kNone) return no_room;
  return sizes != nullptr && isTriedTooOften(*sizes) ? Why::kFailedTooOften : Why::kNone;
}

bool CallsSeen::isNew(const detail::CompileKind& call) const {
  const Sizes* sizes = find(call);
  return sizes != nullptr && sizes->calls == 1;
}

bool CallsSeen::isPostponed(const detail::CompileKind& call) const {
  const Sizes* sizes = find(call);
  return sizes != nullptr && sizes->isPostponed();
}

Why CallsSeen::whyNotYet(const detail::CompileKind& call) const {
  if (isPostponed(call)) return Why::kNoBudget;
  if (isNew(call)) return Why::kNew;
  return wasTried(call) ? Why::kFailedBefore : Why::kTooSeldom;
}

void CallsSeen::postpone(const detail::CompileKind& call) {
  Sizes* const sizes = find(call);
  if (sizes == nullptr) return;
  --sizes->attempts;
  sizes->postponed_until = sizes->taken + sizes->taken / kPostponedBy;
}

void CallsSeen::took(const detail::CompileKind& call, int64_t nanoseconds) {
  if (Sizes* const sizes = find(call)) sizes->taken += nanoseconds;
}

CallsSeen::Sizes* CallsSeen::find(const detail::CompileKind& call) {
  return const_cast<Sizes*>(std::as_const(*this).find(call));
}

const CallsSeen::Sizes* CallsSeen::find(const detail::CompileKind& call) const {
  const auto kind = kinds_.find(call.kind);
  if (kind == kinds_.end()) return nullptr;
  const auto sizes = kind->second.sizes.find(call.sizes);
  return sizes != kind->second.sizes.end() ? &sizes->second : nullptr;
}

std::string CallsSeen::explain(const detail::CompileKind& call, int64_t cost) const {
  const auto kind = kinds_.find(call.kind);
  const Kind& its = kind != kinds_.end() ? kind->second : Kind();
  const Sizes* known = find(call);
  const Sizes sizes = known != nullptr ? *known : Sizes();
  if (const Why why = whyNoRoom(its, sizes); why != Why::kNone)
    return why == Why::kAllSizes
               ? detail::str("there are graphs for ", detail::counted(static_cast<uint64_t>(max_sizes_), "size"),
                             " of this kind, the maximum (CompileOptions::max_sizes)")
               : detail::str("there are graphs for ", detail::counted(static_cast<uint64_t>(max_kinds_), "kind"),
                             " of arguments, the maximum (CompileOptions::max_variants)");
  if (isTriedTooOften(sizes))
    return detail::str("recording failed ", kMostAttempts, " times for such arguments, and is not retried");
  if (sizes.isPostponed())
    return detail::str("calls with such arguments have taken ", inMilliseconds(sizes.taken), "; recording takes about ",
                       inMilliseconds(cost), ", and waits for the budget");
  const int64_t wanted = timeBeforeRecording(its, sizes, cost);
  const int missing = std::max(callsBeforeRecording(its, sizes) - 1 - sizes.calls, 0);
  if (sizes.attempts > 0)
    return "recording failed for such arguments, and is retried " + whenRetried(wanted - sizes.taken, missing);
  if (wanted > sizes.taken)
    return detail::str("calls with such arguments have taken ", inMilliseconds(sizes.taken),
                       "; they run the function for ", inMilliseconds(wanted - sizes.taken),
                       " more, then one is recorded (CompileOptions::record_after)");
  return detail::str(
      detail::counted(static_cast<uint64_t>(sizes.calls), "call"), " with such arguments found no graph; ",
      missing == 0 ? "the next one is recorded" : detail::str(missing, " more run the function, then one is recorded"),
      " (CompileOptions::record_after)");
}

void CallsSeen::made(const detail::CompileKind& call) {
  Kind& kind = kinds_[call.kind];
  const auto [at, is_new] = kind.sizes.try_emplace(call.sizes);
  Sizes& sizes = at->second;
  sizes = {.variants = sizes.variants};  // it may be put out of use, and come again
  if (sizes.variants++ > 0) return;
  if (!is_new) --remembered_;
  if (kind.in_use++ == 0) ++kinds_in_use_;
}

void CallsSeen::lost(const detail::CompileKind& call) {
  const auto kind = kinds_.find(call.kind);
  if (kind == kinds_.end()) return;
  const auto sizes = kind->second.sizes.find(call.sizes);
  if (sizes == kind->second.sizes.end() || sizes->second.variants == 0 || --sizes->second.variants > 0) return;
  kind->second.sizes.erase(sizes);
  if (--kind->second.in_use == 0) --kinds_in_use_;
  if (kind->second.sizes.empty()) kinds_.erase(kind);
}

bool CallsSeen::wasTriedBefore(const detail::CompileKind& call) const {
  const Sizes* sizes = find(call);
  return sizes != nullptr && sizes->attempts > 1;
}

bool CallsSeen::wasTried(const detail::CompileKind& call) const {
  const Sizes* sizes = find(call);
  return sizes != nullptr && sizes->attempts > 0;
}

bool CallsSeen::hasAllSizesOfAKind() const {
  return std::ranges::any_of(kinds_, [&](const auto& kind) { return kind.second.in_use >= max_sizes_; });
}

/// Halves what was counted, as often as it takes: so what comes often stays, and what came often once doesn't.
void CallsSeen::forgetTheRarest() {
  while (remembered_ >= kMostRemembered) {
    for (auto& [hash, kind] : kinds_) {
      for (auto& [its_hash, sizes] : kind.sizes) {
        sizes.calls /= 2;
        sizes.taken /= 2;
        sizes.postponed_until /= 2;
      }
      remembered_ -=
          std::erase_if(kind.sizes, [](const auto& of) { return of.second.calls == 0 && of.second.variants == 0; });
    }
    std::erase_if(kinds_, [](const auto& kind) { return kind.second.sizes.empty(); });
  }
}

}  // namespace shunt::compiled
