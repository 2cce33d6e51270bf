// DispatchKeySet: a 64-bit set of backend bits and functionality bits. A value type; any thread.
//
// Layout: bit b (0 <= b < kNumBackends) is backend b; functionality f (0 = highest priority) is bit 63 - f, so the
// highest set bit of a non-empty set is the functionality that handles the call.
#pragma once

#include <shunt/core/dispatch_key.h>

#include <bit>
#include <initializer_list>
#include <vector>

namespace shunt {

class DispatchKeySet {
 public:
  constexpr DispatchKeySet() = default;
  constexpr explicit DispatchKeySet(DispatchKey k) : repr_(bitsOf(k)) {}
  enum Full { FULL };
  enum FullAfter { FULL_AFTER };
  constexpr DispatchKeySet(Full) : DispatchKeySet(full()) {}
  constexpr DispatchKeySet(FullAfter, DispatchKey k) : DispatchKeySet(fullAfter(k)) {}
  constexpr DispatchKeySet(std::initializer_list<DispatchKey> keys) {
    for (DispatchKey k : keys) repr_ |= bitsOf(k);
  }
  static constexpr DispatchKeySet fromRaw(uint64_t repr) { return DispatchKeySet(repr, 0); }
  static constexpr DispatchKeySet of(Functionality f) { return fromRaw(bitOf(f)); }
  static constexpr DispatchKeySet of(BackendComponent b) { return fromRaw(bitOf(b)); }
  static constexpr DispatchKeySet full() { return fromRaw(kBackendMask | kFunctionalityMask); }
  /// Every functionality strictly below `k`'s, with all backends: the mask a wrapper applies to redispatch.
  static constexpr DispatchKeySet fullAfter(DispatchKey k) {
    return fromRaw((bitOf(partsOf(k).functionality) - 1) & (kBackendMask | kFunctionalityMask));
  }

  constexpr uint64_t raw() const { return repr_; }
  constexpr bool empty() const { return repr_ == 0; }
  /// Whether every bit of the key is set (functionality and, for a per-backend key, the backend).
  constexpr bool has(DispatchKey k) const { return k != DispatchKey::Undefined && (repr_ & bitsOf(k)) == bitsOf(k); }
  constexpr bool has(Functionality f) const { return (repr_ & bitOf(f)) != 0; }
  constexpr bool has(BackendComponent b) const { return (repr_ & bitOf(b)) != 0; }
  constexpr bool hasAny(DispatchKeySet other) const { return (repr_ & other.repr_) != 0; }
  constexpr bool hasAll(DispatchKeySet other) const { return (repr_ & other.repr_) == other.repr_; }
  constexpr bool isSupersetOf(DispatchKeySet other) const { return hasAll(other); }

  constexpr DispatchKeySet operator|(DispatchKeySet o) const { return fromRaw(repr_ | o.repr_); }
  constexpr DispatchKeySet operator&(DispatchKeySet o) const { return fromRaw(repr_ & o.repr_); }
  /// Set difference on functionalities; backend bits stay, since they say where the data is.
  constexpr DispatchKeySet operator-(DispatchKeySet o) const { return fromRaw(repr_ & (~o.repr_ | kBackendMask)); }
  constexpr DispatchKeySet operator^(DispatchKeySet o) const { return fromRaw(repr_ ^ o.repr_); }
  constexpr DispatchKeySet& operator|=(DispatchKeySet o) {
    repr_ |= o.repr_;
    return *this;
  }
  constexpr bool operator==(const DispatchKeySet&) const = default;

  constexpr DispatchKeySet add(DispatchKey k) const { return fromRaw(repr_ | bitsOf(k)); }
  /// Removes the functionality bit of the key (and no backend bit).
  constexpr DispatchKeySet remove(DispatchKey k) const { return *this - DispatchKeySet(k); }
  constexpr DispatchKeySet removeBackend(BackendComponent b) const { return fromRaw(repr_ & ~bitOf(b)); }

  constexpr DispatchKeySet backends() const { return fromRaw(repr_ & kBackendMask); }
  constexpr DispatchKeySet functionalities() const { return fromRaw(repr_ & kFunctionalityMask); }

  /// The table slot of the highest key; 0 (Undefined) when no functionality is set.
  constexpr int highestSlot() const {
    const uint64_t f = repr_ & kFunctionalityMask;
    if (f == 0) return 0;
    const auto info = detail::kFunctionalityInfo[static_cast<size_t>(std::countl_zero(f))];
    return info.first_slot + (info.per_backend ? highestBackendIndex() : 0);
  }
  constexpr DispatchKey highestPriorityKey() const { return static_cast<DispatchKey>(highestSlot()); }
  /// The highest backend bit; CPU when none is set.
  constexpr BackendComponent highestBackend() const { return static_cast<BackendComponent>(highestBackendIndex()); }

