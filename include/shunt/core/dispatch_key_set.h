// DispatchKeySet: a set of backends and functionalities in one 64-bit word. A value type; any thread.
//
// Layout: bit b (0 <= b < kNumBackends) is backend b; bit 63 - f is functionality f, where 0 has the highest priority.
// So the highest set bit is the functionality that handles the call.
#pragma once

#include <shunt/core/dispatch_key.h>
#include <shunt/core/error.h>

#include <bit>
#include <initializer_list>
#include <iterator>
#include <vector>

namespace shunt {

class DispatchKeyIterator;

class DispatchKeySet {
 public:
  using iterator = DispatchKeyIterator;
  constexpr DispatchKeySet() = default;
  constexpr explicit DispatchKeySet(DispatchKey k) : repr_(bitsOf(k)) {}
  constexpr explicit DispatchKeySet(BackendComponent b) : repr_(detail::bitOf(b)) {}
  /// Tags for the constructors of full() and fullAfter(k), as PyTorch spells them.
  enum Full { FULL };
  enum FullAfter { FULL_AFTER };
  constexpr DispatchKeySet(Full) : DispatchKeySet(full()) {}
  constexpr DispatchKeySet(FullAfter, DispatchKey k) : DispatchKeySet(fullAfter(k)) {}
  constexpr DispatchKeySet(std::initializer_list<DispatchKey> keys) {
    for (DispatchKey k : keys) repr_ |= bitsOf(k);
  }
  constexpr DispatchKeySet(std::initializer_list<BackendComponent> backends) {
    for (BackendComponent b : backends) repr_ |= detail::bitOf(b);
  }
  /// The set with these bits.
  static constexpr DispatchKeySet fromRaw(uint64_t repr) { return DispatchKeySet(repr, 0); }
  static constexpr DispatchKeySet of(Functionality f) { return fromRaw(detail::bitOf(f)); }
  static constexpr DispatchKeySet of(BackendComponent b) { return fromRaw(detail::bitOf(b)); }
  /// All functionalities with all backends.
  static constexpr DispatchKeySet full() { return fromRaw(kBackendMask | kFunctionalityMask); }
  /// All functionalities strictly below `k`'s, with all backends. Wrappers mask their keyset with it to redispatch.
  static constexpr DispatchKeySet fullAfter(DispatchKey k) {
    return fromRaw((detail::bitOf(partsOf(k).functionality) - 1) & (kBackendMask | kFunctionalityMask));
  }

  /// The word; see the layout above.
  constexpr uint64_t raw() const { return repr_; }
  constexpr uint64_t raw_repr() const { return repr_; }
  constexpr bool empty() const { return repr_ == 0; }
  /// Whether all bits of the key are set: its functionality's and, if it has one, its backend's. False for aliases.
  constexpr bool has(DispatchKey k) const { return bitsOf(k) != 0 && (repr_ & bitsOf(k)) == bitsOf(k); }
  constexpr bool has(Functionality f) const { return (repr_ & detail::bitOf(f)) != 0; }
  constexpr bool has(BackendComponent b) const { return (repr_ & detail::bitOf(b)) != 0; }
  constexpr bool has_backend(BackendComponent b) const { return has(b); }
  constexpr bool hasAny(DispatchKeySet other) const { return (repr_ & other.repr_) != 0; }
  constexpr bool hasAll(DispatchKeySet other) const { return (repr_ & other.repr_) == other.repr_; }
  constexpr bool isSupersetOf(DispatchKeySet other) const { return hasAll(other); }

  constexpr DispatchKeySet operator|(DispatchKeySet o) const { return fromRaw(repr_ | o.repr_); }
  constexpr DispatchKeySet operator&(DispatchKeySet o) const { return fromRaw(repr_ & o.repr_); }
  /// Removes functionalities only. Backends stay, since they say where the data is.
  constexpr DispatchKeySet operator-(DispatchKeySet o) const { return fromRaw(repr_ & (~o.repr_ | kBackendMask)); }
  constexpr DispatchKeySet operator^(DispatchKeySet o) const { return fromRaw(repr_ ^ o.repr_); }
  constexpr DispatchKeySet& operator|=(DispatchKeySet o) {
    repr_ |= o.repr_;
    return *this;
  }
  constexpr bool operator==(const DispatchKeySet&) const = default;

