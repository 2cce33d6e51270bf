#include "tests/world/model_platform.h"

#include <algorithm>
#include <stdexcept>

namespace shunt::world::model {
namespace {

Names* current_names = nullptr;

// Blocks that runs allocate live as long as the process: their addresses are values in the model's memory.
std::vector<const void*>& keptAddresses() {
  static auto* kept = new std::vector<const void*>;
  return *kept;
}

// At most 16 states, four bits each. The order means nothing to the protocol, so one order is explored.
uint64_t pack(const std::vector<const Slot*>& list) {
  std::vector<uint64_t> indices;
  for (const Slot* s : list) indices.push_back(Names::current().slotIndex(s));
  std::sort(indices.begin(), indices.end());
  uint64_t packed = 0;
  for (size_t i = 0; i < indices.size(); ++i) packed |= indices[i] << (4 * i);
  return packed;
}

std::vector<const Slot*> unpack(uint64_t packed) {
  std::vector<const Slot*> list;
  for (; packed != 0; packed >>= 4) list.push_back(Names::current().slot(packed & 15));
  return list;
}

}  // namespace

Names::Names() {
  if (current_names != nullptr) throw std::logic_error("two models at once");
  current_names = this;
}
Names::~Names() { current_names = nullptr; }
Names& Names::current() { return *current_names; }

Value Names::intern(uint64_t raw) {
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i] == raw) return static_cast<Value>(i);
  values_.push_back(raw);
  if (values_.size() > 255) throw std::length_error("too many values for the model");
  return static_cast<Value>(values_.size() - 1);
}

uint8_t Names::addLocation(const void* address, const char* type, uint64_t initial) {
  const auto add = [&](const std::string& owner) {
    if (locations_.size() >= 255) throw std::length_error("too many locations for the model");
    locations_.push_back({owner + "." + type + std::to_string(locations_.size()), address, intern(initial)});
    return static_cast<uint8_t>(locations_.size() - 1);
  };
  uint8_t location;
  if (run == nullptr) {
    location = add(scope);
  } else {
    if (initial != 0) throw std::logic_error("a block that a program makes must begin with zeros");
    const std::pair key(run->context, run->constructed++);
    const auto it = by_run_.find(key);
    location = it != by_run_.end() ? it->second : by_run_[key] = add("block of context " + std::to_string(key.first));
    keptAddresses().push_back(address);
  }
  by_address_[address] = location;
  return location;
}

uint64_t Names::canonicalAddress(const void* p) const {
  const auto it = by_address_.find(p);
  return std::bit_cast<uintptr_t>(it == by_address_.end() ? p : locations_[it->second].first_address);
}

uint8_t Names::slotIndex(const void* slot) const {
  if (slot == nullptr) return 0;
  for (int i = 1; i < kNumSlots; ++i)
    if (slot == &slots_[i]) return static_cast<uint8_t>(i);
  throw std::logic_error("not a state of this model");
}

uint64_t perform(OpKind kind, uint8_t location, uint64_t value, std::memory_order order) {
  Names& names = Names::current();
  Run* run = names.run;
  if (run == nullptr || run->ended) return 0;
  if (run->consumed < run->history.size()) {
    run->fenced = false;
    run->marks.clear();
    run->checkpoint = -1;
    return names.raw(run->history[run->consumed++]);
  }
  run->pending = {kind, location, names.intern(value), order, run->fenced};
  run->ended = true;
  return 0;
}

void mark(MarkKind kind, const Slot* slot, const char* text) {
  Run* run = Names::current().run;
  if (!run->ended) run->marks.push_back({kind, Names::current().slotIndex(slot), text, {}});
}
void mark(MarkKind kind, const Slot* slot, Content content) {
  Run* run = Names::current().run;
  if (!run->ended) run->marks.push_back({kind, Names::current().slotIndex(slot), "", content});
}

void checkpoint(int label) {
  Run* run = Names::current().run;
  if (!run->ended) run->checkpoint = label;
}

void ModelPlatform::signalFence() {
  if (Run* run = Names::current().run) run->fenced = true;
}

std::vector<const Slot*> lock() { return unpack(perform(OpKind::kLock, 0, 0, std::memory_order_acquire)); }
void unlock(const std::vector<const Slot*>& retired) {
  perform(OpKind::kUnlock, 0, pack(retired), std::memory_order_release);
}
const Slot* allocate(Content content) {
  const uint64_t index = perform(OpKind::kAllocate, 0, content.packed(), std::memory_order_relaxed);
  return Names::current().slot(static_cast<uint8_t>(index));
}
Content inspect(const Slot* slot) {
  return Content::of(perform(OpKind::kInspect, 0, Names::current().slotIndex(slot), std::memory_order_relaxed));
}
void joinAll() { perform(OpKind::kJoin, 0, 0, std::memory_order_acquire); }

}  // namespace shunt::world::model
