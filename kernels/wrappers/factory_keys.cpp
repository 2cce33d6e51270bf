#include "kernels/wrappers/factory_keys.h"

#include <shunt/core/error.h>

#include <array>

namespace shunt::wrappers {

namespace {

struct DeviceKey {
  DeviceType device;
  DispatchKey key;
};
// Device types that are no backend but have a key of their own.
constexpr std::array kOwnKeys = {
    DeviceKey{DeviceType::MKLDNN, DispatchKey::MkldnnCPU}, DeviceKey{DeviceType::FPGA, DispatchKey::FPGA},
    DeviceKey{DeviceType::ORT, DispatchKey::ORT}, DeviceKey{DeviceType::Vulkan, DispatchKey::Vulkan},
    DeviceKey{DeviceType::Metal, DispatchKey::Metal}};

}  // namespace

void throwNoKeyFor(const char* op, Device device) {
  throw Error(detail::str(op, ": the device ", device,
                          " has no backend here; tensors can be made on cpu and meta, and on "
                          "devices whose backend is registered: a library that load_library loads and that calls "
                          "rename_privateuse1_backend with the device's name"));
}

DispatchKeySet otherFactoryKeys(const char* op, Layout layout, Device device) {
  for (const DeviceKey& own : kOwnKeys)
    if (own.device == device.type()) return DispatchKeySet(own.key);
  const BackendComponent backend = backendOf(device.type());
  if (deviceTypeOf(backend) != device.type()) throwNoKeyFor(op, device);
  switch (layout) {
    case kStrided:
      return DispatchKeySet(toRuntimeKey(Functionality::Dense, backend));
    case kSparse:
      return DispatchKeySet(toRuntimeKey(Functionality::SparseFunctionality, backend));
    default:
      throw NotImplementedError(detail::str(op, ": the layout ", layout, " has no backend here; use Strided"));
  }
}

}  // namespace shunt::wrappers
