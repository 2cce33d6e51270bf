// A fork while threads end: their allocator's thread-specific destructor takes locks, which a child would find held.
#include <shunt/shunt.h>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

// AddressSanitizer and ThreadSanitizer don't support threads and fork in one process (allocator_test.cpp).
#if !defined(__has_feature) || !(__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
namespace shunt {
namespace {

using std::chrono::milliseconds;

int statusOfChild(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs dies of it
    work();
    _exit(0);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

/// Of every size that the allocator has lists of its own for.
void allocate() {
  std::vector<Tensor> kept;
  for (int64_t k = 0; k < 30; ++k) kept.push_back(empty({16 + k * 700}));
}

// As long as a destructor runs, called in both of the first rounds, so at some time after a thread's memory was given
// back and before the allocator's own destructor was surely called.
struct Destructor {
  explicit Destructor(std::function<void()> f) : during(std::move(f)) {
    pthread_key_create(&key, [](void* p) {
      auto* self = static_cast<Destructor*>(p);
      if (++self->rounds < 2) pthread_setspecific(self->key, p);
      self->during();
    });
  }
  ~Destructor() { pthread_key_delete(key); }
  std::thread inThread() {
    return std::thread([this] {
      pthread_setspecific(key, this);
      allocate();
    });
  }

  pthread_key_t key{};
  int rounds = 0;
  std::function<void()> during;
};

TEST(ThreadEnd, AForkWaitsForIt) {
  std::atomic<int> begun{0}, ended{0}, waited{0};
  Destructor slow([&] {
    ++begun;
    std::this_thread::sleep_for(milliseconds(100));
    ++ended;
  });
  std::thread thread = slow.inThread();
  for (int round = 1; round <= 2; ++round) {
    while (begun < round) std::this_thread::yield();
    EXPECT_EQ(statusOfChild(&allocate), 0);
    waited += ended >= round;
  }
  thread.join();
  EXPECT_EQ(slow.rounds, 2);
  EXPECT_GE(waited, 1);
}

// A lock that the fork holds, for example.
TEST(ThreadEnd, WhatWaitsForTheForkDoesNotKeepItForEver) {
  std::atomic<bool> begun{false}, forked{false}, gave_up{false};
  Destructor waiting([&] {
    begun = true;
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!forked && !gave_up) {
      std::this_thread::sleep_for(milliseconds(1));
      if (std::chrono::steady_clock::now() > latest) gave_up = true;
    }
  });
  std::thread thread = waiting.inThread();
  while (!begun) std::this_thread::yield();
  EXPECT_EQ(statusOfChild([] {}), 0);
  forked = true;
  thread.join();
  EXPECT_FALSE(gave_up);
}

TEST(ThreadEnd, ChildrenForkedWhileThreadsEndAllocate) {
  std::vector<std::jthread> threads;  // which a failed assertion ends, too
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) std::thread(&allocate).join();
    });
  for (int n = 0; n < 150; ++n) ASSERT_EQ(statusOfChild(&allocate), 0) << "child " << n;
}

}  // namespace
}  // namespace shunt
#endif
