// The keyset of a factory's call below BackendSelect. Pure; any thread.
#pragma once

#include <shunt/core/dispatch_key_set.h>
#include <shunt/tensor/device.h>
#include <shunt/tensor/layout.h>

#include <optional>

namespace shunt::wrappers {

[[noreturn]] SHUNT_COLD void throwNoKeyFor(const char* op, Device device);
/// Slow path: anything but a dense CPU tensor.
SHUNT_NOINLINE DispatchKeySet otherFactoryKeys(const char* op, Layout layout, Device device);

/// `op` for messages. A device without backend gives its own key, and the dispatcher says what is missing.
inline DispatchKeySet factoryKeys(const char* op, std::optional<Layout> layout, std::optional<Device> device) {
  const Device d = device.value_or(Device(kCPU));
  const Layout l = layout.value_or(kStrided);
  if (d.is_cpu() && l == kStrided) [[likely]]
    return DispatchKeySet(DispatchKey::CPU);
  return otherFactoryKeys(op, l, d);
}

}  // namespace shunt::wrappers
