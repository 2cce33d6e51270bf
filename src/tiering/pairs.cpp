#include "src/tiering/pairs.h"

#include "src/dispatch/thunk.h"
#include "src/tiering/settings_watch.h"
#include "src/tiering/switches.h"

#include <shunt/core/fork.h>
#include <shunt/jit/kernel_library.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace shunt::jit {

namespace {
// Bounds the map: programs with more live pairs than this are megamorphic, and the rest of them is interpreted.
constexpr size_t kMaxPairs = 16384;
constexpr uint32_t kMaxDoublings = 20;
// Of the threshold, where a thunk was too slow or of no use: late enough for compiles not to show (16 times the calls),
// soon enough for a program that has changed.
constexpr uint32_t kDoublingsAfterLoss = 4;
// Where the first tier's thunk was too slow, the second tier's may not be: by then (2^16 calls with the default
// threshold) the pair is nearly as hot as those that get the second tier anyway.
constexpr uint32_t kDoublingsAfterFirst = 7;
constexpr int kMostFailures = 4;  // of a pair's further compiles
// Where calls in thunks are known from samples: these are as rare as one in 2^20 (timed_call.cpp), and with 16 of them
// the count is right to about a quarter.
constexpr int64_t kLeastSampledMisses = 1 << 24;
// Of misses beside calls that are counted exactly: fewer may be one thing that the program does now and then.
constexpr int64_t kLeastMisses = 32;
}  // namespace

const char* toString(PairState state) {
  switch (state) {
    case PairState::kCounting:
      return "counting";
    case PairState::kQueued:
      return "queued";
    case PairState::kCompiled:
      return "compiled";
    case PairState::kRefused:
      return "refused";
  }
  return "?";
}

Pairs& Pairs::instance() {
  static Pairs* const pairs = new Pairs;  // never destroyed: calls may run at exit
  return *pairs;
}

Pairs::Pairs() {
  shunt::detail::holdAcrossFork(3, [] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); });
}
namespace {
[[maybe_unused]] const Pairs& made_at_load = Pairs::instance();
}  // namespace

namespace {

/// A pair that this thread found refused.
struct Refused {
  PairKey key{};
  Pair* pair = nullptr;  // pairs are never removed
};

/// A thread's: two places for each hash, the later one first.
class RememberedRefusals {
 public:
  Pair* find(const PairKey& key) {
    const size_t at = placeOf(key);
    return places_[at].key == key ? places_[at].pair : places_[at + 1].key == key ? places_[at + 1].pair : nullptr;
  }
  void add(const Refused& refused) {
    const size_t at = placeOf(refused.key);
    if (places_[at].key == refused.key) return;  // it was known, refused in another state
    places_[at + 1] = std::exchange(places_[at], refused);
  }

 private:
  static constexpr int kBits = 6;
  static size_t placeOf(const PairKey& key) { return (PairKeyHash()(key) * 0x9e3779b97f4a7c15u) >> (64 - kBits) << 1; }
  std::array<Refused, size_t{2} << kBits> places_;
};

// On the heap: the library's thread-local storage must be small, or no running program can load it
// (tests/build/load_test.cpp). Plain variables, which destructors of the thread's may still use at its end.
constinit thread_local RememberedRefusals* refusals SHUNT_TLS_MODEL = nullptr;
constinit thread_local bool refusals_are_over SHUNT_TLS_MODEL = false;

struct FreesRefusals {
  ~FreesRefusals() {
    delete std::exchange(refusals, nullptr);
    refusals_are_over = true;
  }
};

void remember(const PairKey& key, Pair& refused) {
  if (refusals == nullptr && !refusals_are_over) {
    static thread_local const FreesRefusals at_end;
    static_cast<void>(&at_end);
    refusals = new (std::nothrow) RememberedRefusals;
  }
  if (refusals != nullptr) refusals->add({key, &refused});
}

/// The pair, where this thread knows it and it is refused in this state.
Pair* knownRefused(const PairKey& key, const OpState* state) {
  Pair* known = refusals != nullptr ? refusals->find(key) : nullptr;
  return known != nullptr && known->refused_in.load(std::memory_order_relaxed) == state ? known : nullptr;
}

}  // namespace