  /// The union with the key's bits.
  constexpr DispatchKeySet add(DispatchKey k) const { return fromRaw(repr_ | bitsOf(k)); }
  /// Removes the key's functionality, for all backends; keeps the backend bits.
  constexpr DispatchKeySet remove(DispatchKey k) const { return *this - DispatchKeySet(k); }
  constexpr DispatchKeySet removeBackend(BackendComponent b) const { return fromRaw(repr_ & ~detail::bitOf(b)); }

  /// The backend bits only, or the functionality bits only.
  constexpr DispatchKeySet backends() const { return fromRaw(repr_ & kBackendMask); }
  constexpr DispatchKeySet functionalities() const { return fromRaw(repr_ & kFunctionalityMask); }

  /// The table slot of highestPriorityKey().
  constexpr int highestSlot() const {
    const uint64_t f = repr_ & kFunctionalityMask;
    if (f == 0) return 0;
    const auto& info = detail::kFunctionalityInfo[static_cast<size_t>(std::countl_zero(f))];
    return info.first_slot + (info.per_backend ? highestBackendIndex() : 0);
  }
  /// The key whose kernel a call with this set runs first; Undefined if no functionality is set.
  constexpr DispatchKey highestPriorityKey() const { return keyOfSlot(highestSlot()); }
  /// The highest backend; CPU if none is set.
  constexpr BackendComponent highestBackend() const { return static_cast<BackendComponent>(highestBackendIndex()); }

  /// The members as run-time keys, the lowest priority first.
  constexpr iterator begin() const;
  constexpr iterator end() const;

  /// The members as run-time keys, the highest priority first. A functionality with a key for each backend has one
  /// member for each set backend.
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

  /// The bits that backends have, and those that functionalities have.
  static constexpr uint64_t kBackendMask = (uint64_t{1} << kNumBackends) - 1;
  static constexpr uint64_t kFunctionalityMask = ~uint64_t{0} << (64 - kNumFunctionalities);

 private:
  constexpr DispatchKeySet(uint64_t repr, int) : repr_(repr) {}
  static constexpr uint64_t bitsOf(DispatchKey k) { return partsOf(k).bits; }
  constexpr int highestBackendIndex() const {
    const uint64_t b = repr_ & kBackendMask;
    return b == 0 ? 0 : 63 - std::countl_zero(b);
  }

  uint64_t repr_ = 0;
};

/// An iterator over the members of a set, the lowest priority first. It copies the set, and past the last member gives
/// EndOfFunctionalityKeys.
class DispatchKeyIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = DispatchKey;
  using difference_type = std::ptrdiff_t;
  using pointer = const DispatchKey*;
  using reference = DispatchKey;

  /// Starts at the first member whose functionality has the number `first` or a higher one. Numbers count backends from
  /// 0, then functionalities from the lowest priority. Throws shunt::Error for a backend's number, or beyond the end.
  constexpr explicit DispatchKeyIterator(const uint64_t* bits, int first = kNumBackends)
      : bits_(*bits), functionality_(kNumFunctionalities - 1 - (first - kNumBackends)) {
    SHUNT_CHECK(first >= kNumBackends && first <= kNumBackends + kNumFunctionalities + 1,
                "DispatchKeySet::iterator: bit ", first, " is none of a functionality");
    settle();
  }
  constexpr DispatchKey operator*() const {
    if (functionality_ < 0) return DispatchKey::EndOfFunctionalityKeys;
    return toRuntimeKey(static_cast<Functionality>(functionality_), static_cast<BackendComponent>(backend_));
  }
  constexpr DispatchKeyIterator& operator++() {
    ++backend_;
    settle();
    return *this;
  }
  constexpr DispatchKeyIterator operator++(int) {
    DispatchKeyIterator before = *this;
    ++*this;
    return before;
  }
  constexpr bool operator==(const DispatchKeyIterator&) const = default;

