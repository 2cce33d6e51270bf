// parallelFor: chunks, nesting, exceptions, thread counts; and elementwise results that don't depend on them.
#include "tests/elementwise/elementwise_test_util.h"
#include "tests/math/inputs.h"

#include <shunt/core/parallel.h>

#include <atomic>
#include <mutex>
#include <set>

namespace shunt::elementwise_test {
namespace {

using Chunks = std::set<std::pair<int64_t, int64_t>>;

Chunks chunksOf(int64_t begin, int64_t end, int64_t grain, int threads) {
  set_num_threads(threads);
  Chunks chunks;
  std::mutex mutex;
  parallelFor(begin, end, grain, [&](int64_t b, int64_t e) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(chunks.emplace(b, e).second);
  });
  return chunks;
}

class Parallel : public ::testing::Test {
 protected:
  int saved_ = get_num_threads();
  void TearDown() override { set_num_threads(saved_); }
};

TEST_F(Parallel, ChunksDependOnTheGrainOnly) {
  const Chunks expected = {{5, 15}, {15, 25}, {25, 35}, {35, 38}};
  for (int threads : {1, 2, 3, 8}) EXPECT_EQ(chunksOf(5, 38, 10, threads), expected) << threads;
  EXPECT_TRUE(chunksOf(3, 3, 10, 2).empty());
  EXPECT_EQ(chunksOf(0, 10, 10, 4), (Chunks{{0, 10}}));
}

TEST_F(Parallel, NestedCallsAreSerial) {
  set_num_threads(4);
  std::atomic<int> inner{0};
  EXPECT_FALSE(in_parallel_region());
  parallelFor(0, 8, 1, [&](int64_t, int64_t) {
    EXPECT_TRUE(in_parallel_region());
    int64_t next = 0;  // in order, on this thread
    parallelFor(0, 5, 1, [&](int64_t b, int64_t) { EXPECT_EQ(b, next++); });
    inner += static_cast<int>(next);
  });
  EXPECT_EQ(inner, 40);
  EXPECT_FALSE(in_parallel_region());
}

TEST_F(Parallel, ExceptionsReachTheCaller) {
  for (int threads : {1, 4}) {
    set_num_threads(threads);
    EXPECT_ERROR(parallelFor(0, 100, 1, [](int64_t b, int64_t) { SHUNT_CHECK(b != 50, "chunk fifty"); }),
                 "chunk fifty");
    EXPECT_FALSE(in_parallel_region());
  }
  EXPECT_ERROR(parallelFor(0, 1, 0, [](int64_t, int64_t) {}), "positive grain");
  EXPECT_ERROR(set_num_threads(0), "positive number of threads");
}

TEST_F(Parallel, LargeElementwiseResultsDoNotDependOnThreads) {
  const int64_t n = 3 * kDefaultGrain + 77;
  const Tensor a = makeTensor(kFloat, {n}), b = makeTensor(kFloat, {n}), wide = makeTensor(kDouble, {n});
  fillInteresting(a, 1);
  fillInteresting(b, 2);
  fillInteresting(wide, 3);
  const Tensor columns = makeTensor(kFloat, {331, 401}, {1, 331});
  fillInteresting(columns, 4);
  set_num_threads(1);
  const Tensor sum = elementwise::run<functors::Add>("add", a, b, 0.5),
               mixed = elementwise::run<functors::Mul>("mul", a, wide);
  const Tensor flipped = elementwise::run<functors::Sigmoid>("sigmoid", columns);
  for (int64_t i = 0; i < n; ++i)
    ASSERT_TRUE(math_test::sameBits(get<float>(sum, i), get<float>(a, i) + 0.5f * get<float>(b, i)));
  set_num_threads(4);
  expectSame(elementwise::run<functors::Add>("add", a, b, 0.5), sum, "add");
  expectSame(elementwise::run<functors::Mul>("mul", a, wide), mixed, "mul");
  expectSame(elementwise::run<functors::Sigmoid>("sigmoid", columns), flipped, "sigmoid");
  // An error in one chunk is the whole call's.
  const Tensor ints = makeTensor(kInt, {n}), divisors = makeTensor(kInt, {n});
  for (int64_t i = 0; i < n; ++i) put<int32_t>(ints, i, 7), put<int32_t>(divisors, i, i == n - 1 ? 0 : 2);
  EXPECT_ERROR(elementwise::run<functors::DivTrunc>("div", ints, divisors), "ZeroDivisionError");
}

}  // namespace
}  // namespace shunt::elementwise_test
