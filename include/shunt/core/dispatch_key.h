// Dispatch keys: the one table of their order, and the enum made from it.
//
// Two kinds of bits make a keyset (dispatch_key_set.h): *backends* say what holds the data, *functionalities* say what
// happens to a call. A DispatchKey names a functionality (BackendSelect), one functionality on one backend
// (AutogradCPU), or an alias that stands for several keys in a registration (CompositeImplicitAutograd). Constants
// only; any thread.
//
// Order: SHUNT_FORALL_FUNCTIONALITIES lists from the highest priority to the lowest. The seven keys of the published
// order stand as Python > Functionalize > ADInplaceOrView > Autograd > Autocast > BackendSelect > backends.
#pragma once

#include <shunt/core/macros.h>

#include <array>
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

/// The bit of a backend inside a keyset, counted from the lowest.
enum class BackendComponent : uint8_t {
#define SHUNT_BACKEND(name) name,
  SHUNT_FORALL_BACKENDS(SHUNT_BACKEND)
#undef SHUNT_BACKEND
};

#define SHUNT_COUNT(name) +1
#define SHUNT_COUNT2(name, prefix) +1
#define SHUNT_NOTHING(...)
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

/// Every run-time key, every alias, and `Undefined` (no tensor arguments).
// clang-format off
enum class DispatchKey : uint16_t {
  Undefined = 0,
#define SHUNT_K(name) name,
#define SHUNT_P(name, prefix) SHUNT_PER_BACKEND(SHUNT_K, prefix)
  SHUNT_FORALL_FUNCTIONALITIES(SHUNT_K, SHUNT_P)
  EndOfRuntimeKeys,
  SHUNT_FORALL_ALIASES(SHUNT_K)
#undef SHUNT_K
#undef SHUNT_P
  EndOfKeys,
  // Other spellings.
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

/// Run-time keys and table slots are the same numbers: slot 0 is Undefined.
inline constexpr int kNumSlots = static_cast<int>(DispatchKey::EndOfRuntimeKeys);

/// What a run-time key is made of. `backend` is meaningful only where `per_backend`.
struct KeyParts {
  Functionality functionality{};
  BackendComponent backend{};
  bool per_backend = false;
};

namespace detail {

struct FunctionalityInfo {
  uint16_t first_slot;  // the slot of the key itself, or of its CPU variant
  bool per_backend;
};

consteval std::array<FunctionalityInfo, kNumFunctionalities> makeFunctionalityInfo() {
  std::array<FunctionalityInfo, kNumFunctionalities> out{};
  int i = 0;
  uint16_t slot = 1;
#define SHUNT_F1(name)      \
  out[i++] = {slot, false}; \
  slot = static_cast<uint16_t>(slot + 1);
#define SHUNT_F2(name, prefix) \
  out[i++] = {slot, true};     \
  slot = static_cast<uint16_t>(slot + kNumBackends);
  SHUNT_FORALL_FUNCTIONALITIES(SHUNT_F1, SHUNT_F2)
#undef SHUNT_F1
#undef SHUNT_F2
  return out;
}
inline constexpr auto kFunctionalityInfo = makeFunctionalityInfo();

consteval std::array<KeyParts, kNumSlots> makeKeyParts() {
  std::array<KeyParts, kNumSlots> out{};
  for (int f = 0; f < kNumFunctionalities; ++f) {
    const auto info = kFunctionalityInfo[f];
    const int n = info.per_backend ? kNumBackends : 1;
    for (int b = 0; b < n; ++b)
      out[info.first_slot + b] = {static_cast<Functionality>(f), static_cast<BackendComponent>(b), info.per_backend};
  }
  return out;
}
inline constexpr auto kKeyParts = makeKeyParts();

}  // namespace detail

constexpr bool isAliasKey(DispatchKey k) { return k > DispatchKey::EndOfRuntimeKeys && k < DispatchKey::EndOfKeys; }
constexpr bool isRuntimeKey(DispatchKey k) { return k < DispatchKey::EndOfRuntimeKeys; }
constexpr int slotOf(DispatchKey k) { return static_cast<int>(k); }
constexpr const KeyParts& partsOf(DispatchKey k) { return detail::kKeyParts[static_cast<size_t>(k)]; }
constexpr bool isPerBackend(Functionality f) { return detail::kFunctionalityInfo[static_cast<size_t>(f)].per_backend; }

/// The key of a functionality on a backend (the functionality's own key where it has no variants).
constexpr DispatchKey toRuntimeKey(Functionality f, BackendComponent b) {
  const auto info = detail::kFunctionalityInfo[static_cast<size_t>(f)];
  return static_cast<DispatchKey>(info.first_slot + (info.per_backend ? static_cast<int>(b) : 0));
}

SHUNT_API const char* toString(DispatchKey key);
SHUNT_API const char* toString(BackendComponent backend);
SHUNT_API const char* toString(Functionality functionality);
/// The key of that name (also the aliases' other spellings), or nothing.
SHUNT_API std::optional<DispatchKey> parseDispatchKey(std::string_view name);
inline std::ostream& operator<<(std::ostream& out, DispatchKey key) { return out << toString(key); }

}  // namespace shunt
