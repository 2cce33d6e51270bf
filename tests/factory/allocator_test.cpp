// Tensors' memory between threads, and in children of fork().
#include "src/tensor/stress.h"

#include <shunt/shunt.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace shunt {
namespace {

constexpr int64_t kSizes[] = {1, 16, 100, 500, 3000, 20000, 200000};

/// Tensors that any thread may take and leave. Destructors run outside of the lock.
class Exchange {
 public:
  void put(Tensor t) {
    Tensor old;
    {
      std::lock_guard lock(mutex_);
      std::swap(old, slots_[next_++ % slots_.size()]);
      std::swap(old, t);
    }
    check(t);
  }

  static void check(const Tensor& t) {
    if (!t.defined()) return;
    const float* p = t.data_ptr<float>();
    const auto expected = static_cast<float>(t.numel() % 1000);
    if (p[0] != expected || p[t.numel() - 1] != expected) wrong.fetch_add(1);
  }

  static inline std::atomic<int> wrong{0};

 private:
  std::mutex mutex_;
  std::array<Tensor, 300> slots_;
  size_t next_ = 0;
};

Tensor filled(int64_t n) {
  Tensor t = empty({n}, kFloat);
  float* p = t.data_ptr<float>();
  p[0] = p[n - 1] = static_cast<float>(n % 1000);
  return t;
}

// Note [Places in the page] (src/tensor/system_blocks.h).
TEST(Allocator, OperandsAndResultsOfMoreThan8KiBHaveTheSamePlaceInAPage) {
#ifdef SHUNT_STRESS
  GTEST_SKIP() << "malloc gives the blocks";
#endif
  for (const int64_t n : {2048, 3000, 16384, 100'000, 200'000, 400'000, 5'000'000}) {
    const Tensor a = rand({n}), b = rand({n}), c = a + b, d = c.exp();
    const auto place = [](const Tensor& t) { return reinterpret_cast<uintptr_t>(t.data_ptr()) % 4096; };
    EXPECT_EQ(place(b), place(a)) << n;
    EXPECT_EQ(place(c), place(a)) << n;
    EXPECT_EQ(place(d), place(a)) << n;
  }
}

TEST(Allocator, ThreadsFreeEachOthersTensors) {
  Exchange exchange;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&exchange, i] {
      for (int k = 0; k < 20000; ++k) exchange.put(filled(kSizes[(k + i) % 5]));
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(Exchange::wrong, 0);
}

// ThreadSanitizer doesn't support threads and fork in one process; AddressSanitizer's quarantine (LLVM 19) has a lock
// that it doesn't take at a fork, so that one child in some hundreds waits for it for ever.
#if !defined(__has_feature) || !(__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
TEST(Allocator, ChildForkedWhileThreadsAllocate) {
  Exchange exchange;
  std::vector<std::jthread> threads;  // which a failed assertion ends, too
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&exchange, i](const std::stop_token& stop) {
      for (int k = i; !stop.stop_requested(); ++k) exchange.put(filled(kSizes[k % 7]));
    });
  for (int n = 0; n < 100; ++n) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);  // a child that hangs dies of it
      std::vector<Tensor> kept;
      for (int k = 0; k < 1000; ++k) kept.push_back(filled(kSizes[k % 6]));
      for (const Tensor& t : kept) Exchange::check(t);
      kept.clear();
      // A child may fork, too: it has no other threads to wait for.
      const pid_t grandchild = fork();
      if (grandchild == 0) _exit(filled(16).numel() == 16 ? 0 : 1);
      int status = -1;
      if (grandchild < 0 || waitpid(grandchild, &status, 0) != grandchild || status != 0) _exit(2);
      _exit(Exchange::wrong == 0 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child " << n << ": status " << status;
  }
  threads.clear();
  EXPECT_EQ(Exchange::wrong, 0);
}
#endif

}  // namespace
}  // namespace shunt
