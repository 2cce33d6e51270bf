#include <shunt/tensor/device_guard.h>

#include <array>
#include <atomic>

namespace shunt {
namespace {

/// Of types with one device that does everything at once: the CPU and Meta.
class OneDeviceGuard : public DeviceGuardImplInterface {
 public:
  explicit constexpr OneDeviceGuard(DeviceType type) : type_(type) {}
  DeviceType type() const override { return type_; }
  Device getDevice() const override { return Device(type_); }
  void setDevice(Device device) const override {
    SHUNT_CHECK(device.type() == type_, "setDevice: expected a device of type ", type_, ", got ", device);
  }
  void uncheckedSetDevice(Device) const noexcept override {}
  DeviceIndex deviceCount() const noexcept override { return 1; }

 private:
  DeviceType type_;
};

// Tensors may outlive every static object.
[[clang::no_destroy]] const OneDeviceGuard cpu_guard(kCPU), meta_guard(kMeta);

using GuardTable = std::array<std::atomic<const DeviceGuardImplInterface*>, kNumDeviceTypes>;
GuardTable& guards() {
  static GuardTable* const table = [] {
    auto* made = new GuardTable{};
    (*made)[static_cast<size_t>(kCPU)] = &cpu_guard;
    (*made)[static_cast<size_t>(kMeta)] = &meta_guard;
    return made;
  }();
  return *table;
}

// Acquire: the object was made before it was registered.
const DeviceGuardImplInterface* find(DeviceType type) {
  return guards()[static_cast<size_t>(type)].load(std::memory_order_acquire);
}

}  // namespace

DeviceGuardImplInterface::~DeviceGuardImplInterface() = default;
void DeviceGuardImplInterface::synchronizeDevice(DeviceIndex) const {}

void registerDeviceGuard(DeviceType type, const DeviceGuardImplInterface* guard) {
  SHUNT_CHECK(guard != nullptr, "registerDeviceGuard: the guard of device type ", type, " is null");
  SHUNT_CHECK(guard->type() == type, "registerDeviceGuard: expected a guard of device type ", type, ", got one of ",
              guard->type());
  const DeviceGuardImplInterface* expected = nullptr;
  SHUNT_CHECK(guards()[static_cast<size_t>(type)].compare_exchange_strong(expected, guard) || expected == guard,
              "registerDeviceGuard: device type ", type,
              " already has another device guard; a type has one for the life of the process");
}

bool hasDeviceGuardImpl(DeviceType type) { return find(type) != nullptr; }

const DeviceGuardImplInterface& getDeviceGuardImpl(DeviceType type) {
  const DeviceGuardImplInterface* guard = find(type);
  SHUNT_CHECK(guard != nullptr, "device type ", type,
              " has no device guard: its backend library has to be loaded (load_library), which ",
              "registers one with registerDeviceGuard(DeviceType, const DeviceGuardImplInterface*) "
              "(shunt/tensor/device_guard.h)");
  return *guard;
}

Device ensure_has_index(Device device) {
  if (device.is_cpu() || device.is_meta()) return device;
  const DeviceGuardImplInterface* guard = find(device.type());
  if (guard == nullptr) return device;
  if (!device.has_index()) return guard->getDevice();
  const int count = guard->deviceCount();
  SHUNT_CHECK_INDEX(device.index() < count, "device ", device, " does not exist: there ",
                    count == 1 ? "is 1 device" : detail::str("are ", count, " devices"), " of type ", device.type(),
                    ", numbered from 0");
  return device;
}

void synchronize(Device device) {
  const DeviceGuardImplInterface& guard = getDeviceGuardImpl(device.type());
  guard.synchronizeDevice(ensure_has_index(device).index());
}

DeviceGuard::DeviceGuard(Device device)
    : impl_(getDeviceGuardImpl(device.type())), original_(impl_.getDevice()), current_(ensure_has_index(device)) {
  impl_.setDevice(current_);
}

void DeviceGuard::set_index(DeviceIndex index) {
  current_ = ensure_has_index(Device(original_.type(), index));
  impl_.setDevice(current_);
}

}  // namespace shunt
