// What fake tensors take: next to nothing, for a model of any size.
#include "examples/fake/model.h"

#include <shunt/jit/jit.h>
#include <shunt/transforms/fake_tensor.h>

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace shunt {
namespace {

int64_t anonymousKiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8));
  ADD_FAILURE() << "no RssAnon in /proc/self/status";
  return 0;
}

TEST(FakeMemory, AStepOfABillionParametersTakesLessThan64MiB) {
  const int64_t before = anonymousKiB();
  const FakeTensorMode mode;
  const fake_example::Model model(4, 16000, 1000, TensorOptions());
  EXPECT_GE(model.count(), 1'000'000'000);
  fake_example::Adam adam(model.parameters());
  for (int i = 0; i < 2; ++i) {
    const Tensor loss = cross_entropy_loss(model.forward(randn({512, 16000})), zeros({512}, kLong));
    EXPECT_EQ(loss.dim(), 0);
    loss.backward();
    for (const Tensor& p : model.parameters()) {
      ASSERT_TRUE(is_fake(p.grad()));
      ASSERT_EQ(p.grad().sizes(), p.sizes());
    }
    adam.step();
  }
  EXPECT_LT(anonymousKiB() - before, 64 * 1024);
}

// Elements of real tensors of these sizes would come from the system, each time.
TEST(FakeMemory, AProductAllocatesNoElements) {
  const FakeTensorMode mode;
  const auto product = [] {
    const Tensor x = randn({100, 100});
    return x.mm(x);
  };
  product();
  const auto before = detail::allocationCounters();
  const Tensor y = product();
  EXPECT_EQ(detail::allocationCounters().from_system, before.from_system);
  EXPECT_EQ(y.sizes(), IntArrayRef({100, 100}));
  EXPECT_EQ(y.storage()->data(), nullptr);
  EXPECT_EQ(y.storage()->nbytes(), 40000u);
}

// What the compiler takes to look at their calls, once each and in the background, is not the tensors'.
TEST(FakeMemory, RepeatedStepsStayWhereTheyAre) {
  jit::set_enabled(false);
  const FakeTensorMode mode;
  const fake_example::Model model(2, 64, 10, TensorOptions());
  fake_example::Adam adam(model.parameters());
  const auto step = [&] {
    cross_entropy_loss(model.forward(randn({8, 64})), zeros({8}, kLong)).backward();
    adam.step();
  };
  for (int i = 0; i < 200; ++i) step();
  const int64_t before = anonymousKiB();
  for (int i = 0; i < 1000; ++i) step();
  EXPECT_LT(anonymousKiB() - before, 1024);
  jit::set_enabled(true);
}

}  // namespace
}  // namespace shunt
