// KeptRequest: what a compiled pair keeps of its request for the compiles to come, without room for the kinds of
// operands, inner calls and settings that it doesn't have: a third of a CompileRequest's size. A value, guarded by
// whoever holds it.
#pragma once

#include <shunt/jit/provider.h>

#include <algorithm>
#include <vector>

namespace shunt::jit {

class KeptRequest {
 public:
  explicit KeptRequest(const CompileRequest& r)
      : op_(r.op),
        keys_(r.keys),
        signature_(r.signature),
        library_generation_(r.library_generation),
        counters_(r.counters),
        misses_(r.misses),
        tier_(r.tier),
        only_this_tier_(r.only_this_tier) {
    // Where no guard expects the operands, there may be the first kind without a loop.
    const auto is_kind = [](const detail::LoopRecord& k) { return k.form != detail::LoopRecord::kUnseen; };
    kinds_.assign(r.kinds.begin(), std::ranges::find_if_not(r.kinds, is_kind));
    calls_.assign(r.calls.begin(), std::ranges::find(r.calls, nullptr, &InnerCall::op));
    settings_.assign(r.settings.begin(), std::ranges::find(r.settings, -1, &SettingRead::setting));
  }

  /// The request again, but for the disk cache's directory, which whoever compiles adds.
  CompileRequest get() const {
    CompileRequest r;
    r.op = op_;
    r.keys = keys_;
    r.signature = signature_;
    r.library_generation = library_generation_;
    r.counters = counters_;
    r.misses = misses_;
    r.tier = tier_;
    r.only_this_tier = only_this_tier_;
    std::ranges::copy(kinds_, r.kinds.begin());
    std::ranges::copy(calls_, r.calls.begin());
    std::ranges::copy(settings_, r.settings.begin());
    return r;
  }

  const std::vector<detail::LoopRecord>& kinds() const { return kinds_; }
  uint64_t libraryGeneration() const { return library_generation_; }

 private:
  const Operator* op_;
  uint64_t keys_, signature_, library_generation_;
  CallCounters* counters_;
  MissCount* misses_;
  std::vector<detail::LoopRecord> kinds_;
  std::vector<InnerCall> calls_;
  std::vector<SettingRead> settings_;
  Tier tier_;
  bool only_this_tier_;
};

}  // namespace shunt::jit
