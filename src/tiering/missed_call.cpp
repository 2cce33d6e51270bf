// Recording what a thunk's guard turned away, so that the pair's next thunk expects it too; and retiring thunks whose
// guard turns nearly everything away.
//
// Note [Operands that miss]
// A thunk is made for the kinds of operands that calls had when they were recorded: at first one, that of the call that
// made the pair hot. Operands of another kind miss: the interpreter's entry runs behind the guard. Hits are not
// counted. Of a thread's misses one in 32 is sampled by default (each one, where few calls make a pair hot; fewer,
// where many do), and a sample adds as many as it stands for to the pair's MissCount. When that is due (at a 32nd of
// the threshold, then at each doubling), the miss is recorded: the entry notes its operands as the interpreter does in
// the call that makes a pair hot, and the pair is compiled once more, with all kinds seen so far. The new thunk takes
// the old one's place in one publication, as a second tier's does (Note [Tiers]); its misses count from 0. A thunk
// without a guard, since none would have let the first call's operands pass, counts all its calls as misses, until a
// kind is found that has a loop.
//
// States of a pair's kinds, under the lock of the pairs (pairs.h):
//   n kinds, waiting -> asked: the request with n + 1 kinds is queued, or being compiled
//   asked -> n + 1 kinds, waiting: published;  -> n kinds, waiting: outdated or failed: the next miss that is due tries
//   again;  -> n kinds, for good: refused, failed too often, or n is kMaxOperandKinds
// One request of a pair is asked for at a time, for the second tier or for a kind, so no compile works on a list of
// kinds that another has made old.
//
// MissCount: `misses` and `due` are written by samples of any thread, relaxed: they decide when something is recorded,
// not what; an addition that meets the reset at a publication may be lost. The exchange of `due` gives each due miss to
// one thread. A thunk holds the address of its pair's MissCount; pairs are never removed, so a call that is still in a
// thunk that was replaced may add to it. The record is the sampling thread's, and is copied under the pairs' lock,
// which is only tried: a thread that finds it taken drops its record.
//
// Settings: the versions are read when the entry is about to run, later than the call began. What the call computed
// before is no constant of the thunk: the guard compares it (the functor, a dtype that the kernel gave, categories of
// numbers), so only what the entry itself reads decides the record.
//
// Where nothing more can be expected (no guard lets the operands pass, there are four kinds already, or the kind was
// there and the guard turned it away for its shape) a thunk that nearly all calls miss is retired: the interpreter
// does the same without the guard. How many calls there were since it was published is known exactly under SHUNT_STATS,
// and otherwise from samples of the calls, which are rare: then only after 2^24 misses. The pair counts again, to 16
// times the threshold. Not under SHUNT_JIT_KEEP.
#include "src/dispatch/thunk.h"
#include "src/tiering/compiler.h"
#include "src/tiering/pairs.h"
#include "src/tiering/sampling.h"
#include "src/tiering/settings_watch.h"
#include "src/tiering/switches.h"

#include <shunt/core/missed_call.h>

#include <exception>
#include <memory>

