// Thread-local dispatch state: included and excluded keys, grad mode, autocast settings, and the thread's frames.
//
// Each thread has one struct, constant-initialised and trivially destructible. So a read is one fs-relative load, and
// TLS teardown needs no order. A thread reads and writes only its own struct. Guards restore the state when they are
// destroyed, which must happen on the thread that made them, in reverse order.
//
// Note [Effective exclusion]
// The user's exclusions and the grad mode are stored separately; `excluded` is derived from both. Otherwise, enabling
// grad mode inside an Autograd kernel would lift that kernel's AutoDispatchBelowAutograd.
#pragma once

#include <shunt/core/dispatch_key_set.h>
#include <shunt/core/world.h>
#include <shunt/tensor/device.h>
#include <shunt/tensor/scalar_type.h>

namespace shunt {

class OpState;

namespace boxing {
struct SpareStack;
}

namespace detail {

struct LoopRecord;

/// The platform P of world.h on real hardware.
struct HardwarePlatform {
  template <class T>
  using Atomic = std::atomic<T>;
  static void signalFence() {
#if defined(__SANITIZE_THREAD__)
    std::atomic_thread_fence(std::memory_order_seq_cst);
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    std::atomic_thread_fence(std::memory_order_seq_cst);
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }
  SHUNT_API static bool barrierAll();
};

using Frames = world::ThreadFrames<HardwarePlatform, OpState>;

inline constexpr uint64_t kDefaultIncluded =
    (DispatchKeySet::of(Functionality::BackendSelect) | DispatchKeySet::of(Functionality::ADInplaceOrView)).raw();
inline constexpr uint64_t kDefaultExcluded = kAutocastKeys.functionalities().raw();

// Bits of LocalState::mode: the thread's settings apart from key sets.
inline constexpr uint64_t kModeGrad = 1, kModeInference = 2, kModeAnomaly = 4, kModeCastCache = 8, kModeTrace = 16,
                          kModeSavedHooks = 32;
/// Modes that need more work when a call is recorded: anomaly_mode.h, saved_tensor_hooks.h.
inline constexpr uint64_t kModesOfRecording = kModeAnomaly | kModeSavedHooks;

/// A countdown too long for any thread to finish.
inline constexpr int64_t kObserveNever = int64_t{1} << 62;

struct LocalState {
  uint64_t included = kDefaultIncluded;
  uint64_t excluded = kDefaultExcluded;  // effective: user_excluded plus the Autograd keys while grad mode is off
  uint64_t user_excluded = kDefaultExcluded;
  uint64_t mode = kModeGrad | kModeCastCache;
  Frames* frames = nullptr;  // null until the thread's first call
  int32_t autocast_nesting = 0;
  ScalarType autocast_dtype[kNumDeviceTypes] = {};  // valid where the device's Autocast key is not excluded
  int64_t observe_countdown = kObserveNever;        // interpreted calls until one is observed
  int64_t timing_countdown = kObserveNever;         // calls in thunks until one is timed...
  int64_t timing_distance = kObserveNever;          // ...and the number it started from
  uint64_t hot_calls = 0;                           // calls in thunks before the current countdown
  LoopRecord* record = nullptr;                     // not null while a call is recorded for the compiler
  boxing::SpareStack* spare_stacks = nullptr;       // for boxed calls (call_stack.h)
};

extern SHUNT_API constinit thread_local LocalState tls_state SHUNT_TLS_MODEL;

/// Calls that a new thread interprets before one is observed (src/tiering).
int64_t firstCountdown();
/// Calls that a new thread makes in thunks before one is timed (src/tiering).
int64_t firstTimingDistance();

/// Assigns frames to the calling thread; another thread may get them after its exit.
SHUNT_API SHUNT_COLD Frames* attachThread();

SHUNT_ALWAYS_INLINE Frames& threadFrames() {
  Frames* f = tls_state.frames;
  return f != nullptr ? *f : *attachThread();
}

/// Whether a mode or a trace on this thread sees its calls.
SHUNT_ALWAYS_INLINE bool underMode() {
  const LocalState& s = tls_state;
  return (s.included & ~kDefaultIncluded) != 0 || (s.mode & kModeTrace) != 0;
}

inline void refreshExcluded(LocalState& s) {
  s.excluded = s.user_excluded | ((s.mode & kModeGrad) ? 0 : kAutogradKeys.raw());
}

}  // namespace detail

/// The calling thread's key sets, as applied to each call.
inline DispatchKeySet tls_included() { return DispatchKeySet::fromRaw(detail::tls_state.included); }
inline DispatchKeySet tls_excluded() { return DispatchKeySet::fromRaw(detail::tls_state.excluded); }
inline bool tls_is_excluded(DispatchKey k) { return tls_excluded().hasAny(DispatchKeySet(k).functionalities()); }
inline bool tls_is_included(DispatchKey k) { return tls_included().hasAny(DispatchKeySet(k).functionalities()); }

/// Adds functionalities to the thread's excluded set for a scope.
class [[nodiscard]] ExcludeDispatchKeyGuard {
 public:
  explicit ExcludeDispatchKeyGuard(DispatchKeySet keys) : saved_(detail::tls_state.user_excluded) {
    detail::tls_state.user_excluded |= keys.functionalities().raw();
    detail::refreshExcluded(detail::tls_state);
  }
  explicit ExcludeDispatchKeyGuard(DispatchKey key) : ExcludeDispatchKeyGuard(DispatchKeySet(key)) {}
  ~ExcludeDispatchKeyGuard() {
    detail::tls_state.user_excluded = saved_;
    detail::refreshExcluded(detail::tls_state);
  }
  ExcludeDispatchKeyGuard(const ExcludeDispatchKeyGuard&) = delete;
  ExcludeDispatchKeyGuard& operator=(const ExcludeDispatchKeyGuard&) = delete;

