// Pairs: what is known of every (operator, keyset, signature) that was observed.
//
// Guarded by one mutex, a leaf. Observers only try it: a sample that finds it taken is lost, and no call waits. A
// thread remembers some of the pairs that it found refused, and doesn't try for them as long as they are (refused_in).
// A compiled pair keeps its request: for the second tier (Note [Tiers],
// timed_call.cpp), and for more kinds of operands (Note [Operands that miss], missed_call.cpp). Either changes the
// pair's state only where it succeeds: asked -> done | refused, or asked for again later (outdated, failed a few times,
// forgotten by a fork). One of them at a time. States: counting -> queued (at the threshold) -> compiled | refused |
// counting again (outdated, failed).
//         compiled -> counting, with a doubled threshold, when a call is observed that should have found the thunk in
//         its operator's current state: it was invalidated. refused -> counting when the operator's state is another
//         one.
#pragma once

#include "src/tiering/kept_request.h"

#include <shunt/jit/jit.h>
#include <shunt/jit/provider.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace shunt::jit {

using shunt::detail::LoopRecord;

struct PairKey {
  const Operator* op;
  uint64_t keys;
  uint64_t signature;
  bool operator==(const PairKey&) const = default;
};
struct PairKeyHash {
  size_t operator()(const PairKey& k) const {
    return std::hash<const void*>()(k.op) ^ (k.keys * 0x9e3779b97f4a7c15u) ^ (k.signature * 0xff51afd7ed558ccdu);
  }
};

struct Pair {
  PairState state = PairState::kCounting;
  int64_t counted = 0;                    // since it last began to count
  std::atomic<uint64_t> interpreted = 0;  // relaxed: counted without the mutex where a thread knows the pair refused
  uint32_t compiles = 0, loads = 0, doublings = 0;
  // While it is refused; else null. Compared only; at worst a later state at its place keeps the pair refused. Written
  // under the mutex, read without it where a thread remembers the pair (relaxed: a sample that comes too late is lost).
  std::atomic<const OpState*> refused_in = nullptr;
  std::unique_ptr<KeptRequest> request;  // of the thunk in force; null: nothing more will be asked for
  bool worth_again = false;              // the second tier is to be asked for
  bool more_kinds = false;               // of operands may be
  bool asked_again = false;              // either has been: it is queued, or being compiled
  int failed_tier = 0, failed_kinds = 0;
  bool skips_first = false;  // the first tier's thunk lost, or a library came between the two compiles
  int tier = 0, kinds = 0;   // of the thunk
  size_t bytes = 0;
  CompileTimes times, first_times;
  std::string reason, plan;
  CallCounters counters;                         // thunks hold its address; pairs are never removed
  MissCount misses;                              // as well
  int64_t misses_before = 0, calls_before = -1;  // where missesMostly() counts from; -1: from when it is asked first
};

/// One pair as a row, and how far it has counted.
struct PairProgress {
  PairStats row;
  int64_t counted = 0, threshold = 0;
};

/// "Float contiguous, Double strided"; "-" for a position without a tensor.
std::string describeSignature(uint64_t signature);

class Pairs {
 public:
  static Pairs& instance();

  enum class Answer : uint8_t { kWatch, kSettled, kHot };
  /// Counts `calls` calls of the pair; kHot exactly once per compile: the caller queues it.
  Answer observe(const PairKey& key, const OpState* state, int64_t calls, int64_t threshold);
  /// True: the thunk in force, of the first tier, is to leave, so that its pair is recorded anew. The addresses of the
  /// record that its second compile was asked for with may be another library's by now.
  bool finished(const CompileRequest& request, const OpState* state, const CompileResult& result);
  /// What to give the compiler for the second tier; nothing while it has that, and where it never will. Doesn't wait:
  /// `busy` says that somebody else holds the pairs, and nothing is known.
  std::optional<CompileRequest> requestAgain(const PairKey& key, bool& busy);
  /// Of the compile that makes the pair hot.
  Tier tierFor(const PairKey& key);
  /// Its thunk was slower than the interpreter, and is gone in `state`. `has_second_tier`: it has a chance left.
  void slower(const PairKey& key, const OpState* state, std::string reason, bool has_second_tier);
  enum class Miss : uint8_t { kWait, kAsk, kHelpless };
  /// The pair's thunk met operands that it didn't expect, as recorded. kAsk: `request` is what to give the compiler,
  /// for a thunk that expects them too. kHelpless: none would.
  Miss missed(const PairKey& key, const LoopRecord& record, const SettingsRead& settings,
              std::optional<CompileRequest>& request);
  /// Whether nearly all calls of its thunk have missed; `misses` and `calls` are so many by now.
  bool missesMostly(const PairKey& key, int64_t misses, int64_t calls);
  /// So they did, and the thunk is gone.
  void missedMostly(const PairKey& key, std::string reason);
  /// The pair was not queued after all.
  void backToCounting(const PairKey& key);
  /// Nor was what requestAgain() or missed() gave.
  void notAskedAgain(const PairKey& key);
  /// None of them is queued any more.
  void forgetQueue();
  void reset();
  void fill(Stats& stats);
  /// Nothing for a pair that was never observed.
  std::optional<PairProgress> find(const PairKey& key, int64_t threshold);
  /// Where the pair's thunks count; null if they don't.
  CallCounters* counters(const PairKey& key);
  /// Where they count their misses.
  MissCount* misses(const PairKey& key);
  /// How often it was interpreted, from samples; goes on counting, and is never freed.
  const std::atomic<uint64_t>& interpreted(const PairKey& key);
  /// A file of the disk cache could not be used, and nothing was compiled yet.
  void cacheRejected();

 private:
  Pairs();
  static PairStats describe(const PairKey& key, const Pair& p);
  static void published(Pair& p, const CompileRequest& request, const CompileResult& result);
  /// finished(), of a further compile that left the thunk in force.
  static bool furtherFailed(Pair& p, const CompileRequest& request, Verdict verdict);

  std::mutex mutex_;
  std::unordered_map<PairKey, Pair, PairKeyHash> pairs_;
  uint64_t compiled_ = 0, loaded_ = 0, refused_ = 0, failed_ = 0, outdated_ = 0, cache_rejected_ = 0;
};

}  // namespace shunt::jit