Pairs::Answer Pairs::observe(const PairKey& key, const OpState* state, int64_t calls, int64_t threshold) {
  const auto isCurrent = [&] { return key.op->state().load(std::memory_order_acquire) == state; };
  if (Pair* refused = knownRefused(key, state); refused != nullptr && isCurrent()) {
    refused->interpreted.fetch_add(static_cast<uint64_t>(calls), std::memory_order_relaxed);
    return Answer::kSettled;
  }
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return Answer::kWatch;
  if (pairs_.size() >= kMaxPairs && !pairs_.contains(key)) return Answer::kSettled;
  Pair& p = pairs_[key];
  p.interpreted.fetch_add(static_cast<uint64_t>(calls), std::memory_order_relaxed);
  // Asked under the lock: where a thunk was published meanwhile the state isn't current any more, and the call was
  // right not to run in it.
  if (p.state == PairState::kQueued || !isCurrent()) return Answer::kWatch;
  if (p.state == PairState::kRefused) {
    if (p.refused_in.load(std::memory_order_relaxed) == state) {
      remember(key, p);
      return Answer::kSettled;
    }
    p.refused_in.store(nullptr, std::memory_order_relaxed);
    p.state = PairState::kCounting;
    p.counted = 0;
  }
  if (p.state == PairState::kCompiled) {
    p.state = PairState::kCounting;
    p.counted = 0;
    p.doublings = std::min(p.doublings + 1, kMaxDoublings);
  }
  p.counted += calls;
  if (p.counted < threshold << p.doublings) return Answer::kWatch;
  p.state = PairState::kQueued;
  return Answer::kHot;
}

std::optional<CompileRequest> Pairs::requestAgain(const PairKey& key, bool& busy) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  busy = !lock.owns_lock();
  if (busy) return std::nullopt;
  Pair& p = pairs_[key];
  if (!p.worth_again || p.asked_again || p.state != PairState::kCompiled) return std::nullopt;
  CompileRequest request = p.request->get();
  request.tier = Tier::kSecond;
  p.asked_again = true;
  return request;
}

bool Pairs::finished(const CompileRequest& request, const OpState* state, const CompileResult& result) {
  std::lock_guard lock(mutex_);
  Pair& p = pairs_[{request.op, request.keys, request.signature}];
  p.counted = 0;
  // The second tier or another kind of operands was asked for while a thunk is in force, and there that stays.
  const bool keeps_thunk = p.state == PairState::kCompiled && result.verdict != Verdict::kCompiled;
  const uint32_t doublings = p.doublings;
  p.asked_again = false;
  cache_rejected_ += result.cache == CacheAnswer::kRejected;
  switch (result.verdict) {
    case Verdict::kCompiled:
      p.state = PairState::kCompiled;
      ++(result.cache == CacheAnswer::kLoaded ? loaded_ : compiled_);
      published(p, request, result);
      break;
    case Verdict::kRefused:
      p.state = PairState::kRefused;
      if (!keeps_thunk) p.refused_in.store(state, std::memory_order_relaxed);
      ++refused_;
      break;
    case Verdict::kOutdated:
      p.state = PairState::kCounting;
      ++outdated_;
      break;
    case Verdict::kFailed:
      p.state = PairState::kCounting;
      p.doublings = std::min(p.doublings + kDoublingsAfterLoss, kMaxDoublings);
      ++failed_;
      break;
  }
  if (keeps_thunk) {
    p.state = PairState::kCompiled;
    p.doublings = doublings;
    return furtherFailed(p, request, result.verdict);
  }
  p.reason = result.reason;
  p.plan = result.plan;
  return false;
}

void Pairs::published(Pair& p, const CompileRequest& request, const CompileResult& result) {
  ++(result.cache == CacheAnswer::kLoaded ? p.loads : p.compiles);
  p.bytes = result.bytes;
  p.first_times = result.tier == Tier::kSecond && p.tier == 1 ? p.times : CompileTimes();
  p.times = result.times;
  p.tier = static_cast<int>(result.tier);
  p.worth_again = result.tier == Tier::kFirst && result.worth_again;
  p.more_kinds = request.kinds[0].form != LoopRecord::kUnseen;
  p.request = p.worth_again || p.more_kinds ? std::make_unique<KeptRequest>(request) : nullptr;
  p.kinds = countOf(request.kinds);
  p.failed_tier = p.failed_kinds = 0;
  p.misses.misses.store(0, std::memory_order_relaxed);
  p.misses.due.store(0, std::memory_order_relaxed);
  p.misses_before = 0;
  // A thunk's uses are those of the thunk before it, too.
  p.calls_before = switches().stats ? static_cast<int64_t>(p.counters.calls.load(std::memory_order_relaxed)) : -1;
}

bool Pairs::furtherFailed(Pair& p, const CompileRequest& request, Verdict verdict) {
  if (p.request == nullptr) return false;
  const bool next_tier = static_cast<int>(request.tier) > p.tier;
  int& failures = next_tier ? p.failed_tier : p.failed_kinds;
  if (verdict == Verdict::kRefused || (verdict == Verdict::kFailed && ++failures >= kMostFailures)) {
    (next_tier ? p.worth_again : p.more_kinds) = false;
    return false;
  }
  // The same request would be outdated for good.
  if (p.request->libraryGeneration() == libraryGeneration()) return false;
  p.skips_first = true;
  return true;
}

