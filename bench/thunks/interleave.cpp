#include "bench/thunks/interleave.h"

#include <algorithm>
#include <cstdio>

#include <time.h>

namespace bench {
namespace {

constexpr int64_t kChunk = 1'000'000;  // nanoseconds
constexpr int kRounds = 61, kRoundsOfLongCalls = 11;

int64_t callsOfChunk(Call& call) {
  timeCalls(call, 3);
  for (int64_t count = 1;; count *= 4) {
    const int64_t took = timeCalls(call, count);
    if (took >= kChunk / 4) return std::max<int64_t>(1, count * kChunk / took);
  }
}

}  // namespace

int64_t threadNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

double medianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string timesOf(const Comparison& c) {
  char text[64];
  std::snprintf(text, sizeof text, "%.5g ns against %.5g", c.a, c.b);
  return text;
}

int64_t timeCalls(Call& call, int64_t count) {
  const int64_t start = threadNanoseconds();
  for (int64_t i = 0; i < count; ++i) call.run();
  return threadNanoseconds() - start;
}

Comparison compare(Call& a, Call& b) {
  const int64_t calls_a = callsOfChunk(a), calls_b = callsOfChunk(b);
  const bool is_long = calls_a == 1 && calls_b == 1;
  return alternate(
      is_long ? kRoundsOfLongCalls : kRounds, calls_a, calls_b, [&](int64_t n) { return timeCalls(a, n); },
      [&](int64_t n) { return timeCalls(b, n); });
}

}  // namespace bench
