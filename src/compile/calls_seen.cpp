#include "src/compile/calls_seen.h"

#include <shunt/core/error.h>

#include <algorithm>
#include <iterator>

namespace shunt::compiled {
namespace {

// What comes once isn't worth a graph; and many functions make something in their first call that later ones use. What
// stood in the way at one call may be gone (a hook, a registration meanwhile), so there are further attempts, but few.
constexpr int kCallsBeforeRecording[] = {2, 32, 512};
constexpr int kSizesOfAStep = 8, kMostSteps = 8;

}  // namespace

bool CallsSeen::hasRoomFor(const Kind& kind, const Sizes& sizes) const {
  if (sizes.variants > 0) return sizes.variants < max_kinds_;
  return kind.in_use > 0 ? kind.in_use < max_sizes_ : kinds_in_use_ < max_kinds_;
}

/// 0: there are no more attempts.
int CallsSeen::callsBeforeRecording(const Kind& kind, const Sizes& sizes) const {
  if (sizes.attempts >= static_cast<int>(std::size(kCallsBeforeRecording))) return 0;
  return kCallsBeforeRecording[sizes.attempts] << std::min(kind.in_use / kSizesOfAStep, kMostSteps);
}

bool CallsSeen::isDue(const detail::CompileKind& call) {
  if (remembered_ >= kMostRemembered) forgetTheRarest();
  Kind& kind = kinds_[call.kind];
  const auto known = kind.sizes.find(call.sizes);
  if (!hasRoomFor(kind, known != kind.sizes.end() ? known->second : Sizes())) {
    if (kind.sizes.empty()) kinds_.erase(call.kind);
    return false;
  }
  if (known == kind.sizes.end()) ++remembered_;
  Sizes& sizes = kind.sizes[call.sizes];
  const int wanted = callsBeforeRecording(kind, sizes);
  if (wanted == 0 || ++sizes.calls < wanted) return false;
  ++sizes.attempts;
  return true;
}

const CallsSeen::Sizes* CallsSeen::find(const detail::CompileKind& call) const {
  const auto kind = kinds_.find(call.kind);
  if (kind == kinds_.end()) return nullptr;
  const auto sizes = kind->second.sizes.find(call.sizes);
  return sizes != kind->second.sizes.end() ? &sizes->second : nullptr;
}

std::string CallsSeen::explain(const detail::CompileKind& call) const {
  const auto kind = kinds_.find(call.kind);
  const Kind& its = kind != kinds_.end() ? kind->second : Kind();
  const Sizes* known = find(call);
  const Sizes sizes = known != nullptr ? *known : Sizes();
  if (!hasRoomFor(its, sizes)) {
    const bool all_sizes = sizes.variants == 0 && its.in_use > 0;
    return all_sizes
               ? detail::str("as many sizes of its kind have graphs as may be: ", max_sizes_,
                             " (CompileOptions::max_sizes)")
               : detail::str("as many kinds have graphs as may be: ", max_kinds_, " (CompileOptions::max_variants)");
  }
  const int wanted = callsBeforeRecording(its, sizes);
  if (wanted == 0) return "recording has failed as often as it is tried";
  return detail::str(sizes.calls, " such calls found no graph, and call ", std::max(wanted, sizes.calls + 1),
                     " is to be recorded");
}

void CallsSeen::made(const detail::CompileKind& call) {
  Kind& kind = kinds_[call.kind];
  const auto [at, is_new] = kind.sizes.try_emplace(call.sizes);
  Sizes& sizes = at->second;
  sizes.calls = sizes.attempts = 0;  // it may be put out of use, and come again
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

bool CallsSeen::hasAllSizesOfAKind() const {
  return std::ranges::any_of(kinds_, [&](const auto& kind) { return kind.second.in_use >= max_sizes_; });
}

/// Halves what was counted, as often as it takes: so what comes often stays, and what came often once doesn't.
void CallsSeen::forgetTheRarest() {
  while (remembered_ >= kMostRemembered) {
    for (auto& [hash, kind] : kinds_) {
      for (auto& [its_hash, sizes] : kind.sizes) sizes.calls /= 2;
      remembered_ -=
          std::erase_if(kind.sizes, [](const auto& of) { return of.second.calls == 0 && of.second.variants == 0; });
    }
    std::erase_if(kinds_, [](const auto& kind) { return kind.second.sizes.empty(); });
  }
}

}  // namespace shunt::compiled