namespace {

bool sameOperands(const LoopRecord& a, const LoopRecord& b) {
  return a.form == b.form && a.functor == b.functor && a.common == b.common && a.output == b.output &&
         a.places.expecting == b.places.expecting && std::ranges::equal(a.kind, b.kind) &&
         std::ranges::equal(a.signature, b.signature);
}

}  // namespace

Pairs::Miss Pairs::missed(const PairKey& key, const LoopRecord& record, const SettingsRead& settings,
                          std::optional<CompileRequest>& request) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return Miss::kWait;
  Pair& p = pairs_[key];
  if (p.state != PairState::kCompiled || p.asked_again) return Miss::kWait;
  if (!p.more_kinds) return Miss::kHelpless;
  const std::vector<LoopRecord>& known = p.request->kinds();
  const size_t n = known.empty() || !known[0].places.hasLoop() ? 0 : known.size();  // with a loop
  // A thunk without a guard gains nothing by leaving.
  if (!record.places.hasLoop()) return n == 0 ? Miss::kWait : Miss::kHelpless;
  const bool is_known = std::any_of(known.begin(), known.begin() + static_cast<ptrdiff_t>(n),
                                    [&](const LoopRecord& k) { return sameOperands(k, record); });
  if (is_known || n == kMaxOperandKinds) return Miss::kHelpless;
  request = p.request->get();
  request->kinds[n] = record;
  for (const SettingRead& s : settings)
    if (s.setting >= 0) add(s, request->settings);
  request->tier = static_cast<Tier>(p.tier);
  if (request->tier == Tier::kFirst && !firstTierExpects(record)) {  // but the second tier will
    *p.request = KeptRequest(*request);                              // may find no memory
    return Miss::kWait;
  }
  p.asked_again = true;
  return Miss::kAsk;
}

bool Pairs::missesMostly(const PairKey& key, int64_t misses, int64_t calls) {
  const int64_t least = switches().stats ? std::max(switches().threshold, kLeastMisses) : kLeastSampledMisses;
  std::lock_guard lock(mutex_);
  Pair& p = pairs_[key];
  if (p.calls_before < 0 || calls < p.calls_before) {  // uses are halved now and then (Timing::age)
    p.misses_before = misses;
    p.calls_before = calls;
  }
  const int64_t missed = misses - p.misses_before, called = calls - p.calls_before;
  return missed >= least && called >= missed / 2 && missed >= called - called / 16;
}

void Pairs::missedMostly(const PairKey& key, std::string reason) {
  std::lock_guard lock(mutex_);
  Pair& p = pairs_[key];
  if (p.state == PairState::kQueued) return;
  p.refused_in.store(nullptr, std::memory_order_relaxed);
  p.state = PairState::kCounting;
  p.counted = 0;
  p.request = nullptr;
  p.worth_again = p.more_kinds = false;
  p.reason = std::move(reason);
  p.doublings = std::min(p.doublings + kDoublingsAfterLoss, kMaxDoublings);
}

Tier Pairs::tierFor(const PairKey& key) {
  std::lock_guard lock(mutex_);
  return pairs_[key].skips_first ? Tier::kSecond : switches().tier;
}

void Pairs::slower(const PairKey& key, const OpState* state, std::string reason, bool has_second_tier) {
  std::lock_guard lock(mutex_);
  Pair& p = pairs_[key];
  if (p.state == PairState::kQueued) return;
  if (has_second_tier && p.tier == static_cast<int>(Tier::kSecond)) return;  // it came between
  p.request = nullptr;
  p.worth_again = p.more_kinds = false;
  if (has_second_tier) {
    p.refused_in.store(nullptr, std::memory_order_relaxed);
    p.state = PairState::kCounting;
    p.counted = 0;
    p.skips_first = true;
    p.reason = std::move(reason);
    p.doublings = std::min(p.doublings + kDoublingsAfterFirst, kMaxDoublings);
    return;
  }
  p.state = PairState::kRefused;
  p.refused_in.store(state, std::memory_order_relaxed);
  p.reason = std::move(reason);
  p.doublings = std::min(p.doublings + kDoublingsAfterLoss, kMaxDoublings);
  ++refused_;
}

void Pairs::backToCounting(const PairKey& key) {
  std::lock_guard lock(mutex_);
  Pair& p = pairs_[key];
  p.state = PairState::kCounting;
  p.counted = 0;
}

void Pairs::notAskedAgain(const PairKey& key) {
  std::lock_guard lock(mutex_);
  pairs_[key].asked_again = false;
}

