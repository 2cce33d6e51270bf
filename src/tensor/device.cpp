#include <shunt/tensor/device.h>

#include <array>
#include <charconv>

namespace shunt {
namespace {
constexpr const char* kDeviceNames[] = {
#define SHUNT_DEVICE(name, text, backend) text,
    SHUNT_FORALL_DEVICE_TYPES(SHUNT_DEVICE)
#undef SHUNT_DEVICE
};
constexpr BackendComponent kDeviceBackends[] = {
#define SHUNT_DEVICE(name, text, backend) BackendComponent::backend,
    SHUNT_FORALL_DEVICE_TYPES(SHUNT_DEVICE)
#undef SHUNT_DEVICE
};

DeviceType parseType(std::string_view name, const std::string& whole) {
  for (int i = 0; i < kNumDeviceTypes; ++i)
    if (kDeviceNames[i] == name) return static_cast<DeviceType>(i);
  std::string known;
  for (const char* n : kDeviceNames) known += (known.empty() ? "" : ", ") + std::string(n);
  throw Error(detail::str("Expected one of ", known, " device type at start of device string: ", whole.empty() ? "''" : whole));
}
}  // namespace

Device::Device(const std::string& text) : type_(kCPU), index_(-1) {
  const size_t colon = text.find(':');
  type_ = parseType(std::string_view(text).substr(0, colon), text);
  if (colon == std::string::npos) return;
  const char* first = text.data() + colon + 1;
  const char* last = text.data() + text.size();
  int index = -1;
  const auto [end, error] = std::from_chars(first, last, index);
  SHUNT_CHECK(error == std::errc() && end == last && index >= 0 && index <= 127 && (last - first == 1 || *first != '0'),
              "Invalid device string: '", text, "': the index after ':' must be a number from 0 to 127");
  index_ = static_cast<DeviceIndex>(index);
}

std::string Device::str() const {
  std::string out = deviceTypeName(type_);
  if (has_index()) out += ":" + std::to_string(index_);
  return out;
}

const char* deviceTypeName(DeviceType type) { return kDeviceNames[static_cast<size_t>(type)]; }

BackendComponent backendOf(DeviceType type) { return kDeviceBackends[static_cast<size_t>(type)]; }

DeviceType deviceTypeOf(BackendComponent backend) {
  for (int i = 0; i < kNumDeviceTypes; ++i)
    if (kDeviceBackends[i] == backend) return static_cast<DeviceType>(i);
  throw Error(detail::str("backend ", toString(backend), " has no device type"));
}

}  // namespace shunt
