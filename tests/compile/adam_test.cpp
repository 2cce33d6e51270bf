// The Adam optimisers of examples/digits in a compiled training step: the same bits as without compile().
#include "tests/compile/same.h"
#include "tests/compile/warnings.h"

#include "examples/digits/model.h"

#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

template <class Optimizer>
struct Training {
  digits::Net net{1};
  Optimizer optimizer{net.parameters(), 0.01};

  Tensor step(const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy_loss(net.forward(x), y);
    loss.backward();
    optimizer.step();
    return loss.detach();
  }
};

/// How many of 40 compiled steps ran a graph. Losses and parameters have the bits of eager steps after each.
template <class Optimizer>
uint64_t graphsOfTraining() {
  manual_seed(3);
  const Tensor x = rand({16, 64}), y = randint(10, {16});
  Training<Optimizer> eager, compiled;
  const auto step = compile([&](const Tensor& a, const Tensor& b) { return compiled.step(a, b); },
                            {.check = CompileCheck::kFirst, .record_after = 1, .name = "training"});
  const Tensor before = eager.step(x, y);
  Tensor after = step(x, y);
  EXPECT_TRUE(same(after, before));
  for (int i = 1; i < 40; ++i) {
    after = step(x, y);
    EXPECT_TRUE(same(after, eager.step(x, y))) << i;
    for (size_t p = 0; p < 4; ++p) EXPECT_TRUE(same(compiled.net.parameters()[p], eager.net.parameters()[p])) << i;
  }
  EXPECT_TRUE(after.lt(before / 4).equal(ones({}, kBool))) << "it learns: " << before << after;
  return step.counts().hits;
}

TEST(CompiledAdam, CountsItsStepsInAGraph) {
  const Warnings warnings;
  EXPECT_EQ(graphsOfTraining<digits::CapturableAdam>(), 39u);
  EXPECT_THAT(warnings.text(), IsEmpty());
}

// The count of the recording is frozen, which the check of the next run finds.
TEST(CompiledAdam, ACountInCppEndsTheGraph) {
  const Warnings warnings;
  EXPECT_EQ(graphsOfTraining<digits::Adam>(), 2u);
  EXPECT_THAT(warnings.text(),
              HasSubstr("training: run 2 of a graph was checked, and the graph and the function differ "
                        "in what is written to a tensor of shape"));
}

// Both are the same method.
TEST(CompiledAdam, BothUpdateAlike) {
  manual_seed(3);
  const Tensor x = rand({16, 64}), y = randint(10, {16});
  Training<digits::Adam> plain;
  Training<digits::CapturableAdam> capturable;
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(plain.step(x, y).allclose(capturable.step(x, y), 1e-3, 1e-4)) << i;
}

}  // namespace
}  // namespace shunt::test
