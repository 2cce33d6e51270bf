// Hot entries: the compiled code that a call looks up before the dispatch table, and the records that calls leave for
// the compiler. Hot entries belong to an immutable OpState (op_state.h): a call uses those of the world it started in.
//
// Note [Hot entries]
// An entry maps a keyset (after the operator's mask) and a signature of arguments to code with the C++ signature of an
// unboxed kernel.
// - Keyset: a thread-local mode that changes the keys makes calls miss the entry; they hit it again when the mode ends.
//   Nothing else in a thunk depends on modes: its wrappers read the thread's settings at run time.
// - Signature: TensorImpl::signature of each of the first four tensors in order, 16 bits each, 0 for an undefined one.
// - Lookup: one probe by keyset, then one probe by signature in that keyset's array. Multipliers are chosen at
//   publication so that at most kMaxHotEntries entries have no collisions.
// - Miss by signature: HotKeys::entry is the table's entry for the keyset. It saves a table lookup, which costs as much
//   as both probes.
// - An operator without thunks has no HotTable: its calls pay one load and one test.
// A HotTable is immutable, and published with the OpState that owns it.
#pragma once

#include <shunt/core/boxing.h>
#include <shunt/core/tls.h>
#include <shunt/tensor/tensor.h>

#include <algorithm>
#include <array>
#include <vector>

namespace shunt {
class OpState;
struct TableEntry;
namespace jit {
class Recording;
class Thunk;
}  // namespace jit

namespace detail {

inline constexpr int kMaxHotEntries = 16;

/// The length of a probed array, twice kMaxHotEntries, and the place of a value in it.
inline constexpr int kHotPlaces = 2 * kMaxHotEntries;
SHUNT_ALWAYS_INLINE constexpr size_t hotPlace(uint64_t value, uint64_t multiplier) {
  static_assert(kHotPlaces == 1 << 5);
  return static_cast<size_t>((value * multiplier) >> (64 - 5));
}

/// The hot entries of one keyset.
struct HotKeys {
  static constexpr uint64_t kNone = ~uint64_t{0};  // no call has these keys or this signature

  uint64_t keys = kNone;
  uint64_t multiplier = 0;
  const TableEntry* entry = nullptr;  // the table's entry for the keys
  std::array<uint64_t, kHotPlaces> signatures = filledWith(kNone);
  std::array<void*, kHotPlaces> code = {};  // not null if the place has a signature

 private:
  static constexpr std::array<uint64_t, kHotPlaces> filledWith(uint64_t value) {
    std::array<uint64_t, kHotPlaces> all{};
    all.fill(value);
    return all;
  }
};

/// An operator's hot entries. Owned by its OpState.
struct HotTable {
  uint64_t multiplier = 0;
  std::array<const HotKeys*, kHotPlaces> by_keys = {};  // never null; points into keysets
  std::vector<HotKeys> keysets;                         // the first one has no keys

