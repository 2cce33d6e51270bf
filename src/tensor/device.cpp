#include <shunt/core/near_names.h>
#include <shunt/tensor/privateuse1.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <memory>
#include <optional>

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

// The names that PrivateUse1, 2 and 3 were given, or null. Never freed: names are read without a lock.
constinit std::array<std::atomic<const char*>, kNumDeviceTypes - static_cast<int>(kPrivateUse1)> given_names{};

std::atomic<const char*>& givenName(DeviceType type) {
  return given_names[static_cast<size_t>(type) - static_cast<size_t>(kPrivateUse1)];
}

// Types with neither a backend nor a key of their own: nothing can ever be on them, so a backend may have their names.
constexpr DeviceType kNamesOnly[] = {DeviceType::OPENGL, DeviceType::OPENCL, DeviceType::IDEEP};

std::optional<DeviceType> findType(std::string_view name) {
  for (DeviceType type : {kPrivateUse1, kPrivateUse2, kPrivateUse3})
    if (const char* given = givenName(type).load(std::memory_order_acquire); given != nullptr && name == given)
      return type;
  for (int i = 0; i < kNumDeviceTypes; ++i)
    if (kDeviceNames[i] == name) return static_cast<DeviceType>(i);
  return std::nullopt;
}

DeviceType parseType(std::string_view name, const std::string& whole) {
  if (const auto type = findType(name)) return *type;
  // Those that are there without a library that brings one, and those that libraries have named.
  std::string known = "cpu, meta";
  std::vector<std::string> names(std::begin(kDeviceNames), std::end(kDeviceNames));
  for (const auto& given : given_names)
    if (const char* n = given.load(std::memory_order_acquire)) {
      known += ", " + std::string(n);
      names.emplace_back(n);
    }
  throw Error(detail::str("Expected one of ", known,
                          ", or the type of a backend that is loaded, such as cuda, at start of device string: ",
                          whole.empty() ? "''" : whole, detail::didYouMean(name, names)));
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

const char* deviceTypeName(DeviceType type) {
  if (isPrivateUse(type))
    if (const char* given = givenName(type).load(std::memory_order_acquire)) return given;
  return kDeviceNames[static_cast<size_t>(type)];
}

void rename_privateuse_backend(DeviceType type, const std::string& name) {
  const auto isWord = [](char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); };
  SHUNT_CHECK(isPrivateUse(type), "rename_privateuse_backend: expected the device type of PrivateUse1, 2 or 3, got ",
              type, ", which has a name");
  const std::string key = toString(backendOf(type));
  SHUNT_CHECK(
      !name.empty() && name[0] >= 'a' && name[0] <= 'z' && std::ranges::all_of(name, isWord),
      "rename_privateuse1_backend: expected lower-case letters, digits and underscores, the first a letter, got '",
      name, "' for ", key);
  const auto taken = findType(name);
  SHUNT_CHECK(!taken || *taken == type || std::ranges::count(kNamesOnly, *taken) != 0, "rename_privateuse1_backend: '",
              name, "' is the name of another device type, one with a ",
              backendOf(*taken) == BackendComponent::CPU ? "key" : "backend", " of its own; choose another name for ",
              key);
  auto text = std::make_unique<char[]>(name.size() + 1);
  std::ranges::copy(name, text.get());
  const char* before = nullptr;
  if (givenName(type).compare_exchange_strong(before, text.get())) return (void)text.release();
  SHUNT_CHECK(name == before, "rename_privateuse1_backend: ", key, " has been renamed to '", before,
              "' already, and can't become '", name, "': a process has one such backend; PrivateUse2 and PrivateUse3 ",
              "are for more");
}

void rename_privateuse1_backend(const std::string& name) { rename_privateuse_backend(kPrivateUse1, name); }

std::string get_privateuse1_backend() { return deviceTypeName(kPrivateUse1); }

BackendComponent backendOf(DeviceType type) { return kDeviceBackends[static_cast<size_t>(type)]; }

DeviceType deviceTypeOf(BackendComponent backend) {
  for (int i = 0; i < kNumDeviceTypes; ++i)
    if (kDeviceBackends[i] == backend) return static_cast<DeviceType>(i);
  throw Error(detail::str("backend ", toString(backend), " has no device type"));
}

}  // namespace shunt
