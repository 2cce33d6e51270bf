// Large blocks (src/tensor/large_blocks.h): given out again, within the bound, returned when idle, apart between
// threads and across forks.
#include "src/tensor/large_blocks.h"
#include "src/tensor/stress.h"

#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

namespace shunt {
namespace {

using detail::allocateBlock;
using detail::freeBlock;
using detail::largeBlockBytes;
using detail::largeBlockCounters;
using detail::releaseIdleLargeBlocks;
using detail::releaseLargeBlocks;

constexpr size_t kMiB = size_t{1} << 20;

struct LargeBlocks : testing::Test {
  LargeBlocks() { releaseLargeBlocks(); }
  ~LargeBlocks() override { releaseLargeBlocks(); }
};

TEST_F(LargeBlocks, ClassesWasteAtMostAnEighth) {
  for (size_t n = kMiB + 1; n < 64 * kMiB; n += 4097) {
    const size_t bytes = largeBlockBytes(n);
    ASSERT_GE(bytes, n);
    ASSERT_LE(bytes - n, n / 8) << n;
    ASSERT_EQ(bytes % 4096, 0u) << n;
    ASSERT_EQ(largeBlockBytes(bytes), bytes) << n;
    ASSERT_LE(largeBlockBytes(n - 1), bytes) << n;
  }
}

TEST_F(LargeBlocks, NoTwoThreadsHaveTheSameBlock) {
  std::vector<std::thread> threads;
  for (unsigned t = 1; t <= 4; ++t)
    threads.emplace_back([t] {
      for (size_t i = 0; i < 300; ++i) {
        const size_t bytes = kMiB + 1 + (i * 7 + t) % 5 * kMiB / 2;
        auto* block = static_cast<unsigned char*>(allocateBlock(bytes));
        for (size_t at = 0; at < bytes; at += 64 * 1024) block[at] = static_cast<unsigned char>(t);
        std::this_thread::yield();
        for (size_t at = 0; at < bytes; at += 64 * 1024) ASSERT_EQ(block[at], t);
        freeBlock(block, bytes);
      }
    });
  for (std::thread& t : threads) t.join();
}

#ifdef SHUNT_STRESS

TEST_F(LargeBlocks, NothingIsKeptFromTheSanitizers) {
  freeBlock(allocateBlock(16 * kMiB), 16 * kMiB);
  EXPECT_EQ(largeBlockCounters().kept_blocks, 0u);
}

#else

long pageFaults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

void waitUntilIdle() { std::this_thread::sleep_for(std::chrono::milliseconds(detail::kIdleSeconds * 1000 + 100)); }

TEST_F(LargeBlocks, AFreedBlockServesItsClassOnly) {
  const auto before = largeBlockCounters();
  void* first = allocateBlock(16 * kMiB);
  freeBlock(first, 16 * kMiB);
  EXPECT_EQ(largeBlockCounters().kept_blocks, 1u);
  EXPECT_EQ(largeBlockCounters().kept_bytes, 16 * kMiB);
  void* other = allocateBlock(16 * kMiB + 1);
  void* same = allocateBlock(15 * kMiB + 1);
  EXPECT_NE(other, first);
  EXPECT_EQ(same, first);
  EXPECT_EQ(largeBlockCounters().reused - before.reused, 1u);
  EXPECT_EQ(largeBlockCounters().made - before.made, 2u);
  freeBlock(other, 16 * kMiB + 1);
  freeBlock(same, 15 * kMiB + 1);
  EXPECT_EQ(largeBlockCounters().live_bytes, before.live_bytes);
}

TEST_F(LargeBlocks, StepsWithLargeTensorsTakeNoNewPages) {
  const Tensor a = ones({4 * static_cast<int64_t>(kMiB)});
  const auto step = [&] { return add(mul(add(a, a), a), a).neg(); };
  step();
  const auto made = largeBlockCounters().made;
  const long before = pageFaults();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_LT(pageFaults() - before, 1000) << "a tensor here has 4096 pages";
  EXPECT_EQ(largeBlockCounters().made, made);
}

TEST_F(LargeBlocks, TheBoundIsWhatLivedLately) {
  waitUntilIdle();  // what other tests needed is not lately any more
  waitUntilIdle();
  // Sizes of which each is used once: nothing that is kept is wanted again.
  size_t most = 0;
  for (size_t n = 2; n < 200; n += 3) {
    void* block = allocateBlock(n * kMiB);
    most = std::max(most, largeBlockBytes(n * kMiB));
    const auto now = largeBlockCounters();
    ASSERT_LE(now.live_bytes + now.kept_bytes, most + std::max(most / 4, 64 * kMiB)) << n;
    freeBlock(block, n * kMiB);
  }
  EXPECT_GT(largeBlockCounters().kept_blocks, 0u);
}

TEST_F(LargeBlocks, ManyBlocksOfOneStepAreKept) {
  std::vector<void*> blocks;
  const auto step = [&] {
    for (int i = 0; i < 200; ++i) blocks.push_back(allocateBlock(2 * kMiB));
    for (void* b : blocks) freeBlock(b, 2 * kMiB);
    blocks.clear();
  };
  step();
  const auto before = largeBlockCounters();
  step();
  EXPECT_EQ(largeBlockCounters().reused - before.reused, 200u);
}

TEST_F(LargeBlocks, IdleOnesGoBackWithTheNextUse) {
  freeBlock(allocateBlock(16 * kMiB), 16 * kMiB);
  ASSERT_EQ(largeBlockCounters().kept_blocks, 1u);
  waitUntilIdle();
  freeBlock(allocateBlock(8 * kMiB), 8 * kMiB);
  EXPECT_EQ(largeBlockCounters().kept_bytes, 8 * kMiB);
  waitUntilIdle();
  // A small one that no list has: here of a thread with empty lists.
  std::thread([] { freeBlock(allocateBlock(100), 100); }).join();
  EXPECT_EQ(largeBlockCounters().kept_blocks, 0u);
}

TEST_F(LargeBlocks, AskingForIdleOnesReturnsTheseAndNoOthers) {
  freeBlock(allocateBlock(16 * kMiB), 16 * kMiB);
  waitUntilIdle();
  ASSERT_EQ(largeBlockCounters().kept_blocks, 1u);
  releaseIdleLargeBlocks();
  EXPECT_EQ(largeBlockCounters().kept_blocks, 0u);
  freeBlock(allocateBlock(16 * kMiB), 16 * kMiB);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that the clock moves
  releaseIdleLargeBlocks();
  EXPECT_EQ(largeBlockCounters().kept_blocks, 1u);
}

// It is asked for where calls are sampled, by every thread: the lock is taken no more often than the clock moves.
TEST_F(LargeBlocks, AskingForIdleOnesIsCheap) {
  releaseIdleLargeBlocks();
  const auto before = largeBlockCounters();
  releaseIdleLargeBlocks();
  EXPECT_EQ(largeBlockCounters().trims, before.trims) << "nothing is kept";
  freeBlock(allocateBlock(16 * kMiB), 16 * kMiB);
  const auto kept = largeBlockCounters();
  const auto start = std::chrono::steady_clock::now();
  constexpr int kAsked = 1'000'000;
  for (int i = 0; i < kAsked; ++i) releaseIdleLargeBlocks();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  const uint64_t trims = largeBlockCounters().trims - kept.trims;
  EXPECT_LE(static_cast<double>(trims), took.count() + 2) << "once a millisecond, the unit of its clock";
  EXPECT_LT(trims, kAsked / 10u);
}

// Calls whose blocks come from the lists, or that need none, by either way.
TEST_F(LargeBlocks, IdleOnesGoBackWhileOnlySmallCallsAreMade) {
  const Tensor a = ones({16}), b = zeros({16});
  for (const bool compiled : {false, true}) {
    SCOPED_TRACE(compiled ? "in thunks" : "interpreted");
    jit::set_enabled(compiled);
    for (int i = 0; i < 10'000; ++i) a.add_(b);
    jit::wait_idle();
    freeBlock(allocateBlock(16 * kMiB), 16 * kMiB);
    ASSERT_EQ(largeBlockCounters().kept_blocks, 1u);
    waitUntilIdle();
    constexpr int kMostCalls = 1 << 22;  // samples may be 2^21 calls apart
    int calls = 0;
    const uint64_t in_thunks = jit::calls_in_thunks();
    for (; calls < kMostCalls && largeBlockCounters().kept_blocks != 0; calls += 64)
      for (int i = 0; i < 64; ++i) a.add_(b);
    EXPECT_LT(calls, kMostCalls);
    EXPECT_EQ(jit::calls_in_thunks() - in_thunks > 0, compiled && jit::stats().available);
  }
  jit::set_enabled(true);
}

TEST_F(LargeBlocks, GoBackBeforeAnAllocationFails) {
  freeBlock(allocateBlock(16 * kMiB), 16 * kMiB);
  const auto before = largeBlockCounters();
  EXPECT_THROW(allocateBlock(size_t{1} << 60), Error);
  EXPECT_EQ(largeBlockCounters().kept_blocks, 0u);
  EXPECT_EQ(largeBlockCounters().live_bytes, before.live_bytes);
  EXPECT_THROW(allocateBlock(SIZE_MAX), Error);
}

TEST_F(LargeBlocks, AForkedChildGoesOnAllocating) {
  const std::jthread other([](const std::stop_token& stop) {  // which a failed assertion ends, too
    while (!stop.stop_requested()) freeBlock(allocateBlock(2 * kMiB), 2 * kMiB);
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a lock left behind would last for ever
      freeBlock(allocateBlock(2 * kMiB), 2 * kMiB);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
}

#endif

}  // namespace
}  // namespace shunt
