#include "src/trace/modes.h"

#include <shunt/core/tls.h>
#include <shunt/transforms/autocast.h>

#include <algorithm>

namespace shunt {
namespace {

constexpr uint64_t kView = DispatchKeySet::of(Functionality::ADInplaceOrView).raw();
constexpr uint64_t kGradKeys = kAutogradAndViewKeys.functionalities().raw();
constexpr uint64_t kCastKeys = kAutocastKeys.functionalities().raw();
constexpr uint64_t kModeBits = detail::kModeGrad | detail::kModeInference | detail::kModeCastCache;

/// 0 where the device has no autocast.
uint64_t castKeyOf(DeviceType device) {
  const DispatchKey key = autocastKeyOf(backendOf(device));
  return key == DispatchKey::Undefined ? 0 : DispatchKeySet(key).functionalities().raw();
}

}  // namespace

Graph::Modes Graph::Modes::now() {
  const detail::LocalState& s = detail::tls_state;
  Modes m;
  m.grad = (s.mode & detail::kModeGrad) != 0;
  m.inference = (s.mode & detail::kModeInference) != 0;
  m.cast_cache = (s.mode & detail::kModeCastCache) != 0;
  m.in_autocast = s.autocast_nesting > 0;
  m.excluded = s.user_excluded & kGradKeys;
  if ((s.user_excluded & kCastKeys) == kCastKeys) return m;
  uint64_t seen = 0;  // HIP casts with CUDA's key
  for (size_t d = 0; d < kNumDeviceTypes; ++d) {
    const auto device = static_cast<DeviceType>(d);
    const uint64_t key = castKeyOf(device);
    if (key == 0 || (seen & key) != 0 || (s.user_excluded & key) != 0) continue;
    seen |= key;
    m.autocast.emplace_back(device, s.autocast_dtype[d]);
  }
  return m;
}

namespace trace_detail {

// Other bits, as anomaly detection's, have the modes compared one by one.
bool ModeWords::describe(const Graph::Modes& m) {
  excluded_ = m.excluded | kCastKeys;
  mode_ = (m.grad ? detail::kModeGrad : 0) | (m.inference ? detail::kModeInference : 0) |
          (m.cast_cache ? detail::kModeCastCache : 0);
  return m.autocast.empty() && !m.in_autocast;
}

bool areOn(const Graph::Modes& modes) {
  const detail::LocalState& s = detail::tls_state;
  if ((s.user_excluded & kCastKeys) != kCastKeys) return Graph::Modes::now() == modes;
  return modes.autocast.empty() && modes.grad == ((s.mode & detail::kModeGrad) != 0) &&
         modes.inference == ((s.mode & detail::kModeInference) != 0) &&
         modes.cast_cache == ((s.mode & detail::kModeCastCache) != 0) &&
         modes.in_autocast == (s.autocast_nesting > 0) && modes.excluded == (s.user_excluded & kGradKeys);
}

ModesScope::ModesScope()
    : included_(detail::tls_state.included), excluded_(detail::tls_state.user_excluded), mode_(detail::tls_state.mode) {
  std::copy_n(detail::tls_state.autocast_dtype, kNumDeviceTypes, autocast_dtype_);
}

ModesScope::~ModesScope() {
  setNesting(false);
  auto& s = detail::tls_state;
  s.included = included_;
  s.user_excluded = excluded_;
  s.mode = mode_;
  std::copy_n(autocast_dtype_, kNumDeviceTypes, s.autocast_dtype);
  detail::refreshExcluded(s);
}

void ModesScope::setNesting(bool on) {
  if (on == nested_) return;
  nested_ = on;
  auto& nesting = detail::tls_state.autocast_nesting;
  nesting += on ? 1 : -1;
  if (nesting == 0) autocast::clear_cache();
}

void ModesScope::set(const Graph::Modes& m) {
  auto& s = detail::tls_state;
  setNesting(m.in_autocast);
  s.mode = (s.mode & ~kModeBits) | (m.grad ? detail::kModeGrad : 0) | (m.inference ? detail::kModeInference : 0) |
           (m.cast_cache ? detail::kModeCastCache : 0);
  s.included = m.inference ? s.included & ~kView : s.included | kView;
  s.user_excluded = (s.user_excluded & ~(kGradKeys | kCastKeys)) | m.excluded | kCastKeys;
  for (const auto& [device, dtype] : m.autocast) {
    s.user_excluded &= ~castKeyOf(device);
    s.autocast_dtype[static_cast<size_t>(device)] = dtype;
  }
  detail::refreshExcluded(s);
}

}  // namespace trace_detail
}  // namespace shunt
