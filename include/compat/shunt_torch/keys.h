// The counts and lists of dispatch keys by the names of c10/core/DispatchKey.h. Constants only.
#pragma once

#include <shunt/core/dispatch_key_set.h>

namespace shunt {

inline constexpr uint8_t num_backends = kNumBackends;
/// Includes Undefined.
inline constexpr uint8_t num_functionality_keys = static_cast<uint8_t>(DispatchKey::EndOfFunctionalityKeys);
inline constexpr uint16_t num_runtime_entries = kNumSlots;

}  // namespace shunt

#define C10_FORALL_BACKEND_COMPONENTS(_) SHUNT_FORALL_BACKENDS(_)
#define C10_FORALL_FUNCTIONALITY_KEYS(_) SHUNT_FORALL_PER_BACKEND(_)
