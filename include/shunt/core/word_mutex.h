// WordMutex: a mutex of four bytes, for objects of which there are many and which are rarely locked.
//
// Any thread; as std::mutex, not recursive. Whoever finds it locked sleeps.
//
// The word is 0 (free), 1 (locked) or 2 (locked, and somebody may sleep). Taking it is acquire and giving it back
// release, so whoever takes it sees what those before did; a sleeper writes 2 before it sleeps, so that the release,
// one exchange, can't miss it. ("Futexes are tricky", Drepper 2011, the second mutex.)
#pragma once

#include <shunt/core/macros.h>

#include <atomic>
#include <cstdint>

namespace shunt {

class WordMutex {
 public:
  constexpr WordMutex() noexcept = default;
  WordMutex(const WordMutex&) = delete;
  WordMutex& operator=(const WordMutex&) = delete;

  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  bool try_lock() noexcept {
    uint32_t expected = kFree;
    return word_.compare_exchange_strong(expected, kLocked, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    if (word_.exchange(kFree, std::memory_order_release) == kAwaited) [[unlikely]]
      wake();
  }

 private:
  static constexpr uint32_t kFree = 0, kLocked = 1, kAwaited = 2;
  SHUNT_API SHUNT_COLD void wait() noexcept;
  SHUNT_API SHUNT_COLD void wake() noexcept;

  std::atomic<uint32_t> word_{kFree};
};

}  // namespace shunt
