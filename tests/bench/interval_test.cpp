// In which interval a median lies: ranks by the binomial distribution, as tables of it have them.
#include "bench/programs/interval.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace bench {
namespace {

TEST(Interval, LeavesOutAsManyAsTablesSay) {
  EXPECT_THROW(leftOutOfInterval(5), std::invalid_argument);
  for (const auto& [n, out] :
       {std::pair{6, 0}, {8, 0}, {9, 1}, {11, 1}, {12, 2}, {20, 5}, {30, 9}, {40, 13}, {100, 39}})
    EXPECT_EQ(leftOutOfInterval(static_cast<size_t>(n)), static_cast<size_t>(out)) << n;
}

TEST(Interval, IsOfTheSortedFigures) {
  std::vector<double> figures(9);
  std::iota(figures.rbegin(), figures.rend(), 1);
  const Interval i = intervalOf(figures);
  EXPECT_EQ(i.low, 2);
  EXPECT_EQ(i.median, 5);
  EXPECT_EQ(i.high, 8);
  EXPECT_EQ(intervalOf({4, 1, 3, 2, 6, 5}).median, 3.5);
}

// Of figures drawn around a median, the interval holds it in 95 of 100 cases, and a few more.
TEST(Interval, HoldsTheMedian) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> drawn(0, 0.2);  // with the median 1
  int holds = 0;
  constexpr int kCases = 2000;
  for (int c = 0; c < kCases; ++c) {
    std::vector<double> figures(40);
    for (double& f : figures) f = drawn(random);
    const Interval i = intervalOf(figures);
    holds += i.low <= 1 && 1 <= i.high;
  }
  EXPECT_GT(holds, kCases * 95 / 100);
  EXPECT_LT(holds, kCases * 98 / 100);
}

}  // namespace
}  // namespace bench
