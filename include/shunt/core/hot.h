// Hot entries: what a call looks up before the table, and what it leaves for the observer. Part of an immutable OpState
// (op_state.h), so a call's hot entries are those of the world it started in.
//
// Note [Hot entries]
// An entry says: with exactly these keys (after the operator's mask) and this signature of arguments, run this code,
// which has the C++ signature of an unboxed kernel. A thunk is compiled for a keyset, so a thread-local mode that
// changes the keys makes a call pass its entry by, and find it again when the mode ends. Nothing else in a thunk
// depends on a mode: what its wrappers read of the thread's settings they read at run time. Signature: 16 bits for each
// of the first four tensors (TensorImpl::signature; 0 for an undefined one), in order.
// Probes: one for the keyset, and one in that keyset's own array for the signature; multipliers are chosen at
// publication so that nothing collides, of at most kMaxHotEntries. A keyset also knows where in the table its calls
// go: what no signature fits needs no look-up there, which costs as much as both probes. Without a thunk the operator
// has no HotTable: a load and a test. Immutable, and published with the OpState that owns it.
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

/// Places of a probed array, twice as many as there may be entries, and the place that a product stands for.
inline constexpr int kHotPlaces = 2 * kMaxHotEntries;
SHUNT_ALWAYS_INLINE constexpr size_t hotPlace(uint64_t value, uint64_t multiplier) {
  static_assert(kHotPlaces == 1 << 5);
  return static_cast<size_t>((value * multiplier) >> (64 - 5));
}

/// The hot entries of one keyset.
struct HotKeys {
  static constexpr uint64_t kNone = ~uint64_t{0};  // as keys or as a signature: no call has it

  uint64_t keys = kNone;
  uint64_t multiplier = 0;
  const TableEntry* entry = nullptr;  // what the operator's own table has for the keys
  std::array<uint64_t, kHotPlaces> signatures = filledWith(kNone);
  std::array<void*, kHotPlaces> code = {};  // not null where there is a signature

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
  std::array<const HotKeys*, kHotPlaces> by_keys = {};  // none is null
  std::vector<HotKeys> keysets;                         // to which by_keys points; the first one has no keys

  SHUNT_ALWAYS_INLINE const HotKeys& find(uint64_t keys) const { return *by_keys[hotPlace(keys, multiplier)]; }
  /// The code of an entry; null for none.
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
/// Elements of the largest tensor argument.
template <class... A>
  requires(sizeof...(A) != 1)
int64_t numelOf(const A&... a) {
  return std::max({int64_t{0}, numelOf(a)...});
}

/// What the kernel of one sampled call had before it: what a thunk will expect, and the loop that it is made for.
struct LoopRecord {
  enum Kind : uint8_t { kNone, kSameShape, kOneElement, kNumber, kOther };  // of an input
  static constexpr int kMaxInputs = 5;
  enum Form : uint8_t { kUnseen, kFunctional, kOut, kInplace };
  Form form = kUnseen;
  uint8_t kind[kMaxInputs] = {};
  uint16_t signature[kMaxInputs] = {};  // of tensors
  uint16_t output = 0;                  // signature of a given output
  ScalarType common = ScalarType::Undefined;
  bool ready = false;    // set in a thunk's constant: places.ready is called
  int32_t depth = 0;     // frames of the call that is recorded
  uint64_t functor = 0;  // what the loop computes: an id among its family's

  /// Where the compiler puts what, as addresses in the library; none of them is in the constant that a thunk gets.
  struct Places {
    const char* family = nullptr;       // of loops, for people
    const void* entry = nullptr;        // the interpreter's function that had the operands before it...
    const void* expecting = nullptr;    // ...and the one that a thunk calls instead,
    const void* miss = nullptr;         // which calls this for other operands, ...
    const void* placeholder = nullptr;  // ...and one of these for the expected ones, where the compiler puts...
    const void* ready_placeholder = nullptr;
    // ...a generic loop, to be specialised, whose elements are independent: an output is an input's memory exactly or
    // not at all; or one that was compiled ahead of time, which is called. Null: there is none.
    const void* loop = nullptr;
    const void* ready = nullptr;
    const void* expected = nullptr;  // the constant that becomes this record

    bool hasLoop() const { return loop != nullptr || ready != nullptr; }
  } places;
};

/// One observed call, from before its kernel to after it. Made where the thread's countdown ends.
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
  int exceptions_ = 0;  // in flight at its beginning, of a hot one
  bool hot_ = false;    // this call is the one that goes to the compiler
  LoopRecord record_;
  LoopRecord* outer_ = nullptr;
  jit::Recording* calls_ = nullptr;  // null: not recorded, or no memory for it
};

/// While a call is recorded: the kernel of an operator that it calls, of the frame at this depth, runs a loop that the
/// operator's own thunk specialises.
SHUNT_API SHUNT_COLD void recordInnerLoop(int32_t depth);

/// One call through a hot entry, from before it to after it, that is timed; `interpreted` ones go the other way for
/// comparison. Made where the thread's countdown of such calls ends. Note [Never lose] (src/tiering/timed_call.cpp).
class SHUNT_API TimedCall {
 public:
  SHUNT_COLD TimedCall(const OpState& state, DispatchKeySet ks, void* code, int64_t numel);
  SHUNT_COLD ~TimedCall();
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  bool interpreted() const { return interpreted_; }

 private:
  const jit::Thunk* thunk_ = nullptr;  // null: not timed after all; kept by the call's frame
  int64_t numel_;
  bool interpreted_ = false;
  int exceptions_ = 0;
  uint64_t start_ = 0;
};

}  // namespace detail
}  // namespace shunt
