// The truth about operators: what is registered, by whom, in which order. Plain data, guarded by the dispatcher's lock.
//
// Everything a call reads is derived from this by compute_table.h.
#pragma once

#include <shunt/core/op_state.h>

#include "src/dispatch/boxed_types.h"

#include <bitset>
#include <list>
#include <source_location>

namespace shunt {

class OperatorEntry;

/// Another operator's kernel that a stand-in waits for: Note [Stand-ins] in compute_table.h.
struct StandInFor {
  const OperatorEntry* of = nullptr;  // null: the kernel is no stand-in
  const void* built_in = nullptr;     // `of`'s kernel, as KernelFunction::unboxed
  const void* composite = nullptr;    // the operator's composite that it stands in for
};

struct KernelRecord {
  uint64_t id;
  KernelFunction kernel;
  std::source_location where;
  StandInFor stands_in{};
  /// Shunt's own fallthrough for a key: a program's fallback stands above it.
  bool is_default = false;
};

/// Outlives the library that defined it, whose strings a std::source_location points to.
struct SchemaRecord {
  SchemaRecord(FunctionSchema s, std::string p) : schema(std::move(s)), place(std::move(p)) {
    for (const Argument& a : schema.arguments()) argument_tags.push_back(boxed::sureTagsOfArgument(a.type));
    for (const Argument& r : schema.returns()) return_tags.push_back(boxed::tagsOfReturn(r.type));
  }
  FunctionSchema schema;
  std::string place;
  std::vector<boxed::TagSet> argument_tags, return_tags;  // what each of them may be
};

/// Kernels of one operator (or the fallbacks), per key (aliases too), newest first. Few keys: a sorted vector.
class KernelMap {
 public:
  struct Slot {
    DispatchKey key;
    std::vector<KernelRecord> records;  // newest last
  };

  /// The kernel in force for exactly this key, or null.
  const KernelRecord* find(DispatchKey key) const {
    const std::vector<KernelRecord>* all = records(key);
    return all != nullptr ? &all->back() : nullptr;
  }
  /// All of this key, newest last; null where there is none.
  const std::vector<KernelRecord>* records(DispatchKey key) const {
    if (!present_[static_cast<size_t>(key)]) return nullptr;
    for (const Slot& s : slots_)
      if (s.key == key) return &s.records;
    return nullptr;
  }
  void add(DispatchKey key, KernelRecord record) {
    auto at = slots_.begin();
    while (at != slots_.end() && at->key < key) ++at;
    if (at == slots_.end() || at->key != key) at = slots_.insert(at, Slot{key, {}});
    at->records.push_back(std::move(record));
    present_.set(static_cast<size_t>(key));
  }
  /// Returns the removed record, so that the caller can destroy its functor unlocked.
  std::optional<KernelRecord> remove(DispatchKey key, uint64_t id) {
    for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
      if (slot->key != key) continue;
      for (auto r = slot->records.begin(); r != slot->records.end(); ++r) {
        if (r->id != id) continue;
        KernelRecord out = std::move(*r);
        slot->records.erase(r);
        if (slot->records.empty()) {
          slots_.erase(slot);
          present_.reset(static_cast<size_t>(key));
        }
        return out;
      }
    }
    return std::nullopt;
  }
  /// Makes the kernel in force for the key a default.
  void markDefault(DispatchKey key) {
    for (Slot& s : slots_)
      if (s.key == key) s.records.back().is_default = true;
  }
  bool empty() const { return slots_.empty(); }
  const std::vector<Slot>& slots() const { return slots_; }

 private:
  std::vector<Slot> slots_;
  std::bitset<kNumKeys> present_;  // the keys of slots_: a table asks for every key, and most have nothing
};

/// "file.cpp:12", without the folders of the build.
std::string placeOf(const std::source_location& where);

}  // namespace shunt
