// Dispatch keys: the one table of their order, and the enums made from it. Constants only; any thread.
//
// A keyset (dispatch_key_set.h) has two kinds of bits: *backends* say where the data is, *functionalities* say what
// happens to a call. A DispatchKey names one of the following:
// - a functionality without variants (BackendSelect)
// - a functionality on one backend (AutogradCPU)
// - a functionality that has a key for each backend (Dense). It occurs only in keysets: no kernel is registered for it.
// - an alias that stands for several keys in a registration (CompositeImplicitAutograd)
//
// SHUNT_FORALL_FUNCTIONALITIES defines the order, from the highest priority to the lowest. The seven published keys
// have the order Python > Functionalize > ADInplaceOrView > Autograd > Autocast > BackendSelect > backends.
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

// X(name) for each backend, the lowest bit first.
// clang-format off
#define SHUNT_FORALL_BACKENDS(X) \
  X(CPU) X(CUDA) X(HIP) X(XLA) X(MPS) X(IPU) X(XPU) X(HPU) X(VE) X(Lazy) X(Meta) \
  X(PrivateUse1) X(PrivateUse2) X(PrivateUse3)
// clang-format on

// Functionalities, the highest priority first: S(name) for those with one key; P(name, prefix) for those with one key
// per backend, named prefix##backend.
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

// X(name) for each alias key. Only registrations accept them.
#define SHUNT_FORALL_ALIASES(X) X(Autograd) X(Autocast) X(CompositeImplicitAutograd) X(CompositeExplicitAutograd)

/// The bit of a backend in a keyset, counted from the lowest. Keys without a backend have InvalidBit.
enum class BackendComponent : uint8_t {
#define SHUNT_BACKEND(name) name,
  SHUNT_FORALL_BACKENDS(SHUNT_BACKEND)
#undef SHUNT_BACKEND
      InvalidBit,
  EndOfBackendKeys = InvalidBit,
// PyTorch's spellings.
#define SHUNT_BACKEND(name) name##Bit = name,
  SHUNT_FORALL_BACKENDS(SHUNT_BACKEND)
#undef SHUNT_BACKEND
};

#define SHUNT_COUNT(name) +1
#define SHUNT_COUNT2(name, prefix) +1
#define SHUNT_NOTHING(...)
/// The number of backends, of functionalities, and of functionalities with a key for each backend.
inline constexpr int kNumBackends = 0 SHUNT_FORALL_BACKENDS(SHUNT_COUNT);
inline constexpr int kNumFunctionalities = 0 SHUNT_FORALL_FUNCTIONALITIES(SHUNT_COUNT, SHUNT_COUNT2);
inline constexpr int kNumPerBackend = 0 SHUNT_FORALL_FUNCTIONALITIES(SHUNT_NOTHING, SHUNT_COUNT2);
static_assert(kNumBackends + kNumFunctionalities <= 64, "a keyset is one 64-bit word");

/// Functionalities, the highest priority first. Functionality f is bit 63 - f of a keyset.
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

/// All run-time keys, functionalities with a key per backend, aliases, and `Undefined` (a call without tensors).
/// StartOf... and EndOf... delimit neighbours, for loops over keys.
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
  // Keys that Shunt doesn't use. PyTorch's tests register wrappers for them.
  TESTING_ONLY_GenericWrapper = Named,
  TESTING_ONLY_GenericMode = VmapMode,
};
// clang-format on

/// The parts of a key.
struct KeyParts {
  Functionality functionality{};
  BackendComponent backend{};  // meaningful only if per_backend
  bool per_backend = false;
  int16_t slot = -1;  // in operators' tables; -1 for aliases, StartOf... and functionalities with one slot per backend
  uint64_t bits = 0;  // in a keyset
};

namespace detail {

struct FunctionalityInfo {
  uint16_t first_slot;  // the slot of the key itself, or of its CPU variant
  bool per_backend;
  DispatchKey key;    // without a backend
  DispatchKey first;  // the key of first_slot
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

/// The number of slots in an operator's table, and the number of DispatchKey's values.
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
    if (info.per_backend) out[first - 1] = out[static_cast<size_t>(info.key)];  // StartOf...
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

/// Whether the key stands for several keys in a registration. Calls never have such a key.
constexpr bool isAliasKey(DispatchKey k) { return k >= DispatchKey::StartOfAliasKeys && k < DispatchKey::EndOfKeys; }
/// `k` must be below EndOfKeys.
constexpr const KeyParts& partsOf(DispatchKey k) { return detail::kKeyParts[static_cast<size_t>(k)]; }
/// Whether the key has a slot in each operator's table, so that kernels can be registered for it alone.
constexpr bool isRuntimeKey(DispatchKey k) { return k < DispatchKey::EndOfKeys && partsOf(k).slot >= 0; }
/// The key's slot, or -1.
constexpr int slotOf(DispatchKey k) { return partsOf(k).slot; }
constexpr DispatchKey keyOfSlot(std::integral auto slot) { return detail::kKeyOfSlot[static_cast<size_t>(slot)]; }
/// Whether the functionality has a key for each backend.
constexpr bool isPerBackend(Functionality f) { return detail::kFunctionalityInfo[static_cast<size_t>(f)].per_backend; }

/// The key of the functionality on the backend. A functionality with one key ignores the backend.
constexpr DispatchKey toRuntimeKey(Functionality f, BackendComponent b) {
  const auto& info = detail::kFunctionalityInfo[static_cast<size_t>(f)];
  return static_cast<DispatchKey>(static_cast<int>(info.first) + (info.per_backend ? static_cast<int>(b) : 0));
}
/// The key without its backend: AutogradFunctionality for AutogradCPU. Undefined for keys without bits.
constexpr DispatchKey toFunctionalityKey(DispatchKey k) {
  return partsOf(k).bits == 0 ? DispatchKey::Undefined
                              : detail::kFunctionalityInfo[static_cast<size_t>(partsOf(k).functionality)].key;
}
/// toRuntimeKey for a functionality given as a key (PyTorch's name).
constexpr DispatchKey toRuntimePerBackendFunctionalityKey(DispatchKey functionality, BackendComponent b) {
  return toRuntimeKey(partsOf(functionality).functionality, b);
}

/// The enumerator's name.
SHUNT_API const char* toString(DispatchKey key);
SHUNT_API const char* toString(BackendComponent backend);
SHUNT_API const char* toString(Functionality functionality);
/// The key with that name or another spelling of it; nothing if there is none.
SHUNT_API std::optional<DispatchKey> parseDispatchKey(std::string_view name);
inline std::ostream& operator<<(std::ostream& out, DispatchKey key) { return out << toString(key); }

}  // namespace shunt
