#include <shunt/core/by_name.h>
#include <shunt/core/dispatch_key_set.h>

namespace shunt {
namespace {

constexpr const char* kKeyNames[] = {"Undefined",
#define SHUNT_K(name) #name,
#define SHUNT_P(name, prefix) #name,
#define SHUNT_B(name, prefix) "StartOf" #name "Backends", SHUNT_PER_BACKEND(SHUNT_K, prefix)
                                     SHUNT_FORALL_FUNCTIONALITIES(SHUNT_K, SHUNT_P) "EndOfFunctionalityKeys",
                                     SHUNT_FORALL_PER_BACKEND(SHUNT_B) SHUNT_FORALL_ALIASES(SHUNT_K)
#undef SHUNT_K
#undef SHUNT_P
#undef SHUNT_B
};
static_assert(std::size(kKeyNames) == kNumKeys);

constexpr const char* kBackendNames[] = {
#define SHUNT_BACKEND(name) #name,
    SHUNT_FORALL_BACKENDS(SHUNT_BACKEND)
#undef SHUNT_BACKEND
        "InvalidBit"};

constexpr const char* kFunctionalityNames[] = {
#define SHUNT_F1(name) #name,
#define SHUNT_F2(name, prefix) #name,
    SHUNT_FORALL_FUNCTIONALITIES(SHUNT_F1, SHUNT_F2)
#undef SHUNT_F1
#undef SHUNT_F2
};

struct OtherSpelling {
  std::string_view name;
  DispatchKey key;
};
constexpr OtherSpelling kOtherSpellings[] = {
    {"CompositeImplicit", DispatchKey::CompositeImplicitAutograd},
    {"CompositeExplicit", DispatchKey::CompositeExplicitAutograd},
    {"CatchAll", DispatchKey::CompositeImplicitAutograd},
    {"Default", DispatchKey::CompositeImplicitAutograd},
    {"DefaultBackend", DispatchKey::CompositeExplicitAutograd},
    {"CPUTensorId", DispatchKey::CPU},
    {"CUDATensorId", DispatchKey::CUDA},
    {"View", DispatchKey::ADInplaceOrView},
};

}  // namespace

const char* toString(DispatchKey key) {
  const auto i = static_cast<size_t>(key);
  return i < std::size(kKeyNames) ? kKeyNames[i] : "InvalidDispatchKey";
}

const char* toString(BackendComponent backend) { return kBackendNames[static_cast<size_t>(backend)]; }

const char* toString(Functionality functionality) { return kFunctionalityNames[static_cast<size_t>(functionality)]; }

std::optional<DispatchKey> parseDispatchKey(std::string_view name) {
  for (size_t i = 0; i < std::size(kKeyNames); ++i) {
    const auto key = static_cast<DispatchKey>(i);
    const bool is_key = key == DispatchKey::Undefined || isAliasKey(key) || partsOf(key).bits != 0;
    if (kKeyNames[i] == name && is_key && !name.starts_with("StartOf")) return key;
  }
  for (const OtherSpelling& other : kOtherSpellings)
    if (other.name == name) return other.key;
  return std::nullopt;
}

std::vector<std::string> detail::dispatchKeyNames() {
  std::vector<std::string> names;
  for (size_t i = 0; i < kNumKeys; ++i)
    if (const char* name = toString(static_cast<DispatchKey>(i)); parseDispatchKey(name)) names.emplace_back(name);
  return names;
}

std::string toString(DispatchKeySet keyset) {
  std::string out;
  for (DispatchKey key : keyset.keys()) {
    if (!out.empty()) out += ", ";
    out += toString(key);
  }
  return out.empty() ? "(none)" : out;
}

}  // namespace shunt