  /// Members as run-time keys, highest first; per-backend functionalities once per set backend.
  std::vector<DispatchKey> keys() const {
    std::vector<DispatchKey> out;
    for (int f = 0; f < kNumFunctionalities; ++f) {
      const auto functionality = static_cast<Functionality>(f);
      if (!has(functionality)) continue;
      if (!isPerBackend(functionality)) {
        out.push_back(toRuntimeKey(functionality, BackendComponent::CPU));
        continue;
      }
      for (int b = 0; b < kNumBackends; ++b)
        if (has(static_cast<BackendComponent>(b)))
          out.push_back(toRuntimeKey(functionality, static_cast<BackendComponent>(b)));
    }
    return out;
  }

  static constexpr uint64_t kBackendMask = (uint64_t{1} << kNumBackends) - 1;
  static constexpr uint64_t kFunctionalityMask = ~uint64_t{0} << (64 - kNumFunctionalities);

 private:
  constexpr DispatchKeySet(uint64_t repr, int) : repr_(repr) {}
  static constexpr uint64_t bitOf(Functionality f) { return uint64_t{1} << (63 - static_cast<int>(f)); }
  static constexpr uint64_t bitOf(BackendComponent b) { return uint64_t{1} << static_cast<int>(b); }
  static constexpr uint64_t bitsOf(DispatchKey k) {
    if (k == DispatchKey::Undefined) return 0;
    const KeyParts& p = partsOf(k);
    return bitOf(p.functionality) | (p.per_backend ? bitOf(p.backend) : 0);
  }
  constexpr int highestBackendIndex() const {
    const uint64_t b = repr_ & kBackendMask;
    return b == 0 ? 0 : 63 - std::countl_zero(b);
  }

  uint64_t repr_ = 0;
};

// Groups that several places speak of.
inline constexpr DispatchKeySet kAutogradKeys = DispatchKeySet::of(Functionality::AutogradFunctionality) |
                                                DispatchKeySet::of(Functionality::AutogradOther) |
                                                DispatchKeySet::of(Functionality::AutogradNestedTensor);
inline constexpr DispatchKeySet kAutogradAndViewKeys =
    kAutogradKeys | DispatchKeySet::of(Functionality::ADInplaceOrView);
inline constexpr DispatchKeySet kAutocastKeys{DispatchKey::AutocastCPU,         DispatchKey::AutocastCUDA,
                                              DispatchKey::AutocastXPU,         DispatchKey::AutocastHPU,
                                              DispatchKey::AutocastPrivateUse1, DispatchKey::AutocastPrivateUse2,
                                              DispatchKey::AutocastPrivateUse3};
/// Of tensors in the CPU's memory with nothing before their data.
inline constexpr DispatchKeySet kPlainCpuKeys{DispatchKey::CPU, DispatchKey::AutogradCPU, DispatchKey::AutocastCPU,
                                              DispatchKey::ADInplaceOrView};
/// Functionalities whose keys hold data: the lowest four, and the backends that have one key only.
inline constexpr DispatchKeySet kBackendFunctionalities =
    DispatchKeySet::fullAfter(DispatchKey::CustomRNGKeyId).functionalities();

/// "CPU, AutogradCPU", highest first; "(none)" for the empty set.
SHUNT_API std::string toString(DispatchKeySet keyset);
inline std::ostream& operator<<(std::ostream& out, DispatchKeySet ks) { return out << toString(ks); }

/// The key that holds the data, whatever wraps it.
constexpr DispatchKey highestPriorityBackendTypeId(DispatchKeySet ks) {
  return (ks & (kBackendFunctionalities | DispatchKeySet::fromRaw(DispatchKeySet::kBackendMask))).highestPriorityKey();
}
constexpr DispatchKey legacyExtractDispatchKey(DispatchKeySet ks) { return highestPriorityBackendTypeId(ks); }
constexpr BackendComponent toBackendComponent(DispatchKey k) { return partsOf(k).backend; }

/// The backend's Autograd key: AutogradOther for backends without one of their own.
constexpr DispatchKey autogradKeyOf(BackendComponent b) {
  return toRuntimeKey(Functionality::AutogradFunctionality, b);
}
/// The backend's Autocast key, or Undefined where autocast does not exist for it.
constexpr DispatchKey autocastKeyOf(BackendComponent b) {
  switch (b) {
    case BackendComponent::CPU:
      return DispatchKey::AutocastCPU;
    case BackendComponent::CUDA:
    case BackendComponent::HIP:
      return DispatchKey::AutocastCUDA;
    case BackendComponent::XPU:
      return DispatchKey::AutocastXPU;
    case BackendComponent::HPU:
      return DispatchKey::AutocastHPU;
    case BackendComponent::PrivateUse1:
      return DispatchKey::AutocastPrivateUse1;
    case BackendComponent::PrivateUse2:
      return DispatchKey::AutocastPrivateUse2;
    case BackendComponent::PrivateUse3:
      return DispatchKey::AutocastPrivateUse3;
    default:
      return DispatchKey::Undefined;
  }
}

}  // namespace shunt
