// Dispatch keys: the one table of their order, and the enum made from it.
//
// Two kinds of bits make a keyset (dispatch_key_set.h): *backends* say what holds the data, *functionalities* say what
// happens to a call. A DispatchKey names a functionality (BackendSelect), one functionality on one backend
// (AutogradCPU), or an alias that stands for several keys in a registration (CompositeImplicitAutograd).
// Functionalities that have a key for each backend are keys, too (Dense), as parts of keysets only: no kernel is
// registered for one. Constants only; any thread.
//
// Order: SHUNT_FORALL_FUNCTIONALITIES lists from the highest priority to the lowest. The seven keys of the published
// order stand as Python > Functionalize > ADInplaceOrView > Autograd > Autocast > BackendSelect > backends.
#pragma once

#include <shunt/core/macros.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace shunt {

// Backends, lowest first: X(name).
// clang-format off
#define SHUNT_FORALL_BACKENDS(X) \
  X(CPU) X(CUDA) X(HIP) X(XLA) X(MPS) X(IPU) X(XPU) X(HPU) X(VE) X(Lazy) X(Meta) \
  X(PrivateUse1) X(PrivateUse2) X(PrivateUse3)
// clang-format on

// Functionalities, highest priority first: S(name) is one key; P(name, prefix) has one key per backend, named
// prefix##backend.
#define SHUNT_FORALL_FUNCTIONALITIES(S, P)   \
  S(Python)                                  \
  S(PythonTLSSnapshot)                       \
  S(Functionalize)                           \
  S(VmapMode)                                \
  S(Batched)                                 \
  S(Tracer)                                  \
  S(Named)                                   \
  S(Conjugate)                               \
  S(Negative)                                \
  S(ZeroTensor)                              \
  S(ADInplaceOrView)                         \
  S(AutogradNestedTensor)                    \
  P(AutogradFunctionality, Autograd)         \
  S(AutogradOther)                           \
  S(AutocastCPU)                             \
  S(AutocastCUDA)                            \
  S(AutocastXPU)                             \
  S(AutocastHPU)                             \
  S(AutocastPrivateUse1)                     \
  S(AutocastPrivateUse2)                     \
  S(AutocastPrivateUse3)                     \
  S(Fake)                                    \
  S(PythonKernel)                            \
  S(TransformBack)                           \
  S(BackendSelect)                           \
  S(CustomRNGKeyId)                          \
  S(MkldnnCPU)                               \
  S(SparseCsrCUDA)                           \
  S(SparseCsrCPU)                            \
  S(ORT)                                     \
  S(FPGA)                                    \
  S(Metal)                                   \
  S(Vulkan)                                  \
  P(NestedTensorFunctionality, NestedTensor) \
  P(SparseFunctionality, Sparse)             \
  P(QuantizedFunctionality, Quantized)       \
  P(Dense, )

// Alias keys: accepted by registrations only.
#define SHUNT_FORALL_ALIASES(X) X(Autograd) X(Autocast) X(CompositeImplicitAutograd) X(CompositeExplicitAutograd)

/// The bit of a backend inside a keyset, counted from the lowest. InvalidBit is that of keys without a backend.
enum class BackendComponent : uint8_t {
#define SHUNT_BACKEND(name) name,
  SHUNT_FORALL_BACKENDS(SHUNT_BACKEND)
#undef SHUNT_BACKEND
      InvalidBit,
  EndOfBackendKeys = InvalidBit,
// Other spellings.
#define SHUNT_BACKEND(name) name##Bit = name,
  SHUNT_FORALL_BACKENDS(SHUNT_BACKEND)
#undef SHUNT_BACKEND
};

#define SHUNT_COUNT(name) +1
#define SHUNT_COUNT2(name, prefix) +1
#define SHUNT_NOTHING(...)
/// How many backends there are, how many functionalities, and how many of these have a key for each backend.
inline constexpr int kNumBackends = 0 SHUNT_FORALL_BACKENDS(SHUNT_COUNT);
inline constexpr int kNumFunctionalities = 0 SHUNT_FORALL_FUNCTIONALITIES(SHUNT_COUNT, SHUNT_COUNT2);
inline constexpr int kNumPerBackend = 0 SHUNT_FORALL_FUNCTIONALITIES(SHUNT_NOTHING, SHUNT_COUNT2);
static_assert(kNumBackends + kNumFunctionalities <= 64, "a keyset is one 64-bit word");

