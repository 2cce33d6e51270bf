// Compiled functions that were moved.
#include "tests/support/error_of.h"

#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

namespace shunt::test {
namespace {

TEST(MovedCompiled, AllMembersOfOneThatWasMovedFromThrow) {
  const auto plusOne = [](const Tensor& x) { return x + 1; };
  auto f = compile(plusOne, {.record_after = 1});
  const Tensor x = ones({2});
  for (int i = 0; i < 3; ++i) f(x);
  auto copy = f;
  auto moved = std::move(f);
  const std::function<void()> uses[] = {[&] { f(x); },       [&] { f.explain(); }, [&] { f.explain(x); },
                                        [&] { f.counts(); }, [&] { f.graph(); },   [&] { f.plans(); },
                                        [&] { f.plan(); }};
  for (const auto& use : uses)
    EXPECT_EQ(errorOf(use), "compile: this compiled function was moved from; a copy would share its graphs");
  EXPECT_TRUE(moved(x).equal(x + 1));
  EXPECT_EQ(copy.counts().hits, 3u);
  f = std::move(moved);
  EXPECT_TRUE(f(x).equal(x + 1));
  EXPECT_EQ(f.counts().hits, 4u);
}

TEST(MovedCompiled, AFunctionThatCannotBeCopied) {
  auto f = compile([k = std::make_unique<double>(2)](const Tensor& x) { return x * *k; }, {.record_after = 1});
  for (int i = 0; i < 2; ++i) f(ones({2}));
  const auto moved = std::move(f);
  EXPECT_TRUE(moved(ones({2})).equal(full({2}, 2.0)));
  EXPECT_EQ(moved.counts().hits, 2u);
}

}  // namespace
}  // namespace shunt::test