void Pairs::forgetQueue() {
  std::lock_guard lock(mutex_);
  for (auto& [key, p] : pairs_) {
    p.asked_again = false;
    if (p.state != PairState::kQueued) continue;
    p.state = PairState::kCounting;
    p.counted = 0;
  }
}

void Pairs::reset() {
  std::lock_guard lock(mutex_);
  for (auto& [key, p] : pairs_)
    if (p.state != PairState::kQueued) {
      p.refused_in.store(nullptr, std::memory_order_relaxed);
      p.state = PairState::kCounting;
      p.counted = 0;
      p.doublings = 0;
      p.skips_first = false;
    }
}

std::string describeSignature(uint64_t signature) {
  std::string out;
  for (int i = 0; signature != 0; ++i, signature >>= 16) {
    const auto bits = static_cast<uint16_t>(signature);
    if (i != 0) out += ", ";
    if (bits == 0)
      out += "-";
    else
      out += shunt::detail::str(shunt::detail::signature::dtypeOf(bits), " ",
                                shunt::toString(shunt::detail::signature::layoutOf(bits)));
  }
  return out;
}

PairStats Pairs::describe(const PairKey& key, const Pair& p) {
  PairStats row;
  row.op = OperatorHandle(*key.op).operator_name().str();
  row.keys = shunt::toString(DispatchKeySet::fromRaw(key.keys));
  row.signature = describeSignature(key.signature);
  row.state = p.state;
  row.interpreted = p.interpreted.load(std::memory_order_relaxed);
  row.in_thunks = p.counters.calls.load(std::memory_order_relaxed);
  row.guard_misses = p.counters.guard_misses.load(std::memory_order_relaxed);
  row.compiles = p.compiles;
  row.loads = p.loads;
  row.tier = p.tier;
  row.bytes = p.bytes;
  row.times = p.times;
  row.first_times = p.first_times;
  row.reason = p.reason;
  row.plan = p.plan;
  row.kinds = p.kinds;
  return row;
}

std::optional<PairProgress> Pairs::find(const PairKey& key, int64_t threshold) {
  std::lock_guard lock(mutex_);
  const auto it = pairs_.find(key);
  if (it == pairs_.end()) return std::nullopt;
  return PairProgress{describe(key, it->second), it->second.counted, threshold << it->second.doublings};
}

CallCounters* Pairs::counters(const PairKey& key) {
  if (!switches().stats) return nullptr;
  std::lock_guard lock(mutex_);
  return &pairs_[key].counters;
}

MissCount* Pairs::misses(const PairKey& key) {
  std::lock_guard lock(mutex_);
  MissCount& misses = pairs_[key].misses;
  if (misses.op == nullptr) {  // no thunk has its address yet
    misses.op = key.op;
    misses.keys = key.keys;
    misses.signature = key.signature;
  }
  return &misses;
}

const std::atomic<uint64_t>& Pairs::interpreted(const PairKey& key) {
  std::lock_guard lock(mutex_);
  return pairs_[key].interpreted;
}

void Pairs::cacheRejected() {
  std::lock_guard lock(mutex_);
  ++cache_rejected_;
}

void Pairs::fill(Stats& stats) {
  stats.counts_calls = switches().stats;
  stats.invalidations = invalidationLog();
  std::unordered_map<PairKey, std::pair<uint32_t, const std::string*>, PairKeyHash> gone;
  for (const InvalidationRecord& r : stats.invalidations) {
    auto& [times, cause] = gone[{r.op, r.keys, r.signature}];
    ++times;
    cause = &r.cause;
  }
  std::unordered_map<PairKey, double, PairKeyHash> speedups;
  for (const auto& t : publishedThunks()) speedups[{t->op, t->keys, t->signature}] = t->timing.speedup();
  std::lock_guard lock(mutex_);
  stats.compiled = compiled_;
  stats.loaded = loaded_;
  stats.cache_rejected = cache_rejected_;
  stats.refused = refused_;
  stats.failed = failed_;
  stats.outdated = outdated_;
  for (const auto& [key, p] : pairs_) {
    stats.pairs.push_back(describe(key, p));
    if (const auto measured = speedups.find(key); measured != speedups.end())
      stats.pairs.back().speedup = measured->second;
    const auto it = gone.find(key);
    if (it == gone.end()) continue;
    stats.pairs.back().invalidations = it->second.first;
    stats.pairs.back().invalidated_by = *it->second.second;
  }
  std::sort(stats.pairs.begin(), stats.pairs.end(), [](const PairStats& a, const PairStats& b) {
    const uint64_t calls_a = a.interpreted + a.in_thunks, calls_b = b.interpreted + b.in_thunks;
    return calls_a != calls_b ? calls_a > calls_b : a.op + a.keys + a.signature < b.op + b.keys + b.signature;
  });
}

}  // namespace shunt::jit
