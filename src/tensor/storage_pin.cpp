#include <shunt/tensor/storage_pin.h>

#include <mutex>
#include <unordered_map>

namespace shunt {
namespace {

// Pins are rare, and who asks for one resizes a storage: one lock, and a count for each storage that has a pin.
struct Pins {
  std::mutex mutex;
  std::unordered_map<const StorageImpl*, size_t> counts;
};
Pins& pins() {
  static Pins& all = *new Pins();  // arrays may end after the statics
  return all;
}

}  // namespace

StoragePin::StoragePin(Storage storage) : storage_(std::move(storage)) {
  if (!storage_.defined()) return;
  const std::lock_guard lock(pins().mutex);
  ++pins().counts[storage_.get()];
}

StoragePin::~StoragePin() {
  if (!storage_.defined()) return;
  const std::lock_guard lock(pins().mutex);
  const auto found = pins().counts.find(storage_.get());
  if (--found->second == 0) pins().counts.erase(found);
}

bool StoragePin::holds(const StorageImpl& storage) {
  const std::lock_guard lock(pins().mutex);
  return pins().counts.contains(&storage);
}

}  // namespace shunt
