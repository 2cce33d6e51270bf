// The median of measured ratios, and where it lies with 95 % certainty. Functions, any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace bench {

struct Interval {
  double low = 0, median = 0, high = 0;
};

/// How many of n figures at each end may lie outside: with them the interval still holds the median of what they are
/// drawn from in 95 of 100 cases, whatever its distribution is. Fewer than six figures say too little.
inline size_t leftOutOfInterval(size_t n) {
  double below = std::pow(0.5, static_cast<double>(n)), term = below;  // of no more than k of n below the median
  if (below > 0.025) throw std::invalid_argument("an interval of 95 % needs six figures");
  size_t k = 0;
  while (true) {
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    if (below + term > 0.025) return k;
    below += term;
    ++k;
  }
}

inline Interval intervalOf(std::vector<double> figures) {
  const size_t n = figures.size(), out = leftOutOfInterval(n);
  std::sort(figures.begin(), figures.end());
  const double median = n % 2 != 0 ? figures[n / 2] : (figures[n / 2 - 1] + figures[n / 2]) / 2;
  return {figures[out], median, figures[n - 1 - out]};
}

}  // namespace bench
