// The miss path of a thunk's guard: none of the thunk's loops fits the operands, so the interpreter's entry runs.
//
// One of every few misses of a thread is sampled, and some sampled misses are recorded for the compiler. Each thread
// has its own countdown. Samples add up in a jit::MissCount, which is never freed. See Note [Operands that miss]
// (src/tiering/missed_call.cpp).
#pragma once

#include <shunt/core/hot.h>

#include <utility>

namespace shunt {
namespace jit {
struct MissCount;
struct MissRecording;
}  // namespace jit

namespace detail {

/// Misses of this thread until the next sample.
extern SHUNT_API constinit thread_local int64_t miss_countdown SHUNT_TLS_MODEL;

/// The thunk's counter: the compiler replaces this call with a constant. Returns null outside thunks.
[[gnu::const]] SHUNT_API jit::MissCount* plannedMisses() noexcept;

/// Spans one sampled miss: lives while the interpreter's entry runs.
class SHUNT_API MissedCall {
 public:
  SHUNT_COLD explicit MissedCall(jit::MissCount* misses);
  SHUNT_COLD ~MissedCall();
  MissedCall(const MissedCall&) = delete;
  MissedCall& operator=(const MissedCall&) = delete;

 private:
  jit::MissRecording* recording_ = nullptr;  // null: not recorded
};

template <class R, class... A>
SHUNT_COLD SHUNT_NOINLINE R runSampledMiss(jit::MissCount* misses, R (*entry)(A...), A... a) {
  const MissedCall call(misses);
  return entry(std::forward<A>(a)...);
}

/// Calls the interpreter's entry after a guard's miss, and samples.
template <class R, class... A>
SHUNT_ALWAYS_INLINE R runMissed(jit::MissCount* misses, R (*entry)(A...), std::type_identity_t<A>... a) {
  if (--miss_countdown <= 0) [[unlikely]]
    return runSampledMiss<R, A...>(misses, entry, std::forward<A>(a)...);
  return entry(std::forward<A>(a)...);
}

}  // namespace detail
}  // namespace shunt
