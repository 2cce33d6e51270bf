// WordMutex keeps others out, and wakes those that wait.
#include <gtest/gtest.h>

#include <shunt/core/word_mutex.h>

#include <mutex>
#include <thread>
#include <vector>

namespace shunt::test {
namespace {

TEST(WordMutex, IsTakenOnce) {
  WordMutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(WordMutex, WakesWhoeverWaits) {
  WordMutex mutex;
  int64_t count = 0;  // not atomic: a sanitizer sees a race where the mutex lets two in
  constexpr int kThreads = 4, kRounds = 20'000;
  std::vector<std::thread> threads;
  mutex.lock();  // so that all of them find it locked
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(count, 0);
  mutex.unlock();
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(count, int64_t{kThreads} * kRounds);
}

}  // namespace
}  // namespace shunt::test
