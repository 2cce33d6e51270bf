#include <shunt/tensor/foreign_object.h>

#include <atomic>
#include <utility>

namespace shunt {
namespace {

// Relaxed: whoever gives an object to a tensor has set it before, and what publishes the tensor publishes this too.
constinit std::atomic<decltype(ForeignObjects::release)> release_object{nullptr};

}  // namespace

void set_foreign_objects(ForeignObjects objects) noexcept {
  release_object.store(objects.release, std::memory_order_relaxed);
}

void detail::ForeignObject::releaseOwned() noexcept {
  void* object = get();
  word_ = 0;
  if (const auto release = release_object.load(std::memory_order_relaxed)) release(object);
}

}  // namespace shunt
