#include "src/dispatch/timing.h"

#include <algorithm>
#include <bit>

namespace shunt::jit {
namespace {

uint32_t medianOf(std::array<uint32_t, Timing::kSamples>& samples) {
  auto* middle = samples.data() + Timing::kSamples / 2;
  std::nth_element(samples.data(), middle, samples.data() + Timing::kSamples);
  return *middle;
}

}  // namespace

int Timing::bucketOf(int64_t numel) {
  return std::min(static_cast<int>(std::bit_width(static_cast<uint64_t>(numel))), kBuckets - 1);
}

bool Timing::undecided(int64_t numel) {
  if (isDecided(bucketOf(numel))) return false;
  std::unique_lock lock(mutex_, std::try_to_lock);
  return lock.owns_lock() && !lost_;
}

Timing::Bucket& Timing::bucketLocked(int number) {
  for (const auto& b : buckets_)
    if (b->number == number) return *b;
  buckets_.push_back(std::make_unique<Bucket>());
  buckets_.back()->number = number;
  return *buckets_.back();
}

bool Timing::add(int64_t numel, Way way, uint64_t ticks) {
  const int b = bucketOf(numel);
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || lost_ || isDecided(b)) return false;
  Bucket& bucket = bucketLocked(b);
  uint8_t& count = bucket.count[static_cast<size_t>(way)];
  if (count == kSamples) return false;
  bucket.ticks[static_cast<size_t>(way)][count++] = static_cast<uint32_t>(std::min<uint64_t>(ticks, UINT32_MAX));
  if (bucket.count[0] < kSamples || bucket.count[1] < kSamples) return false;
  if (!compare(bucket)) {
    decided_.fetch_or(uint64_t{1} << b, std::memory_order_relaxed);
    std::erase_if(buckets_, [b](const auto& made) { return made->number == b; });
    if (buckets_.empty()) buckets_.shrink_to_fit();
    return false;
  }
  bucket.count = {};
  lost_ = ++bucket.strikes == kStrikes;
  return lost_;
}

bool Timing::asksAgain(int64_t first) {
  const int64_t now = uses();
  int64_t due = asks_at_.load(std::memory_order_relaxed);
  return now >= std::max(due, first) && asks_at_.compare_exchange_strong(due, 2 * now, std::memory_order_relaxed);
}

bool Timing::compare(Bucket& bucket) {
  const double compiled = std::max(medianOf(bucket.ticks[static_cast<size_t>(Way::kThunk)]), 1u);
  const double interpreted = std::max(medianOf(bucket.ticks[static_cast<size_t>(Way::kInterpreted)]), 1u);
  speedup_.store(interpreted / compiled, std::memory_order_relaxed);
  return compiled > kSlower * interpreted;
}

}  // namespace shunt::jit
