// Device guards: select the thread's current device of a type, count devices, and wait for a device.
//
// A backend implements DeviceGuardImplInterface and registers one object, which must live as long as the process. Any
// thread calls it. The library registers those of CPU and Meta. For a type without a guard, device indices are not
// checked. Registering is one atomic exchange; reading is one load.
#pragma once

#include <shunt/tensor/device.h>

#include <optional>

namespace shunt {

/// The interface that a backend implements, as c10::impl::DeviceGuardImplInterface. Each thread has its current device.
class SHUNT_API DeviceGuardImplInterface {
 public:
  virtual ~DeviceGuardImplInterface();
  virtual DeviceType type() const = 0;
  /// The thread's current device, with its index.
  virtual Device getDevice() const = 0;
  /// Throws unless `device` has this type and an index below deviceCount().
  virtual void setDevice(Device device) const = 0;
  /// For destructors. `device` must come from getDevice().
  virtual void uncheckedSetDevice(Device device) const noexcept = 0;
  virtual DeviceIndex deviceCount() const noexcept = 0;
  /// Returns when all work queued on the device has finished. The default does nothing, for devices without a queue.
  virtual void synchronizeDevice(DeviceIndex index) const;
};

/// Registers a guard, which must outlive all tensors. Throws when another object is registered for the type.
/// Registering the same object again has no effect.
SHUNT_API void registerDeviceGuard(DeviceType type, const DeviceGuardImplInterface* guard);
/// Whether a device guard is registered for the type.
SHUNT_API bool hasDeviceGuardImpl(DeviceType type);
/// The registered guard. When the type has none, throws an Error that explains what to register.
SHUNT_API const DeviceGuardImplInterface& getDeviceGuardImpl(DeviceType type);

/// `device` with an index. A device without an index becomes the thread's current device of its type. Throws IndexError
/// when no device has the index. CPU, Meta and types without a guard are returned unchanged.
SHUNT_API Device ensure_has_index(Device device);
/// Waits for a device, or for the current device of the type when `device` has no index.
SHUNT_API void synchronize(Device device);

/// Makes a device current on this thread for a scope. The destructor restores the previous device.
class SHUNT_API DeviceGuard {
 public:
  explicit DeviceGuard(Device device);
  ~DeviceGuard() { impl_.uncheckedSetDevice(original_); }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  /// The device that the destructor restores, and the device that the guard has set.
  Device original_device() const { return original_; }
  Device current_device() const { return current_; }
  /// Makes another device of the same type current. The destructor still restores original_device().
  void set_index(DeviceIndex index);

 private:
  const DeviceGuardImplInterface& impl_;
  Device original_;
  Device current_;
};

/// A DeviceGuard that does nothing for nullopt.
class [[nodiscard]] OptionalDeviceGuard {
 public:
  explicit OptionalDeviceGuard(std::optional<Device> device) {
    if (device) guard_.emplace(*device);
  }

 private:
  std::optional<DeviceGuard> guard_;
};

}  // namespace shunt
