// The assertion that two tensors, or lists of them, are equal to the bit: EXPECT_TRUE(sameBits(expected, actual)) names
// the first difference. Any thread.
#pragma once

#include "tests/support/difference.h"

#include <gtest/gtest.h>

namespace shunt::test {

/// Tensor or std::vector<Tensor>, both the same.
template <class T>
::testing::AssertionResult sameBits(const T& expected, const T& actual, Compared also = {}) {
  const std::string difference = differenceOf(expected, actual, also);
  return difference.empty() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << difference;
}

}  // namespace shunt::test
