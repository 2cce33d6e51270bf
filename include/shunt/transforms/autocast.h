// Autocast: run chosen operators in a lower-precision floating type, per thread and device type.
//
// The settings live in the thread's LocalState; a guard lifts the exclusion of the device's Autocast key and restores
// all on exit. Which operators are cast how stands in kernels/autocast.yaml; the wrappers are generated from it.
//
// Note [Autocast's cache]
// A parameter used by several operators is cast once: while a guard is active, casts of float32 leaves that require
// grad are kept per thread. The key is the storage (held weakly), offset, sizes, strides, dtype, version and whether
// the cast was recorded in the graph, so that an in-place update, another view or another grad mode never finds a stale
// entry, and a cast made under no_grad never swallows a gradient. The cache is cleared when the outermost guard ends.
#pragma once

#include <shunt/core/tls.h>
#include <shunt/tensor/tensor.h>

namespace shunt {

/// Turns autocast on (or off) for a device type in a scope. `dtype` is kBFloat16 or kHalf; throws on others and on
/// device types without autocast. Guards nest; the inner one counts.
class SHUNT_API AutocastGuard {
 public:
  explicit AutocastGuard(DeviceType device, ScalarType dtype = kBFloat16, bool enabled = true,
                         bool cache_enabled = true);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  DeviceType device_;
  ScalarType saved_dtype_;
  uint64_t saved_excluded_;
  uint64_t saved_mode_;
};

namespace autocast {

/// Whether autocast is on for the device type, on this thread.
SHUNT_API bool is_enabled(DeviceType device);
/// The type that lower-precision operators run in on this thread.
inline ScalarType lower_precision_dtype(DeviceType device) {
  return detail::tls_state.autocast_dtype[static_cast<size_t>(device)];
}
/// Forgets this thread's cached casts.
SHUNT_API void clear_cache();
struct CacheStats {
  size_t entries;
  uint64_t hits, misses;  // since the thread started
};
/// Counts of this thread's cache.
SHUNT_API CacheStats cache_stats();

/// Floating, on that device type, and not float64 (which autocast leaves alone).
inline bool is_eligible(const Tensor& t, DeviceType device) {
  return t.defined() && t.device().type() == device && t.is_floating_point() && t.dtype() != kDouble;
}

// The wrappers' building blocks: `arg` cast to `to` when eligible, as it is otherwise.
SHUNT_API Tensor cached_cast(ScalarType to, const Tensor& arg, DeviceType device);
SHUNT_API std::optional<Tensor> cached_cast(ScalarType to, const std::optional<Tensor>& arg, DeviceType device);
SHUNT_API std::vector<Tensor> cached_cast(ScalarType to, TensorList arg, DeviceType device);

/// The widest of `current` and the eligible arguments' types, for the promote policy.
inline ScalarType promote_type(ScalarType current, DeviceType device, const Tensor& arg) {
  return is_eligible(arg, device) ? promoteTypes(current, arg.dtype()) : current;
}
inline ScalarType promote_type(ScalarType current, DeviceType device, const std::optional<Tensor>& arg) {
  return arg ? promote_type(current, device, *arg) : current;
}
inline ScalarType promote_type(ScalarType current, DeviceType device, TensorList list) {
  for (const Tensor& t : list) current = promote_type(current, device, t);
  return current;
}

}  // namespace autocast
}  // namespace shunt
