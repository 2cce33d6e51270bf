// The settings that the outcome of a call depends on in addition to its arguments and its operator's table: the one
// table of all of them, and the only way to declare one that is process-wide.
//
// A process-wide setting's value lives in its ProcessSetting, a static object. Any thread may read it without a lock; a
// change takes the dispatcher's lock. The other rows describe what is declared elsewhere, mostly per thread
// (core/tls.h). tests/build/process_state_test finds mutable state that stands neither in this table nor in its list of
// what decides no result.
//
// Note [Settings and thunks]
// What keeps thunks right when a setting changes depends on its kind:
//   kKeyset       It changes the keys of calls. A thunk is compiled for a keyset: others are passed by, and met again
//                 when the setting is as it was. Nothing is invalidated.
//   kRunTime      Kernels and wrappers read it when they run, in thunks as in the interpreter. No compiled code holds
//                 its value.
//   kProcessWide  A thunk may hold as a constant what followed from it in the call that was recorded (a result's
//                 dtype). So read() notes the setting for the call under way, the thunk gets an edge on each that the
//                 recorded call read, at its version then, and a change is one like a registration: publication.h,
//                 where R4 ends with the new value.
#pragma once

#include <shunt/core/function_ref.h>
#include <shunt/core/macros.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace shunt {

enum class SettingKind : uint8_t { kKeyset, kRunTime, kProcessWide };

// clang-format off
// row(enumerator, kind, name, the variable that holds it)
#define SHUNT_FORALL_SETTINGS(row)                                     \
  row(GradMode, kKeyset, "grad_mode", "tls_state")                     \
  row(InferenceMode, kKeyset, "inference_mode", "tls_state")           \
  row(ExcludedKeys, kKeyset, "excluded_keys", "tls_state")             \
  row(IncludedKeys, kKeyset, "included_keys", "tls_state")             \
  row(Autocast, kKeyset, "autocast", "tls_state")                      \
  row(DispatchModes, kKeyset, "dispatch_modes", "at_call")             \
  row(KernelModes, kKeyset, "kernel_modes", "at_kernel")               \
  row(AutocastDtype, kRunTime, "autocast_dtype", "tls_state")          \
  row(AutocastCache, kRunTime, "autocast_cache", "threadCache::cache") \
  row(DefaultGenerator, kRunTime, "default_generator", "generator")    \
  row(NumThreads, kRunTime, "num_threads", "num_threads")              \
  row(Trace, kRunTime, "trace", "trace_enabled")                       \
  row(DefaultDtype, kProcessWide, "default_dtype", "default_dtype")
// clang-format on

enum class Setting : uint8_t {
#define SHUNT_SETTING_NAME(id, kind, name, holder) k##id,
  SHUNT_FORALL_SETTINGS(SHUNT_SETTING_NAME)
#undef SHUNT_SETTING_NAME
};

struct SettingInfo {
  Setting setting;
  SettingKind kind;
  const char* name;
  const char* holder;
};

inline constexpr SettingInfo kSettings[] = {
#define SHUNT_SETTING_ROW(id, kind, name, holder) {Setting::k##id, SettingKind::kind, name, holder},
    SHUNT_FORALL_SETTINGS(SHUNT_SETTING_ROW)
#undef SHUNT_SETTING_ROW
};
inline constexpr size_t kNumSettings = std::size(kSettings);
static_assert(kNumSettings <= 32, "a set of settings is a 32-bit word");

constexpr const SettingInfo& infoOf(Setting s) { return kSettings[static_cast<size_t>(s)]; }
constexpr uint32_t bitOf(Setting s) { return uint32_t{1} << static_cast<unsigned>(s); }
inline constexpr uint32_t kProcessWideSettings = [] {
  uint32_t all = 0;
  for (const SettingInfo& info : kSettings)
    if (info.kind == SettingKind::kProcessWide) all |= bitOf(info.setting);
  return all;
}();

namespace detail {

/// The process-wide settings that this thread has read since whoever asks (src/tiering/recording.h) last cleared it.
extern constinit thread_local uint32_t settings_read SHUNT_TLS_MODEL;

/// Grows with every change of a process-wide setting, never 0. To be read before the setting: who sees the new version
/// sees the new value too.
SHUNT_API uint64_t settingVersion(Setting setting);

/// Makes thunks with an edge on the setting invalid, and then calls `store`, under the dispatcher's lock; nothing if
/// `differs` says no. `becomes` is the new value, for the log. In src/dispatch.
void changeProcessSetting(Setting setting, FunctionRef<bool()> differs, FunctionRef<void()> store,
                          const std::string& becomes);
/// The end of a change, after its store.
void bumpSettingVersion(Setting setting) noexcept;

}  // namespace detail

template <Setting kSetting, class T>
class ProcessSetting {
  static_assert(infoOf(kSetting).kind == SettingKind::kProcessWide, "the table says otherwise");
  static_assert(std::atomic<T>::is_always_lock_free);

 public:
  constexpr explicit ProcessSetting(T initial) : value_(initial) {}
  ProcessSetting(const ProcessSetting&) = delete;
  ProcessSetting& operator=(const ProcessSetting&) = delete;

  T read() const {
    detail::settings_read |= bitOf(kSetting);
    return value_.load(std::memory_order_acquire);
  }
  /// Calls that begin after it has returned, on any thread, compute with the new value. `text` is how the log writes
  /// it.
  void set(T value, const std::string& text) {
    detail::changeProcessSetting(
        kSetting, [&] { return value_.load(std::memory_order_relaxed) != value; },
        [&] { value_.store(value, std::memory_order_release); }, text);
  }

 private:
  std::atomic<T> value_;
};

}  // namespace shunt
