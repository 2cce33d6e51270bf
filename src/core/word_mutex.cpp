#include <shunt/core/word_mutex.h>

namespace shunt {

void WordMutex::wait() noexcept {
  // Who gets it here can't know whether others sleep, and leaves it as awaited.
  while (word_.exchange(kAwaited, std::memory_order_acquire) != kFree) word_.wait(kAwaited, std::memory_order_relaxed);
}

void WordMutex::wake() noexcept { word_.notify_one(); }

}  // namespace shunt
