#include "jit/cache/recent_objects.h"

#include <new>

namespace shunt::jit {

const RecentObjects::Object* RecentObjects::find(const std::string& key) const {
  const auto found = objects_.find(key);
  return found != objects_.end() ? &found->second : nullptr;
}

void RecentObjects::dropOldest() {
  llvm::StringMapEntry<Object>* oldest = by_age_.front();
  by_age_.pop_front();
  bytes_ -= sizeOf(oldest->getKey(), oldest->getValue());
  objects_.remove(oldest);
  oldest->Destroy(objects_.getAllocator());
}

void RecentObjects::clear() noexcept {
  objects_.clear();
  by_age_.clear();
  bytes_ = 0;
}

void RecentObjects::add(const std::string& key, Object object) noexcept {
  const size_t size = sizeOf(key, object);
  if (objects_.count(key) != 0 || size > most_bytes_) return;
  try {
    while (bytes_ + size > most_bytes_) dropOldest();
    object.object.shrink_to_fit();
    by_age_.push_back(nullptr);
    by_age_.back() = &*objects_.try_emplace(key, std::move(object)).first;
    bytes_ += size;
  } catch (const std::bad_alloc&) {
    clear();
  }
}

}  // namespace shunt::jit
