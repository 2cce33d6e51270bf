// WordMutex: a mutex of four bytes, for objects that are many and rarely locked.
//
// Any thread may use it. It is not recursive. Threads that wait for it sleep.
//
// The word is 0 (free), 1 (locked) or 2 (locked, and a thread may sleep). Locking is an acquire and unlocking a
// release, so the next owner sees the last one's writes. A thread writes 2 before it sleeps, so the exchange in
// unlock() can't miss it. ("Futexes are tricky", Drepper 2011, the second mutex.)
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

  /// Sleeps until the mutex is free. A thread that already owns it never wakes.
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  /// Never sleeps. False: another thread owns it.
  bool try_lock() noexcept {
    uint32_t expected = kFree;
    return word_.compare_exchange_strong(expected, kLocked, std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Wakes one sleeping thread, if any. Only the owner may call it.
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