  SHUNT_ALWAYS_INLINE const HotKeys& find(uint64_t keys) const { return *by_keys[hotPlace(keys, multiplier)]; }
  /// The code of the entry, or null.
  void* probe(uint64_t keys, uint64_t signature) const {
    const HotKeys& of_keys = find(keys);
    const size_t place = hotPlace(signature, of_keys.multiplier);
    return of_keys.keys == keys && of_keys.signatures[place] == signature ? of_keys.code[place] : nullptr;
  }
};

inline constexpr int kMaxSignedTensors = 4;

SHUNT_ALWAYS_INLINE void addSignature(const Tensor& t, uint64_t& signature, int& position) {
  if (position < kMaxSignedTensors && t.defined())
    signature |= uint64_t{t.unsafeGetTensorImpl()->signature()} << (16 * position);
  ++position;
}
SHUNT_ALWAYS_INLINE void addSignature(const std::optional<Tensor>& t, uint64_t& signature, int& position) {
  if (t) return addSignature(*t, signature, position);
  ++position;
}
template <class T>
SHUNT_ALWAYS_INLINE void addSignature(const T&, uint64_t&, int&) {}

template <class... A>
SHUNT_ALWAYS_INLINE uint64_t signatureOf(const A&... a) {
  uint64_t signature = 0;
  int position = 0;
  (addSignature(a, signature, position), ...);
  return signature;
}

SHUNT_ALWAYS_INLINE int64_t numelOf(const Tensor& t) { return t.defined() ? t.unsafeGetTensorImpl()->numel() : 0; }
SHUNT_ALWAYS_INLINE int64_t numelOf(const std::optional<Tensor>& t) { return t ? numelOf(*t) : 0; }
template <class T>
SHUNT_ALWAYS_INLINE int64_t numelOf(const T&) {
  return 0;
}
/// The number of elements of the largest tensor argument.
template <class... A>
  requires(sizeof...(A) != 1)
int64_t numelOf(const A&... a) {
  return std::max({int64_t{0}, numelOf(a)...});
}

/// The operands of one sampled call's kernel, and its loop. The thunk is compiled for such operands.
struct LoopRecord {
  enum Kind : uint8_t { kNone, kSameShape, kOneElement, kNumber, kOther };  // what an input is
  static constexpr int kMaxInputs = 5;
  enum Form : uint8_t { kUnseen, kFunctional, kOut, kInplace };
  Form form = kUnseen;
  uint8_t kind[kMaxInputs] = {};
  uint16_t signature[kMaxInputs] = {};  // 0 for numbers
  uint16_t output = 0;                  // the signature of an output that the caller gave
  ScalarType common = ScalarType::Undefined;
  bool ready = false;    // set in a thunk's constant if it calls places.ready
  int32_t depth = 0;     // the depth of the recorded call's frame
  uint64_t functor = 0;  // what the loop computes: an id within its family

  /// Addresses in the library, which show the compiler what to replace. A thunk's constant contains none of them.
  struct Places {
    const char* family = nullptr;       // the loops' family, for people
    const void* entry = nullptr;        // the interpreter's function that recorded the operands
    const void* expecting = nullptr;    // the function that a thunk calls in place of `entry`
    const void* miss = nullptr;         // called by `expecting` for other operands than the recorded ones
    const void* placeholder = nullptr;  // called by `expecting` for the recorded ones; the compiler puts `loop` here
    const void* ready_placeholder = nullptr;  // the same, for `ready`
    // A generic loop to specialise, or null. Its elements are independent: an output is an input's memory, or disjoint.
    const void* loop = nullptr;
    const void* ready = nullptr;     // a loop that was compiled ahead of time, to call; or null
    const void* expected = nullptr;  // the constant that the compiler replaces by this record

    bool hasLoop() const { return loop != nullptr || ready != nullptr; }
  } places;
};

/// Observes one call: lives from before its kernel to after it. Made when the thread's countdown ends.
class SHUNT_API ObservedCall {
 public:
  SHUNT_COLD ObservedCall(const OpState& state, DispatchKeySet ks, uint64_t signature);
  SHUNT_COLD ~ObservedCall();
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;

 private:
  const OpState* state_;
  DispatchKeySet keys_;
  uint64_t signature_;
  int exceptions_ = 0;  // in flight at the beginning, if hot_
  bool hot_ = false;    // whether the compiler gets this call's record
  LoopRecord record_;
  LoopRecord* outer_ = nullptr;
  jit::Recording* calls_ = nullptr;  // null: not recorded, or out of memory
};

/// Notes for the call being recorded that a call inside it, with the frame at this depth, runs a loop. The thunk of
/// that inner operator specialises it.
SHUNT_API SHUNT_COLD void recordInnerLoop(int32_t depth);

/// Times one call that found a hot entry: lives from before the call to after it. An `interpreted` one runs through the
/// table, for comparison. Made when the thread's countdown of such calls ends. Note [Never lose]
/// (src/tiering/timed_call.cpp).
class SHUNT_API TimedCall {
 public:
  SHUNT_COLD TimedCall(const OpState& state, DispatchKeySet ks, void* code, int64_t numel);
  SHUNT_COLD ~TimedCall();
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  bool interpreted() const { return interpreted_; }

 private:
  const jit::Thunk* thunk_ = nullptr;  // null: not timed; the call's frame keeps it alive
  int64_t numel_;
  bool interpreted_ = false;
  int exceptions_ = 0;
  uint64_t start_ = 0;
};

}  // namespace detail
}  // namespace shunt