namespace shunt {
namespace jit {
namespace {

/// Of the threshold's calls so many make a new kind of operands worth a compile: the pair is hot already.
constexpr int64_t kKindsPerThreshold = 32;

constinit thread_local Distances miss_distances SHUNT_TLS_MODEL;
constinit thread_local int64_t miss_distance SHUNT_TLS_MODEL = 1;  // what the countdown that now ends began with

bool isDue(MissCount& count, int64_t misses) {
  int64_t due = count.due.load(std::memory_order_relaxed);
  if (misses < (due != 0 ? due : std::max<int64_t>(1, switches().threshold / kKindsPerThreshold))) return false;
  // Not exactly twice: of operands that take turns the same would be met again and again.
  return count.due.compare_exchange_strong(due, 2 * misses + miss_distances.draw(2), std::memory_order_relaxed);
}

/// The pair's thunk in force, and how many calls there were in thunks of it.
struct ThunkInUse {
  intrusive_ptr<Thunk> thunk;
  int64_t calls = 0;
};

ThunkInUse thunkOf(const PairKey& key) {
  for (auto& t : publishedThunks())
    if (PairKey{t->op, t->keys, t->signature} == key) {
      const CallCounters* counters = Pairs::instance().counters(key);
      const int64_t calls = counters != nullptr ? static_cast<int64_t>(counters->calls.load(std::memory_order_relaxed))
                                                : t->timing.uses();
      return {std::move(t), calls};
    }
  return {};
}

void leave(const PairKey& key, const Thunk& thunk, const std::string& reason) {
  if (retire(thunk, reason)) Pairs::instance().missedMostly(key, reason);
}

void retireIfUseless(const PairKey& key, int64_t misses) {
  if (switches().keep) return;
  const ThunkInUse used = thunkOf(key);
  if (used.thunk == nullptr || !Pairs::instance().missesMostly(key, misses, used.calls)) return;
  leave(key, *used.thunk,
        shunt::detail::str("nearly all calls met operands that it doesn't expect (", misses, " did)"));
}

void ask(const PairKey& key, const CompileRequest& request) {
  if (switches().sync)
    Compiler::instance().compileNow(request);
  else if (!Compiler::instance().submitMissed(request))
    Pairs::instance().notAskedAgain(key);
}

}  // namespace

/// A miss that is due, while the interpreter's entry runs.
struct MissRecording {
  MissRecording(const MissCount& count, int64_t misses_)
      : key{count.op, count.keys, count.signature}, misses(misses_), outer(shunt::detail::tls_state.record) {
    record.depth = shunt::detail::threadFrames().depth();
    shunt::detail::tls_state.record = &record;
  }
  ~MissRecording() { shunt::detail::tls_state.record = outer; }
  MissRecording(const MissRecording&) = delete;
  MissRecording& operator=(const MissRecording&) = delete;

  const PairKey key;
  const int64_t misses;
  const int exceptions = std::uncaught_exceptions();
  LoopRecord record;
  LoopRecord* const outer;
  const SettingsWatch settings;
};

namespace {

void finish(const PairKey& key, int64_t misses, const LoopRecord& record, const SettingsRead& settings) {
  std::optional<CompileRequest> request;
  switch (Pairs::instance().missed(key, record, settings, request)) {
    case Pairs::Miss::kAsk:
      return ask(key, *request);
    case Pairs::Miss::kHelpless:
      return retireIfUseless(key, misses);
    case Pairs::Miss::kWait:
      return;
  }
}

}  // namespace
}  // namespace jit

namespace detail {

constinit thread_local int64_t miss_countdown SHUNT_TLS_MODEL = 1;

jit::MissCount* plannedMisses() noexcept { return nullptr; }

MissedCall::MissedCall(jit::MissCount* misses) {
  const int64_t calls = std::exchange(jit::miss_distance, jit::miss_distances.draw(jit::switches().miss_period));
  miss_countdown = jit::miss_distance;
  if (misses == nullptr || !jit::enabled()) return;
  const int64_t now = misses->misses.fetch_add(calls, std::memory_order_relaxed) + calls;
  if (jit::isDue(*misses, now)) recording_ = new (std::nothrow) jit::MissRecording(*misses, now);
}

MissedCall::~MissedCall() {
  if (recording_ == nullptr) return;
  const jit::PairKey key = recording_->key;
  const int64_t misses = recording_->misses;
  const LoopRecord record = recording_->record;
  const bool threw = std::uncaught_exceptions() > recording_->exceptions;
  jit::SettingsRead settings;
  recording_->settings.addTo(settings);
  delete recording_;
  if (threw) return;
  try {
    jit::finish(key, misses, record, settings);
  } catch (const std::bad_alloc&) {
    // A later miss is recorded.
  }
}

}  // namespace detail
}  // namespace shunt
