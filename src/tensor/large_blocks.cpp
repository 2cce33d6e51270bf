#include "src/tensor/large_blocks.h"

#include "src/base/mutex.h"
#include "src/tensor/free_lists.h"
#include "src/tensor/system_blocks.h"

#include <shunt/core/fork.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <limits>

namespace shunt::detail {

const int64_t kIdleSeconds = 1;

namespace {

constexpr int64_t kIdle = kIdleSeconds * 1000;  // milliseconds, as all times here
// A look-up goes through all of them under the lock, so the list is short. Each block is of more than 1 MiB: the count
// binds where more than 256 MiB are kept.
constexpr size_t kMostKept = 256;
// A program that has just begun has no peak to go by: room for a few blocks of its first steps. Not measured against
// other sizes.
constexpr size_t kAlwaysAllowed = size_t{64} << 20;

/// To a few milliseconds; a tenth of what an exact clock takes.
int64_t coarseNow() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

/// Blocks on their way back to malloc, outside the lock.
class Returned {
 public:
  Returned() = default;
  Returned(const Returned&) = delete;
  Returned& operator=(const Returned&) = delete;
  ~Returned() {
    for (size_t i = 0; i < count_; ++i) std::free(blocks_[i]);
  }
  bool add(void* block) {
    blocks_[count_++] = block;
    return count_ < blocks_.size();
  }
  bool full() const { return count_ == blocks_.size(); }

 private:
  std::array<void*, 16> blocks_;
  size_t count_ = 0;
};

class LargeBlocks {
 public:
  /// A kept block, or null: then the caller makes one.
  void* take(size_t bytes) SHUNT_EXCLUDES(mutex_);
  void keep(void* block, size_t bytes) noexcept SHUNT_EXCLUDES(mutex_);
  /// A block that `take` had counted couldn't be made.
  void notMade(size_t bytes) noexcept SHUNT_EXCLUDES(mutex_);
  /// What is idle or beyond the bound.
  void trim() noexcept SHUNT_EXCLUDES(mutex_);
  /// trim(), unless it has been done since the clock last moved: taking or keeping a block trims anyway.
  void trimIdle() noexcept SHUNT_EXCLUDES(mutex_) {
    if (keepsAny() && trimmed_.load(std::memory_order_relaxed) != coarseNow()) trim();
  }
  void clear() noexcept SHUNT_EXCLUDES(mutex_);
  LargeBlockCounters counters() SHUNT_EXCLUDES(mutex_);
  bool keepsAny() const { return any_.load(std::memory_order_relaxed); }
  void lock() SHUNT_TSA(acquire_capability(mutex_)) { mutex_.lock(); }
  void unlock() SHUNT_TSA(release_capability(mutex_)) { mutex_.unlock(); }

 private:
  struct Kept {
    void* block;
    size_t bytes;
    int64_t since;
  };

  void startPeriod(int64_t now) SHUNT_REQUIRES(mutex_);
  size_t bound() const SHUNT_REQUIRES(mutex_);
  void remove(size_t first, size_t count) SHUNT_REQUIRES(mutex_);
  /// The oldest blocks, while `goes(block)` holds and `out` has room.
  template <class Goes>
  void removeOldest(Returned& out, const Goes& goes) SHUNT_REQUIRES(mutex_);

