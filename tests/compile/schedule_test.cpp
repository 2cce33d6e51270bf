// CheckSchedule: which runs are due.
#include "src/compile/checks/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace shunt::compiled {
namespace {

constexpr uint64_t kMs = 1'000'000;

/// The first `n` runs that are due; `end` ends the check of one.
template <class End>
std::vector<uint64_t> firstDue(CheckSchedule& schedule, size_t n, End&& end) {
  schedule.begin();
  std::vector<uint64_t> due;
  for (uint64_t run = 1; due.size() < n; ++run) {
    if (!schedule.isDue(run)) continue;
    due.push_back(run);
    end(run);
  }
  return due;
}

TEST(CheckSchedule, TheDistanceDoublesUntilChecksCostLittle) {
  CheckSchedule s;
  EXPECT_THAT(firstDue(s, 8, [&](uint64_t run) { s.passed(run, kMs, 25 * kMs); }),
              testing::ElementsAre(1, 2, 3, 5, 9, 13, 17, 21));
  EXPECT_EQ(s.count(), 8u);
}

TEST(CheckSchedule, ARunThatTookNoTimeByTheClock) {
  CheckSchedule s;
  EXPECT_THAT(firstDue(s, 12, [&](uint64_t run) { s.passed(run, 1, 0); }),
              testing::ElementsAre(1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 385, 513));
}

TEST(CheckSchedule, WhatIsNotComparedIsNotRightAndTheNextIsDue) {
  CheckSchedule s;
  EXPECT_THAT(firstDue(s, 8, [&](uint64_t run) { s.notCompared(run); }),
              testing::ElementsAre(1, 2, 3, 4, 6, 10, 18, 34));
  EXPECT_EQ(s.count(), 0u);
  EXPECT_EQ(s.lastRight(), 0u);
}

TEST(CheckSchedule, ThreeAreComparedFirst) {
  CheckSchedule s;
  EXPECT_THAT(firstDue(s, 6,
                       [&](uint64_t run) {
                         if (run <= 2) return s.notCompared(run);
                         s.passed(run, kMs, 50 * kMs);
                       }),
              testing::ElementsAre(1, 2, 3, 4, 5, 7));
}

}  // namespace
}  // namespace shunt::compiled
