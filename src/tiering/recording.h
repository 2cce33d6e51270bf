// Recording: which operators the call that makes a pair hot calls, with which keys: a composite's thunk inlines them.
// And which process-wide settings it reads, itself and in the calls inside: Note [Settings and thunks]
// (src/core/settings.h).
//
// While a thread records, both its countdowns stand at 1, so that every call inside comes by here, at no cost to other
// calls. What they stood at goes on as if nothing had happened: an inner call may be sampled, and even become hot,
// which nests. Each thread touches only its own. Nothing here throws: without memory nothing is recorded.
#pragma once

#include "src/tiering/settings_watch.h"

#include <shunt/jit/provider.h>

namespace shunt::jit {

class Recording {
 public:
  /// Null: no memory.
  static Recording* begin() noexcept;
  /// Adds what was recorded to the request. False for null: the call can't be compiled then, as nobody knows what it
  /// read.
  static bool end(Recording* recording, CompileRequest& request) noexcept;

  /// An interpreted call whose countdown has ended: whether it is a sample, or only there to be recorded.
  static bool sample(const Operator& op, DispatchKeySet keys) noexcept;
  /// After a sample that no recording began with, when the countdown is set anew.
  static void sampled() noexcept;
  /// Whether a call of a thunk that is to be timed is only there to be recorded.
  static bool timed(const Operator& op, DispatchKeySet keys) noexcept;
  static void loopRan(int32_t depth) noexcept;

 private:
  Recording();
  ~Recording();
  void takeCountdown();
  void called(const Operator& op, DispatchKeySet keys);
  static void calledInAll(const Operator& op, DispatchKeySet keys);

  static constexpr int kMaxDepth = 16;  // of calls in each other, below the recorded one
  Recording* const outer_;
  const int depth_;
  int64_t left_ = 0;     // of the countdown to the next sample
  int64_t timing_left_;  // and to the next timed call
  InnerCalls calls_ = {};
  const SettingsWatch settings_;
  InnerCall* at_[kMaxDepth] = {};  // the last call at each depth
};

}  // namespace shunt::jit
