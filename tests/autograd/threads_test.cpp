// Backward passes on several threads at once, over shared leaves and shared graphs.
#include <gtest/gtest.h>

#include "tests/autograd/util.h"

#include <thread>

namespace shunt::test {
namespace {

template <class F>
void onThreads(int n, F f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back(f, i);
  for (std::thread& t : threads) t.join();
}

TEST(Threads, BackwardAtOnceToOneLeaf) {
  const Tensor x = leaf({1, 2});
  constexpr int kThreads = 4, kRounds = 200;
  onThreads(kThreads, [&](int) {
    for (int i = 0; i < kRounds; ++i) x.mul(3).sum().backward();
  });
  EXPECT_EQ(values(x.grad()), (Values{3.0 * kThreads * kRounds, 3.0 * kThreads * kRounds}));
}

TEST(Threads, BackwardAtOnceThroughARetainedGraph) {
  const Tensor x = leaf({2});
  const Tensor y = x.mul(x).sigmoid().sum();
  y.backward({}, true);
  const double once = values(x.grad())[0];
  onThreads(4, [&](int) {
    for (int i = 0; i < 50; ++i) y.backward({}, true);
  });
  EXPECT_NEAR(values(x.grad())[0], 201 * once, 1e-9);
}

TEST(Threads, GraphsOfTheirOwn) {
  std::vector<double> results(4);
  onThreads(4, [&](int i) {
    const Tensor x = leaf({static_cast<double>(i)});
    for (int k = 0; k < 100; ++k) x.mul(x).sum().backward();
    results[static_cast<size_t>(i)] = values(x.grad())[0];
  });
  EXPECT_EQ(results, (std::vector<double>{0, 200, 400, 600}));
}

TEST(Threads, AGraphMayBeDestroyedElsewhere) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 10000; ++i) y = y.add(1);
  std::thread([y = std::move(y)]() mutable { y = Tensor(); }).join();
  x.mul(2).sum().backward();
  EXPECT_EQ(values(x.grad()), (Values{2}));
}

}  // namespace
}  // namespace shunt::test
