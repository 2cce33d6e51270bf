#include "jit/cache/recent_objects.h"

#include <new>

namespace shunt::jit {

const RecentObjects::Object* RecentObjects::find(const std::string& key) const {
  const auto found = objects_.find(key);
  return found != objects_.end() ? &found->second : nullptr;
}

void RecentObjects::drop(const std::string& key) {
  const auto found = objects_.find(key);
  bytes_ -= sizeOf(key, found->second);
  objects_.erase(found);
}

void RecentObjects::add(const std::string& key, Object object) noexcept {
  const size_t size = sizeOf(key, object);
  if (objects_.count(key) != 0 || size > most_bytes_) return;
  try {
    while (bytes_ + size > most_bytes_) {
      drop(by_age_.front());
      by_age_.pop_front();
    }
    by_age_.push_back(key);
    objects_.try_emplace(key, std::move(object));
    bytes_ += size;
  } catch (const std::bad_alloc&) {
    objects_.clear();
    by_age_.clear();
    bytes_ = 0;
  }
}

}  // namespace shunt::jit
