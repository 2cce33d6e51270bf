// Coverage: what it calls a hole.
#include "tests/parity/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace parity {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kFloat32 = 6, kFloat64 = 7;

Coverage ofCells() { return Coverage({"f"}, {{0, kFloat32, false}, {0, kFloat32, true}, {0, kFloat64, true}}); }

TEST(ParityCoverage, CellsAndFormsWithoutCases) {
  Coverage c = ofCells();
  c.hits(1) = c.hits(2) = {.drawn = 1};
  EXPECT_THAT(c.holes(), ElementsAre("f float32: no case", "f: every case of every dtype was refused",
                                     "f +grad: every case of every dtype was refused"));
  c.hits(0) = {.drawn = 1, .ran = 1};
  c.hits(1).ran = 1;
  EXPECT_THAT(c.holes(), IsEmpty()) << "one dtype is enough, and results may have no gradient";
}

TEST(ParityCoverage, GradientsThatNobodyCompared) {
  Coverage c = ofCells();
  c.hits(0) = {.drawn = 1, .ran = 1};
  c.hits(1) = c.hits(2) = {.drawn = 1, .ran = 1, .requires_grad = 1};
  EXPECT_THAT(c.holes(), ElementsAre("f +grad: no gradient was compared"));
  c.hits(2).backward_known = 1;
  EXPECT_THAT(c.holes(), IsEmpty());
  c.hits(2) = {.drawn = 1, .ran = 1, .requires_grad = 1, .backward = 1};
  EXPECT_THAT(c.holes(), IsEmpty());
}

TEST(ParityCoverage, ALackingDerivativeIsNoLackingDtype) {
  EXPECT_TRUE(lacksDerivative("the derivative for 'target' of 'aten::f' is not implemented"));
  EXPECT_TRUE(lacksDerivative("the derivative for 'target' is not implemented"));
  EXPECT_TRUE(lacksDerivative("derivative for aten::f is not implemented"));
  EXPECT_FALSE(lacksDerivative("\"f\" not implemented for 'Half'"));
  EXPECT_FALSE(lacksDerivative(""));
}

}  // namespace
}  // namespace parity
