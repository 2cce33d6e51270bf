// Device guards: which device of a type is current on a thread, how many there are, and waiting for one.
//
// A backend implements DeviceGuardImplInterface and registers one object of it, for the life of the process; it is
// called from any thread. The CPU's and Meta's stand here. A type without one has devices without index only: nothing
// asks for their number. Registering is one atomic exchange; reading it one load.
#pragma once

#include <shunt/tensor/device.h>

#include <optional>

namespace shunt {

/// What a backend implements, as c10::impl::DeviceGuardImplInterface. "Current" is per thread.
class SHUNT_API DeviceGuardImplInterface {
 public:
  virtual ~DeviceGuardImplInterface();
  virtual DeviceType type() const = 0;
  /// With an index.
  virtual Device getDevice() const = 0;
  /// Throws unless `device` is of this type and its index below deviceCount().
  virtual void setDevice(Device device) const = 0;
  /// For destructors: `device` came from getDevice().
  virtual void uncheckedSetDevice(Device device) const noexcept = 0;
  virtual DeviceIndex deviceCount() const noexcept = 0;
  /// Returns when everything that was queued on the device has run. Default: nothing is ever queued.
  virtual void synchronizeDevice(DeviceIndex index) const;
};

/// Throws when another object is registered for the type; the same one again changes nothing. It must outlive the
/// process's tensors.
SHUNT_API void registerDeviceGuard(DeviceType type, const DeviceGuardImplInterface* guard);
/// Whether a device guard is registered for the type.
SHUNT_API bool hasDeviceGuardImpl(DeviceType type);
/// Throws an Error that says what to register when the type has none.
SHUNT_API const DeviceGuardImplInterface& getDeviceGuardImpl(DeviceType type);

/// The device with its index: the thread's current one of its type where it names none. Throws IndexError when there is
/// no device of that index. As given for cpu, meta and types without a guard.
SHUNT_API Device ensure_has_index(Device device);
/// Waits for a device; without an index, for the current one.
SHUNT_API void synchronize(Device device);

/// Makes a device current on this thread for a scope.
class SHUNT_API DeviceGuard {
 public:
  explicit DeviceGuard(Device device);
  ~DeviceGuard() { impl_.uncheckedSetDevice(original_); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  /// The device that the guard restores, and the one that it set.
  Device original_device() const { return original_; }
  Device current_device() const { return current_; }
  /// Another device of the same type; the one before the guard comes back at its end all the same.
  void set_index(DeviceIndex index);

 private:
  const DeviceGuardImplInterface& impl_;
  Device original_;
  Device current_;
};

/// DeviceGuard where there may be no device to make current.
class [[nodiscard]] OptionalDeviceGuard {
 public:
  explicit OptionalDeviceGuard(std::optional<Device> device) {
    if (device) guard_.emplace(*device);
  }

 private:
  std::optional<DeviceGuard> guard_;
};

}  // namespace shunt
