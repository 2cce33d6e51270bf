// A guard's miss: a thunk met operands that none of its loops is made for, and runs the interpreter's entry instead.
// Every few misses of a thread one is sampled, and now and then a sampled one is recorded for the compiler. Each thread
// touches its own countdown only; what samples add up to is a jit::MissCount, which lives as long as the process. Note
// [Operands that miss] (src/tiering/missed_call.cpp).
#pragma once

#include <shunt/core/hot.h>

#include <utility>

namespace shunt {
namespace jit {
struct MissCount;
struct MissRecording;
}  // namespace jit

namespace detail {

/// Misses of this thread until one is sampled.
extern SHUNT_API constinit thread_local int64_t miss_countdown SHUNT_TLS_MODEL;

/// Where the thunk counts: the compiler puts a constant in the place of this call. Null in the library itself.
[[gnu::const]] SHUNT_API jit::MissCount* plannedMisses() noexcept;

/// One sampled miss, from before the interpreter's entry to after it.
class SHUNT_API MissedCall {
 public:
  SHUNT_COLD explicit MissedCall(jit::MissCount* misses);
  SHUNT_COLD ~MissedCall();
  MissedCall(const MissedCall&) = delete;
  MissedCall& operator=(const MissedCall&) = delete;

 private:
  jit::MissRecording* recording_ = nullptr;  // null: it isn't recorded
};

template <class R, class... A>
SHUNT_COLD SHUNT_NOINLINE R runSampledMiss(jit::MissCount* misses, R (*entry)(A...), A... a) {
  const MissedCall call(misses);
  return entry(std::forward<A>(a)...);
}

/// Behind a guard: the interpreter's entry.
template <class R, class... A>
SHUNT_ALWAYS_INLINE R runMissed(jit::MissCount* misses, R (*entry)(A...), std::type_identity_t<A>... a) {
  if (--miss_countdown <= 0) [[unlikely]]
    return runSampledMiss<R, A...>(misses, entry, std::forward<A>(a)...);
  return entry(std::forward<A>(a)...);
}

}  // namespace detail
}  // namespace shunt