  Mutex mutex_;
  std::array<Kept, kMostKept> kept_ SHUNT_GUARDED_BY(mutex_){};  // oldest first
  size_t count_ SHUNT_GUARDED_BY(mutex_) = 0;
  size_t live_bytes_ SHUNT_GUARDED_BY(mutex_) = 0, kept_bytes_ SHUNT_GUARDED_BY(mutex_) = 0;
  // The most that lived at once in this period and in the one before.
  size_t peak_ SHUNT_GUARDED_BY(mutex_) = 0, peak_before_ SHUNT_GUARDED_BY(mutex_) = 0;
  int64_t period_began_ SHUNT_GUARDED_BY(mutex_) = 0;
  uint64_t reused_ SHUNT_GUARDED_BY(mutex_) = 0, made_ SHUNT_GUARDED_BY(mutex_) = 0;
  uint64_t trims_ SHUNT_GUARDED_BY(mutex_) = 0;
  // Relaxed: a hint; what is kept is read under the lock.
  std::atomic<bool> any_{false};
  std::atomic<int64_t> trimmed_{0};  // when; a hint, too
};

void LargeBlocks::startPeriod(int64_t now) {
  const int64_t lasted = now - period_began_;
  if (lasted < kIdle) return;
  peak_before_ = lasted < 2 * kIdle ? peak_ : live_bytes_;
  peak_ = live_bytes_;
  period_began_ = now;
}

size_t LargeBlocks::bound() const {
  const size_t peak = std::max(peak_, peak_before_);
  return peak + std::max(peak / 4, kAlwaysAllowed);
}

void LargeBlocks::remove(size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i) kept_bytes_ -= kept_[i].bytes;
  std::copy(kept_.begin() + static_cast<ptrdiff_t>(first + count), kept_.begin() + static_cast<ptrdiff_t>(count_),
            kept_.begin() + static_cast<ptrdiff_t>(first));
  count_ -= count;
  any_.store(count_ != 0, std::memory_order_relaxed);
}

template <class Goes>
void LargeBlocks::removeOldest(Returned& out, const Goes& goes) {
  size_t n = 0, bytes_left = kept_bytes_;
  while (n < count_ && goes(kept_[n], bytes_left)) {
    bytes_left -= kept_[n].bytes;
    if (!out.add(kept_[n++].block)) break;
  }
  if (n != 0) remove(0, n);
}

void* LargeBlocks::take(size_t bytes) {
  MutexLock lock(mutex_);
  startPeriod(coarseNow());
  live_bytes_ += bytes;
  peak_ = std::max(peak_, live_bytes_);
  for (size_t i = count_; i-- > 0;) {
    if (kept_[i].bytes != bytes) continue;
    void* block = kept_[i].block;
    remove(i, 1);
    ++reused_;
    return block;
  }
  ++made_;
  return nullptr;
}

void LargeBlocks::keep(void* block, size_t bytes) noexcept {
  Returned out;  // outlives the lock
  MutexLock lock(mutex_);
  const int64_t now = coarseNow();
  startPeriod(now);
  live_bytes_ -= bytes;
  if (count_ == kMostKept) removeOldest(out, [](const Kept&, size_t) { return true; });
  kept_[count_++] = {block, bytes, now};
  kept_bytes_ += bytes;
  any_.store(true, std::memory_order_relaxed);
}

void LargeBlocks::notMade(size_t bytes) noexcept {
  MutexLock lock(mutex_);
  live_bytes_ -= bytes;
}

void LargeBlocks::trim() noexcept {
  for (bool more = keepsAny(); more;) {
    Returned out;
    {
      MutexLock lock(mutex_);
      const int64_t now = coarseNow();
      startPeriod(now);
      trimmed_.store(now, std::memory_order_relaxed);
      ++trims_;
      const size_t most = bound(), live = live_bytes_;
      removeOldest(
          out, [&](const Kept& k, size_t kept_bytes) { return now - k.since >= kIdle || live + kept_bytes > most; });
    }
    more = out.full();
  }
}

void LargeBlocks::clear() noexcept {
  for (bool more = true; more;) {
    Returned out;
    {
      MutexLock lock(mutex_);
      removeOldest(out, [](const Kept&, size_t) { return true; });
    }
    more = out.full();
  }
}

LargeBlockCounters LargeBlocks::counters() {
  MutexLock lock(mutex_);
  return {reused_, made_, live_bytes_, kept_bytes_, count_, trims_};
}

[[clang::no_destroy]] constinit LargeBlocks large_blocks;  // threads may end after every static object

[[maybe_unused]] const bool at_load = (holdAcrossFork(
                                           4, []() SHUNT_TSA(no_thread_safety_analysis) { large_blocks.lock(); },
                                           []() SHUNT_TSA(no_thread_safety_analysis) { large_blocks.unlock(); }),
                                       true);

}  // namespace

void* allocateLarge(size_t nbytes) {
  if (nbytes > std::numeric_limits<size_t>::max() / 4) return nullptr;
  const size_t bytes = largeBlockBytes(nbytes);
  void* block = large_blocks.take(bytes);
  large_blocks.trim();
  if (block != nullptr) return block;
  block = std::aligned_alloc(kPageAlignment, bytes);
  if (block == nullptr && large_blocks.keepsAny()) {
    large_blocks.clear();
    block = std::aligned_alloc(kPageAlignment, bytes);
  }
  if (block == nullptr) large_blocks.notMade(bytes);
  return block;
}

void freeLarge(void* block, size_t nbytes) noexcept {
  large_blocks.keep(block, largeBlockBytes(nbytes));
  large_blocks.trim();
}

void releaseIdleLargeBlocks() noexcept { large_blocks.trimIdle(); }

void releaseLargeBlocks() noexcept { large_blocks.clear(); }

LargeBlockCounters largeBlockCounters() { return large_blocks.counters(); }

}  // namespace shunt::detail
