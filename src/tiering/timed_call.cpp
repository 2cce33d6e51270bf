// Note [Never lose]
// A thunk can be slower than what it replaces: a loop that vectorises badly, code that misses the caches. So now and
// then a thread times a window of the calls that it makes through hot entries: kWindow of them go through the table,
// and as many through their thunks, each preceded by as many untimed ones, so that neither way is met cold. What comes
// out is the same. Per power of two of the number of elements, the medians of 31 samples of either way are compared: 5
// % slower twice, and the thunk leaves its operator; the pair is not compiled again until its operator has a new state,
// and then 16 times as late. A bucket in which the thunk has won once goes through windows as if there were none, and a
// thread whose windows meet no others has them ever more rarely. Operators inside a timed call are called as always, so
// both ways have them as they are.
//
// Off where tests count calls or compiles: under SHUNT_JIT_SYNC and SHUNT_JIT_KEEP. With SHUNT_JIT_TIER=both samples of
// calls are taken under SHUNT_JIT_KEEP too, for the tiers' sake, and none is timed.
//
// Note [Tiers]
// A pair's first thunk is compiled in half the time: its chain is inlined, but its loop is called, and few passes run
// (jit/passes/pipeline.h). Where samples of the calls tell that it is still called, the pair is compiled again,
// thoroughly, on the compiler's thread, and the new thunk takes the first one's place in one publication: a call runs
// in the one or the other. That costs some 15 ms and saves about 10 ns a call, so it pays for pairs that are called a
// million times more; having been called kCallsForSecondTier times stands for that. A second compile that was outdated
// or forgotten by a fork, and one that failed less than four times, is asked for again when the thunk has been called
// twice as often (Timing::asksAgain); one that is refused leaves the first thunk in force for as long as nothing
// invalidates it. Where a library came or went between the two compiles, nobody knows what the recorded addresses are
// now: the first thunk leaves, and the pair, recorded anew when it is hot again, is the second tier's. So is one whose
// first thunk loses against the interpreter, after 128 times as many calls. Both tiers compute the same bits; which one
// a thunk is of decides nothing else. Under SHUNT_JIT_TIER=1 and 2, and where calls aren't timed, there is one tier
// only, but for SHUNT_JIT_TIER=both.
#include "src/dispatch/hot_entries.h"
#include "src/tensor/large_blocks.h"
#include "src/tiering/compiler.h"
#include "src/tiering/pairs.h"
#include "src/tiering/recording.h"
#include "src/tiering/sampling.h"
#include "src/tiering/switches.h"

#include <algorithm>
#include <chrono>
#include <exception>

namespace shunt {
namespace jit {
namespace {

constexpr int64_t kWindow = 64;
constexpr int64_t kPeriod = 2048;  // calls between windows, on average
constexpr int64_t kLongestPeriod = int64_t{1} << 20;
// Calls of a thunk of the first tier.
constexpr int64_t kCallsForSecondTier = int64_t{1} << 18;

// The cheapest clock there is: it is compared with itself only.
uint64_t ticksNow() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

enum class Phase : uint8_t { kWarmInterpreter, kTimeInterpreter, kWarmThunk, kTimeThunk, kOutside };

/// A thread's place in its windows.
struct Window {
  Phase phase = Phase::kOutside;
  int64_t left = 0;  // calls of the phase
  int64_t period = kPeriod;
  bool undecided = false;  // the window met something to compare
  Distances distances;

  /// No window begins here.
  void pass() {
    auto& tls = shunt::detail::tls_state;
    tls.timing_distance = tls.timing_countdown = distances.draw(kPeriod);
  }

