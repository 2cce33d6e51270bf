// Two calls timed in turn, so that what else the machine does meets both.
#pragma once

#include "bench/calls/cases.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// CPU time of this thread: calls here use one, and another program's share of the core is not theirs.
int64_t threadNanoseconds();

double medianOf(std::vector<double> values);

struct Comparison {
  double ratio = 0;     // median over rounds of a's time over b's
  double a = 0, b = 0;  // nanoseconds of a call, medians
};

/// "39 ns against 41".
std::string timesOf(const Comparison& c);

/// `first` and `second` do the given number of calls and return the nanoseconds they took.
template <class First, class Second>
Comparison alternate(int rounds, int64_t calls_of_first, int64_t calls_of_second, First first, Second second) {
  std::vector<double> ratios, a, b;
  for (int round = 0; round < rounds; ++round) {
    double x = 0, y = 0;
    for (int turn = 0; turn < 2; ++turn) {
      if (turn == round % 2)
        x = static_cast<double>(first(calls_of_first)) / static_cast<double>(calls_of_first);
      else
        y = static_cast<double>(second(calls_of_second)) / static_cast<double>(calls_of_second);
    }
    ratios.push_back(x / y);
    a.push_back(x);
    b.push_back(y);
  }
  return {medianOf(std::move(ratios)), medianOf(std::move(a)), medianOf(std::move(b))};
}

int64_t timeCalls(Call& call, int64_t count);
/// Alternates chunks of about a millisecond.
Comparison compare(Call& a, Call& b);

}  // namespace bench
