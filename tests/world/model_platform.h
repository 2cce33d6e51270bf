// The platform that the model checker gives to include/shunt/core/world.h and src/dispatch/publication.h: atomics whose
// operations are recorded, not done.
//
// Note [How the model runs the real header]
// A program (one caller, the registrar, ...) is a plain function that calls the header's templates. What it does next
// is a function of what its operations returned so far, so the explorer runs it from the start with the recorded
// results; the first operation beyond them is recorded as pending, and from there on every operation returns 0 until
// the function ends by itself (all loops of the protocol end when everything they read is 0). That turns each program
// into an automaton with one node per history of results; the explorer interleaves the automata over a memory of its
// own. Programs must therefore keep no state of their own between runs, and reach shared data only through Atomic,
// `lock` and `unlock`, and `inspect`.
//
// One model at a time, used from one thread.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace shunt::world::model {

/// Stands for an operator's state: its address, and a content that is constant from its allocation to its end.
struct Slot {};
inline constexpr int kNumSlots = 8;  // index 0 is null

/// What a state says: whose it is, and a version: of the inner operator's entry, or of the entry that the outer
/// operator's thunk relied on (0: it has no thunk). Worlds with one operator leave it 0.
struct Content {
  enum Owner : uint8_t { kInner, kOuter };
  Owner owner = kInner;
  uint8_t version = 0;
  uint8_t packed() const { return static_cast<uint8_t>(owner << 4 | version); }
  static Content of(uint64_t packed) { return {static_cast<Owner>(packed >> 4), static_cast<uint8_t>(packed & 15)}; }
};
inline constexpr int kNumOwners = 2;

using Value = uint8_t;  // an index into the interned 64-bit values; 0 is 0

enum class OpKind : uint8_t { kLoad, kStore, kExchange, kBarrier, kLock, kUnlock, kAllocate, kInspect, kJoin, kDone };

struct Op {
  OpKind kind = OpKind::kDone;
  uint8_t location = 0;
  Value value = 0;
  std::memory_order order = std::memory_order_seq_cst;
  bool fenced = false;  // a signal fence stands between the previous operation and this one
};

/// What a program tells the oracle. kBegin, kUse and kLive happen with the next operation (the latest moment is the
/// strictest), the others with the previous one (the earliest is).
/// kFolded: the call of the outer operator relies on `version` as a whole. kInlined: a call of the inner operator
/// begins, and runs what was inlined of `version`.
enum class MarkKind : uint8_t {
  kBegin,
  kUse,
  kLive,
  kEntered,
  kEnded,
  kPublished,
  kFree,
  kAllDone,
  kFail,
  kFolded,
  kInlined,
};
struct Mark {
  MarkKind kind;
  uint8_t slot = 0;
  const char* text = "";
  Content content;  // kBegin, kEntered: whose call; kFolded, kInlined: the version
  bool withNextOp() const { return kind <= MarkKind::kLive; }
};

/// One run of a program with recorded results.
struct Run {
  std::vector<Value> history;
  int context = 0;
  size_t consumed = 0;
  bool ended = false;  // beyond the pending operation
  Op pending;
  bool fenced = false;
  int constructed = 0;  // atomics made by this run
  std::vector<Mark> marks;
  int checkpoint = -1;
};

/// Names of locations and values; outlives every Atomic of its scenario.
class Names {
 public:
  Names();
  ~Names();
  static Names& current();

  Value intern(uint64_t raw);
  uint64_t raw(Value v) const { return values_[v]; }
  uint8_t addLocation(const void* address, const char* type, uint64_t initial);
  /// The same block made by different runs has different addresses; all become the first.
  uint64_t canonicalAddress(const void* p) const;
  int numLocations() const { return static_cast<int>(locations_.size()); }
  const std::string& location(int i) const { return locations_[static_cast<size_t>(i)].name; }
  Value initial(int i) const { return locations_[static_cast<size_t>(i)].initial; }
  uint8_t slotIndex(const void* slot) const;
  Slot* slot(uint8_t index) { return index == 0 ? nullptr : &slots_[index]; }

  std::string scope;   // prefix of the names of locations made next
  Run* run = nullptr;  // the run in progress

 private:
  struct Location {
    std::string name;
    const void* first_address;
    Value initial;
  };
  std::vector<uint64_t> values_{0};
  std::vector<Location> locations_;
  std::map<std::pair<int, int>, uint8_t> by_run_;  // (context, ordinal within the run) -> location
  std::map<const void*, uint8_t> by_address_;
  Slot slots_[kNumSlots];
};

/// Asks the run in progress for the operation's result.
uint64_t perform(OpKind kind, uint8_t location, uint64_t value, std::memory_order order);

void mark(MarkKind kind, const Slot* slot = nullptr, const char* text = "");
void mark(MarkKind kind, const Slot* slot, Content content);

/// The program's own variables are the same here whatever happened before: histories that reach `label` become one.
void checkpoint(int label);

struct ModelPlatform {
  template <class T>
  class Atomic {
   public:
    Atomic() : Atomic(T{}) {}
    Atomic(T initial) : location_(Names::current().addLocation(this, typeName(), encode(initial))) {}
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;

    T load(std::memory_order order) const { return decode(perform(OpKind::kLoad, location_, 0, order)); }
    void store(T v, std::memory_order order) { perform(OpKind::kStore, location_, encode(v), order); }
    T exchange(T v, std::memory_order order) { return decode(perform(OpKind::kExchange, location_, encode(v), order)); }
    uint8_t location() const { return location_; }

   private:
    static const char* typeName() {
      if constexpr (std::is_same_v<T, bool>)
        return "valid";
      else if constexpr (std::is_integral_v<T>)
        return "depth";
      else if constexpr (std::is_same_v<T, const Slot*>)
        return "state";
      else
        return "next";
    }
    static uint64_t encode(T v) {
      if constexpr (std::is_pointer_v<T>)
        return Names::current().canonicalAddress(v);
      else
        return static_cast<uint64_t>(v);
    }
    static T decode(uint64_t raw) {
      if constexpr (std::is_pointer_v<T>)
        return std::bit_cast<T>(static_cast<uintptr_t>(raw));
      else
        return static_cast<T>(raw);
    }
    uint8_t location_;
  };
  static void signalFence();
  static bool barrierAll() { return perform(OpKind::kBarrier, 0, 0, std::memory_order_seq_cst) != 0; }
};

/// The lock around the reclaimer, with the list it protects.
std::vector<const Slot*> lock();
void unlock(const std::vector<const Slot*>& retired);
/// A fresh state, not live before MarkKind::kLive; the address of a freed one is used again first.
const Slot* allocate(Content content = {});
/// What a state says. Its content was written before it was published by an exchange, so whoever has it sees it; that
/// it is not freed meanwhile is watched.
Content inspect(const Slot* slot);
/// Waits for every other program to end; their stores are then visible, as after a thread's join.
void joinAll();

}  // namespace shunt::world::model