 private:
  /// Advances to the next member unless this place is one.
  constexpr void settle() {
    for (; functionality_ >= 0; --functionality_, backend_ = 0) {
      const auto f = static_cast<Functionality>(functionality_);
      if ((bits_ & detail::bitOf(f)) == 0) continue;
      if (!isPerBackend(f) && backend_ == 0) return;
      for (; isPerBackend(f) && backend_ < kNumBackends; ++backend_)
        if ((bits_ >> backend_ & 1) != 0) return;
    }
    functionality_ = -1;
    backend_ = 0;
  }

  uint64_t bits_;
  int functionality_;
  int backend_ = 0;
};

constexpr DispatchKeySet::iterator DispatchKeySet::begin() const { return iterator(&repr_); }
constexpr DispatchKeySet::iterator DispatchKeySet::end() const {
  return iterator(&repr_, kNumBackends + kNumFunctionalities);
}

/// Groups of functionalities that several files use.
inline constexpr DispatchKeySet kAutogradKeys = DispatchKeySet::of(Functionality::AutogradFunctionality) |
                                                DispatchKeySet::of(Functionality::AutogradOther) |
                                                DispatchKeySet::of(Functionality::AutogradNestedTensor);
inline constexpr DispatchKeySet kAutogradAndViewKeys =
    kAutogradKeys | DispatchKeySet::of(Functionality::ADInplaceOrView);
inline constexpr DispatchKeySet kAutocastKeys{DispatchKey::AutocastCPU,         DispatchKey::AutocastCUDA,
                                              DispatchKey::AutocastXPU,         DispatchKey::AutocastHPU,
                                              DispatchKey::AutocastPrivateUse1, DispatchKey::AutocastPrivateUse2,
                                              DispatchKey::AutocastPrivateUse3};
/// The keys of plain tensors in the CPU's memory: no wrappers, subclasses or transforms.
inline constexpr DispatchKeySet kPlainCpuKeys{DispatchKey::CPU, DispatchKey::AutogradCPU, DispatchKey::AutocastCPU,
                                              DispatchKey::ADInplaceOrView};
/// The functionalities of backends: Dense, Quantized, Sparse and NestedTensor, and the backends with a single key.
inline constexpr DispatchKeySet kBackendFunctionalities =
    DispatchKeySet::fullAfter(DispatchKey::CustomRNGKeyId).functionalities();

/// `ks` with ADInplaceOrView and the Autograd key of its backend: the keyset of a tensor that takes part in autograd.
constexpr DispatchKeySet withAutogradKeys(DispatchKeySet ks) {
  const bool has_own_key = !ks.backends().empty();
  return ks | DispatchKeySet::of(Functionality::ADInplaceOrView) |
         DispatchKeySet::of(has_own_key ? Functionality::AutogradFunctionality : Functionality::AutogradOther);
}

/// "AutogradCPU, CPU": the highest priority first. "(none)" if no functionality is set.
SHUNT_API std::string toString(DispatchKeySet keyset);
inline std::ostream& operator<<(std::ostream& out, DispatchKeySet ks) { return out << toString(ks); }

/// The key of the backend that computes with the data. Keys of wrappers are ignored.
constexpr DispatchKey highestPriorityBackendTypeId(DispatchKeySet ks) {
  return (ks & (kBackendFunctionalities | DispatchKeySet::fromRaw(DispatchKeySet::kBackendMask))).highestPriorityKey();
}
/// An older name for highestPriorityBackendTypeId.
constexpr DispatchKey legacyExtractDispatchKey(DispatchKeySet ks) { return highestPriorityBackendTypeId(ks); }
/// The key's backend, or InvalidBit.
constexpr BackendComponent toBackendComponent(DispatchKey k) {
  return partsOf(k).per_backend ? partsOf(k).backend : BackendComponent::InvalidBit;
}

/// The backend's Autograd key; AutogradOther for InvalidBit.
constexpr DispatchKey autogradKeyOf(BackendComponent b) {
  if (b == BackendComponent::InvalidBit) return DispatchKey::AutogradOther;
  return toRuntimeKey(Functionality::AutogradFunctionality, b);
}
/// The backend's Autocast key, or Undefined if there is no autocast for it.
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