 private:
  uint64_t saved_;
};

/// Adds functionalities to the thread's included set for a scope.
class [[nodiscard]] IncludeDispatchKeyGuard {
 public:
  explicit IncludeDispatchKeyGuard(DispatchKeySet keys) : saved_(detail::tls_state.included) {
    detail::tls_state.included |= keys.functionalities().raw();
  }
  explicit IncludeDispatchKeyGuard(DispatchKey key) : IncludeDispatchKeyGuard(DispatchKeySet(key)) {}
  ~IncludeDispatchKeyGuard() { detail::tls_state.included = saved_; }
  IncludeDispatchKeyGuard(const IncludeDispatchKeyGuard&) = delete;
  IncludeDispatchKeyGuard& operator=(const IncludeDispatchKeyGuard&) = delete;

 private:
  uint64_t saved_;
};

/// For an Autograd kernel's redispatch: excludes Autograd and ADInplaceOrView keys for a scope.
class [[nodiscard]] AutoDispatchBelowAutograd {
 public:
  AutoDispatchBelowAutograd() : guard_(kAutogradAndViewKeys) {}

 private:
  ExcludeDispatchKeyGuard guard_;
};

/// For an ADInplaceOrView kernel's redispatch; excludes the same keys.
class [[nodiscard]] AutoDispatchBelowADInplaceOrView {
 public:
  AutoDispatchBelowADInplaceOrView() : guard_(kAutogradAndViewKeys) {}

 private:
  ExcludeDispatchKeyGuard guard_;
};

/// The calling thread's grad mode, set without a guard.
struct GradMode {
  /// Whether operators record gradients on this thread.
  static bool is_enabled() { return (detail::tls_state.mode & detail::kModeGrad) != 0; }
  static void set_enabled(bool on) {
    auto& s = detail::tls_state;
    s.mode = on ? s.mode | detail::kModeGrad : s.mode & ~detail::kModeGrad;
    detail::refreshExcluded(s);
  }
};

/// Sets this thread's grad mode for a scope.
class [[nodiscard]] AutoGradMode {
 public:
  explicit AutoGradMode(bool on) : saved_(GradMode::is_enabled()) { GradMode::set_enabled(on); }
  ~AutoGradMode() { GradMode::set_enabled(saved_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool saved_;
};

/// Turns this thread's grad mode off for a scope: operators record no gradients.
class [[nodiscard]] NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};
/// Turns this thread's grad mode on for a scope.
class [[nodiscard]] EnableGradGuard : public AutoGradMode {
 public:
  EnableGradGuard() : AutoGradMode(true) {}
};

/// Inference mode for a scope: grad mode is off; new tensors carry no autograd keys and their versions are not read.
/// Only the *included* set loses ADInplaceOrView, so in-place calls on normal tensors still bump their versions.
class [[nodiscard]] InferenceMode {
 public:
  explicit InferenceMode(bool on = true)
      : mode_(detail::tls_state.mode),
        included_(detail::tls_state.included),
        excluded_(detail::tls_state.user_excluded) {
    auto& s = detail::tls_state;
    constexpr uint64_t kView = DispatchKeySet::of(Functionality::ADInplaceOrView).raw();
    s.mode = on ? (s.mode | detail::kModeInference) & ~detail::kModeGrad
                : (s.mode & ~detail::kModeInference) | detail::kModeGrad;
    s.included = on ? s.included & ~kView : s.included | kView;
    s.user_excluded = on ? s.user_excluded | kAutogradKeys.raw() : s.user_excluded & ~kAutogradKeys.raw();
    detail::refreshExcluded(s);
  }
  ~InferenceMode() {
    auto& s = detail::tls_state;
    s.mode = mode_;
    s.included = included_;
    s.user_excluded = excluded_;
    detail::refreshExcluded(s);
  }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  /// Whether inference mode is on for this thread.
  static bool is_enabled() { return (detail::tls_state.mode & detail::kModeInference) != 0; }

 private:
  uint64_t mode_, included_, excluded_;
};

}  // namespace shunt
