// compile() under SHUNT_COMPILE=0: calls run the function, and explain() says why.
#include "tests/compile/same.h"

#include <shunt/shunt.h>

#include <gtest/gtest.h>

namespace shunt::test {
namespace {

TEST(CompileSwitchedOff, CallsRunTheFunction) {
  int runs = 0;
  const auto fast = compile(
      [&](const Tensor& x) {
        ++runs;
        return x + 1;
      },
      {.record_after = 1, .name = "f"});
  EXPECT_EQ(fast.explain(),
            "f: 0 calls ran a graph, 0 the function\nSHUNT_COMPILE=0: all calls run the function\nnot called yet\n");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(same(fast(ones({2})), ones({2}) + 1));
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(fast.explain(),
            "f: 0 calls ran a graph, 3 the function\n"
            "SHUNT_COMPILE=0: all calls run the function\n"
            "  3 calls ran the function: SHUNT_COMPILE=0\n");
  EXPECT_EQ(fast.explain(ones({2})), "f: runs the function: SHUNT_COMPILE=0\n");
}

}  // namespace
}  // namespace shunt::test
