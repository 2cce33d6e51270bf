// Autocast: runs chosen operators in a lower-precision floating type, per thread and device type.
//
// An AutocastGuard changes settings of its thread (LocalState) and restores them on exit.
// kernels/operators/autocast.yaml says how each operator is cast; the wrappers are generated from it. All functions
// here act on the calling thread.
//
// Note [Autocast's cache]
// A parameter that several operators use is cast once. While a guard is active, the casts of float32 leaves that
// require grad are kept per thread. The cache key is
//   - the storage (held weakly), offset, sizes, strides, dtype and version: an in-place update or another view misses;
//   - whether the cast was recorded in the graph: a cast made under no_grad is not used where a gradient is recorded.
// The cache is cleared when the outermost guard ends.
#pragma once

#include <shunt/core/tls.h>
#include <shunt/tensor/tensor.h>

namespace shunt {

/// Turns autocast on or off for a device type, on this thread, until it is destroyed. Guards nest; the innermost one
/// decides. Throws unless `dtype` is kBFloat16 or kHalf and the device type has autocast.
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

/// Whether autocast is on for the device type on this thread. Throws if the device type has no autocast.
SHUNT_API bool is_enabled(DeviceType device);
/// The dtype of lower-precision operators on this thread, also while autocast is off.
inline ScalarType lower_precision_dtype(DeviceType device) {
  return detail::tls_state.autocast_dtype[static_cast<size_t>(device)];
}
/// Drops this thread's cached casts.
SHUNT_API void clear_cache();
/// Counts of one thread's cache.
struct CacheStats {
  size_t entries;         // casts in the cache now
  uint64_t hits, misses;  // since the thread started
};
/// The counts of the calling thread.
SHUNT_API CacheStats cache_stats();

/// Whether autocast may cast `t`: it is on that device type, floating-point and not float64.
inline bool is_eligible(const Tensor& t, DeviceType device) {
  return t.defined() && t.device().type() == device && t.is_floating_point() && t.dtype() != kDouble;
}

// For the wrappers: `arg` cast to `to` if it is eligible, else unchanged.
SHUNT_API Tensor cached_cast(ScalarType to, const Tensor& arg, DeviceType device);
SHUNT_API std::optional<Tensor> cached_cast(ScalarType to, const std::optional<Tensor>& arg, DeviceType device);
SHUNT_API std::vector<Tensor> cached_cast(ScalarType to, TensorList arg, DeviceType device);

/// For the promote policy: `current` promoted with the dtypes of the eligible arguments.
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