/// Functionalities, highest priority first. Values count *down* from the top bit of a keyset; see functionalityBit.
enum class Functionality : uint8_t {
#define SHUNT_F1(name) name,
#define SHUNT_F2(name, prefix) name,
  SHUNT_FORALL_FUNCTIONALITIES(SHUNT_F1, SHUNT_F2)
#undef SHUNT_F1
#undef SHUNT_F2
};

// Expands X(prefix##backend) for every backend.
// clang-format off
#define SHUNT_PER_BACKEND(X, prefix)                                                                               \
  X(prefix##CPU) X(prefix##CUDA) X(prefix##HIP) X(prefix##XLA) X(prefix##MPS) X(prefix##IPU) X(prefix##XPU)        \
  X(prefix##HPU) X(prefix##VE) X(prefix##Lazy) X(prefix##Meta) X(prefix##PrivateUse1) X(prefix##PrivateUse2)       \
  X(prefix##PrivateUse3)
// clang-format on

// The functionalities with a key per backend, lowest first: B(name, prefix).
// clang-format off
#define SHUNT_FORALL_PER_BACKEND(B) \
  B(Dense, ) B(Quantized, Quantized) B(Sparse, Sparse) B(NestedTensor, NestedTensor) B(AutogradFunctionality, Autograd)
// clang-format on

/// Every run-time key, every functionality that is none, every alias, and `Undefined` (no tensor arguments). Start...
/// and End... mark groups of neighbours for loops over keys.
// clang-format off
enum class DispatchKey : uint16_t {
  Undefined = 0,
#define SHUNT_K(name) name,
#define SHUNT_P(name, prefix) name,
  SHUNT_FORALL_FUNCTIONALITIES(SHUNT_K, SHUNT_P)
#undef SHUNT_P
  EndOfFunctionalityKeys,
#define SHUNT_B(name, prefix) \
  StartOf##name##Backends, SHUNT_PER_BACKEND(SHUNT_K, prefix) EndOf##name##Backends = prefix##PrivateUse3,
  SHUNT_FORALL_PER_BACKEND(SHUNT_B)
#undef SHUNT_B
  EndOfRuntimeBackendKeys = EndOfAutogradFunctionalityBackends,
  SHUNT_FORALL_ALIASES(SHUNT_K)
#undef SHUNT_K
  EndOfKeys,
  StartOfAliasKeys = Autograd,
  EndOfAliasKeys = EndOfKeys - 1,
  // Other spellings.
  Quantized = QuantizedFunctionality,
  Sparse = SparseFunctionality,
  NestedTensor = NestedTensorFunctionality,
  CompositeImplicit = CompositeImplicitAutograd,
  CompositeExplicit = CompositeExplicitAutograd,
  CatchAll = CompositeImplicitAutograd,
  Default = CompositeImplicitAutograd,
  DefaultBackend = CompositeExplicitAutograd,
  CPUTensorId = CPU,
  CUDATensorId = CUDA,
  // Keys that Shunt leaves to programs: upstream's test programs put wrappers of their own there.
  TESTING_ONLY_GenericWrapper = Named,
  TESTING_ONLY_GenericMode = VmapMode,
};
// clang-format on

/// What a key is made of: a keyset has `bits` of it. `backend` is meaningful only where `per_backend`.
struct KeyParts {
  Functionality functionality{};
  BackendComponent backend{};
  bool per_backend = false;
  int16_t slot = -1;  // in an operator's table; none for aliases, marks and functionalities that have one per backend
  uint64_t bits = 0;
};

namespace detail {

struct FunctionalityInfo {
  uint16_t first_slot;  // the slot of the key itself, or of its CPU variant
  bool per_backend;
  DispatchKey key;    // the functionality's own
  DispatchKey first;  // the key of its first slot
};

/// Slots are numbered from the highest priority down; slot 0 is Undefined.
consteval std::array<FunctionalityInfo, kNumFunctionalities> makeFunctionalityInfo() {
  std::array<FunctionalityInfo, kNumFunctionalities> out{};
  size_t i = 0;
  uint16_t slot = 1;
#define SHUNT_F1(name)                                            \
  out[i++] = {slot, false, DispatchKey::name, DispatchKey::name}; \
  slot = static_cast<uint16_t>(slot + 1);
#define SHUNT_F2(name, prefix)                                          \
  out[i++] = {slot, true, DispatchKey::name, DispatchKey::prefix##CPU}; \
  slot = static_cast<uint16_t>(slot + kNumBackends);
  SHUNT_FORALL_FUNCTIONALITIES(SHUNT_F1, SHUNT_F2)
#undef SHUNT_F1
#undef SHUNT_F2
  return out;
}
inline constexpr auto kFunctionalityInfo = makeFunctionalityInfo();

}  // namespace detail

/// The number of slots in an operator's table, and of keys.
inline constexpr int kNumSlots = 1 + kNumFunctionalities - kNumPerBackend + kNumPerBackend * kNumBackends;
inline constexpr size_t kNumKeys = static_cast<size_t>(DispatchKey::EndOfKeys);

namespace detail {

constexpr uint64_t bitOf(Functionality f) { return uint64_t{1} << (63 - static_cast<int>(f)); }
constexpr uint64_t bitOf(BackendComponent b) {
  return b == BackendComponent::InvalidBit ? 0 : uint64_t{1} << static_cast<int>(b);
}

consteval std::array<KeyParts, kNumKeys> makeKeyParts() {
  std::array<KeyParts, kNumKeys> out{};
  out[0].slot = 0;
  for (int i = 0; i < kNumFunctionalities; ++i) {
    const FunctionalityInfo& info = kFunctionalityInfo[static_cast<size_t>(i)];
    const auto f = static_cast<Functionality>(i);
    const auto first = static_cast<size_t>(info.first);
    out[static_cast<size_t>(info.key)] = {f, {}, false, -1, bitOf(f)};
    if (info.per_backend) out[first - 1] = out[static_cast<size_t>(info.key)];  // the mark before the first
    for (int b = 0; b < (info.per_backend ? kNumBackends : 1); ++b) {
      const auto backend = static_cast<BackendComponent>(b);
      out[first + static_cast<size_t>(b)] = {f, backend, info.per_backend, static_cast<int16_t>(info.first_slot + b),
                                             bitOf(f) | (info.per_backend ? bitOf(backend) : 0)};
    }
  }
  return out;
}
inline constexpr auto kKeyParts = makeKeyParts();

consteval std::array<DispatchKey, kNumSlots> makeKeyOfSlot() {
  std::array<DispatchKey, kNumSlots> out{};
  for (size_t k = 0; k < kNumKeys; ++k)
    if (kKeyParts[k].slot >= 0) out[static_cast<size_t>(kKeyParts[k].slot)] = static_cast<DispatchKey>(k);
  return out;
}
inline constexpr auto kKeyOfSlot = makeKeyOfSlot();

}  // namespace detail

/// Whether it stands for several keys, as CompositeImplicitAutograd does; kernels are registered for it, calls have
/// none.
constexpr bool isAliasKey(DispatchKey k) { return k >= DispatchKey::StartOfAliasKeys && k < DispatchKey::EndOfKeys; }
constexpr const KeyParts& partsOf(DispatchKey k) { return detail::kKeyParts[static_cast<size_t>(k)]; }
/// Whether kernels can be registered for it alone: it has a slot in each operator's table.
constexpr bool isRuntimeKey(DispatchKey k) { return k < DispatchKey::EndOfKeys && partsOf(k).slot >= 0; }
constexpr int slotOf(DispatchKey k) { return partsOf(k).slot; }
constexpr DispatchKey keyOfSlot(std::integral auto slot) { return detail::kKeyOfSlot[static_cast<size_t>(slot)]; }
constexpr bool isPerBackend(Functionality f) { return detail::kFunctionalityInfo[static_cast<size_t>(f)].per_backend; }

/// The key of a functionality on a backend (the functionality's own key where it has no variants).
constexpr DispatchKey toRuntimeKey(Functionality f, BackendComponent b) {
  const auto& info = detail::kFunctionalityInfo[static_cast<size_t>(f)];
  return static_cast<DispatchKey>(static_cast<int>(info.first) + (info.per_backend ? static_cast<int>(b) : 0));
}
/// A key without its backend: AutogradFunctionality of AutogradCPU.
constexpr DispatchKey toFunctionalityKey(DispatchKey k) {
  return partsOf(k).bits == 0 ? DispatchKey::Undefined
                              : detail::kFunctionalityInfo[static_cast<size_t>(partsOf(k).functionality)].key;
}
/// The same from the functionality's key.
constexpr DispatchKey toRuntimePerBackendFunctionalityKey(DispatchKey functionality, BackendComponent b) {
  return toRuntimeKey(partsOf(functionality).functionality, b);
}

SHUNT_API const char* toString(DispatchKey key);
SHUNT_API const char* toString(BackendComponent backend);
SHUNT_API const char* toString(Functionality functionality);
/// The key of that name (also the aliases' other spellings), or nothing.
SHUNT_API std::optional<DispatchKey> parseDispatchKey(std::string_view name);
inline std::ostream& operator<<(std::ostream& out, DispatchKey key) { return out << toString(key); }

}  // namespace shunt