  /// Moves on by one call, and returns the phase that the call is in.
  Phase advance() {
    if (phase == Phase::kOutside) {
      phase = Phase::kWarmInterpreter;
      left = kWindow;
      undecided = false;
    }
    const Phase now = phase;
    if (--left == 0) {
      phase = static_cast<Phase>(static_cast<int>(phase) + 1);
      left = kWindow;
    }
    auto& tls = shunt::detail::tls_state;
    if (phase != Phase::kOutside) {
      tls.timing_distance = tls.timing_countdown = 1;
    } else {
      period = undecided ? kPeriod : std::min(period * 2, kLongestPeriod);
      tls.timing_distance = tls.timing_countdown = distances.draw(period);
    }
    return now;
  }
};
thread_local constinit Window window;

bool hasSecondTier(const Thunk& t) { return t.tier == Tier::kFirst && t.worth_again && switches().recompile; }

/// Note [Tiers]. Where somebody holds the pairs, the queue is full or memory short, a later sample asks.
void compileAgain(const Thunk& t) noexcept try {
  const PairKey key{t.op, t.keys, t.signature};
  bool busy = false;
  const auto request = Pairs::instance().requestAgain(key, busy);
  if (request && !Compiler::instance().submitAgain(*request, t)) {
    Pairs::instance().notAskedAgain(key);
    busy = true;
  }
  if (busy) t.timing.askSoon();
} catch (const std::bad_alloc&) {
  t.timing.askSoon();
}

}  // namespace
}  // namespace jit

namespace detail {

// Soon, since a program's first hot loop may be its only one.
int64_t firstTimingDistance() {
  const jit::Switches& s = jit::switches();
  return s.sync || (s.keep && !s.recompile) ? kObserveNever : jit::kPeriod / 8;
}

TimedCall::TimedCall(const OpState& state, DispatchKeySet ks, void* code, int64_t numel) : numel_(numel) {
  if (jit::Recording::timed(*state.op(), ks)) {
    interpreted_ = true;  // so that what its kernel does is seen too
    return;
  }
  if (tls_state.timing_distance > 1) {  // not at each call of a window
    releaseIdleLargeBlocks();
    jit::Compiler::instance().pulse();
  }
  tls_state.hot_calls += static_cast<uint64_t>(tls_state.timing_distance);
  for (size_t i = 0; thunk_ == nullptr && i < HotEntries::count(state); ++i)
    if (HotEntries::at(state, i).code == code) thunk_ = &HotEntries::at(state, i);
  if (thunk_ != nullptr) {
    thunk_->timing.addUses(tls_state.timing_distance);
    if (jit::hasSecondTier(*thunk_) && thunk_->timing.asksAgain(jit::kCallsForSecondTier)) jit::compileAgain(*thunk_);
  }
  if (jit::switches().keep) {  // what is used is seen, and nothing compared
    thunk_ = nullptr;
    jit::window.pass();
    return;
  }
  const jit::Phase phase = jit::window.advance();
  if (thunk_ == nullptr || !thunk_->timing.undecided(numel)) {
    thunk_ = nullptr;
    return;
  }
  jit::window.undecided = true;
  interpreted_ = phase == jit::Phase::kWarmInterpreter || phase == jit::Phase::kTimeInterpreter;
  if (interpreted_) --tls_state.hot_calls;
  if (phase == jit::Phase::kWarmInterpreter || phase == jit::Phase::kWarmThunk) {
    thunk_ = nullptr;
    return;
  }
  exceptions_ = std::uncaught_exceptions();
  start_ = jit::ticksNow();
}

TimedCall::~TimedCall() {
  if (thunk_ == nullptr) return;
  const uint64_t ticks = jit::ticksNow() - start_;
  if (std::uncaught_exceptions() > exceptions_) return;
  try {
    if (!thunk_->timing.add(numel_, interpreted_ ? jit::Way::kInterpreted : jit::Way::kThunk, ticks)) return;
    const std::string reason = detail::str("slower than the interpreter: ", 1 / thunk_->timing.speedup(),
                                           " times its time with about ", numel_, " elements");
    if (!jit::retire(*thunk_, reason)) return;
    const OpState* now = thunk_->op->state().load(std::memory_order_acquire);
    jit::Pairs::instance().slower({thunk_->op, thunk_->keys, thunk_->signature}, now, reason,
                                  jit::hasSecondTier(*thunk_));
  } catch (const std::bad_alloc&) {
    // The sample is lost, or the thunk stays.
  }
}

}  // namespace detail
}  // namespace shunt
