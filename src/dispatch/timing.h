// Timing: whether a thunk is worth having. Each thunk owns one; any thread may add to it, and one that finds it busy
// doesn't wait. Note [Never lose] in src/tiering/timed_call.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace shunt::jit {

enum class Way : uint8_t { kThunk, kInterpreted };

class Timing {
 public:
  static constexpr int kSamples = 31;  // of each way, whose medians are compared
  static constexpr int kStrikes = 2;   // lost comparisons in one bucket that end a thunk
  static constexpr double kSlower = 1.05;
  static constexpr int kBuckets = 40;  // by log2(number of elements)

  /// Whether calls of this size are still to be compared.
  bool undecided(int64_t numel);
  /// Takes a sample; true when the thunk has lost with it, once.
  bool add(int64_t numel, Way way, uint64_t ticks);
  /// Interpreted over compiled, of the comparison made last; 0 before the first.
  double speedup() const { return speedup_.load(std::memory_order_relaxed); }

  /// About so many calls were made in the thunk, as samples tell.
  void addUses(int64_t calls) { uses_.fetch_add(calls, std::memory_order_relaxed); }
  int64_t uses() const { return uses_.load(std::memory_order_relaxed); }
  /// Whether to ask for the second tier: true for one caller when there have been `first` uses, and each time that they
  /// have doubled since. So what was lost on the way is asked for again, at ever longer intervals.
  bool asksAgain(int64_t first);
  /// Nothing came of it: the next sample may ask.
  void askSoon() { asks_at_.store(0, std::memory_order_relaxed); }
  /// What was used long ago counts ever less.
  void age() {
    uses_.store(uses() / 2, std::memory_order_relaxed);
    asks_at_.store(asks_at_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
  }

 private:
  struct Bucket {
    int number = 0;
    std::array<uint32_t, kSamples> ticks[2];
    std::array<uint8_t, 2> count{};
    uint8_t strikes = 0;
  };
  static int bucketOf(int64_t numel);
  bool isDecided(int bucket) const { return (decided_.load(std::memory_order_relaxed) >> bucket & 1) != 0; }
  Bucket& bucketLocked(int number);
  bool compare(Bucket& bucket);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Bucket>> buckets_;  // under mutex_; made by the first sample, gone when decided
  std::atomic<uint64_t> decided_{0};              // a bit a bucket; written under mutex_
  static_assert(kBuckets <= 64);
  bool lost_ = false;
  std::atomic<double> speedup_{0};
  std::atomic<int64_t> uses_{0};
  std::atomic<int64_t> asks_at_{0};  // uses
};

}  // namespace shunt::jit
