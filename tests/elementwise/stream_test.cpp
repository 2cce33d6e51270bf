// Outputs that are written past the caches (kernels/pointwise/stream.h): the same bits, nothing beside them, and only
// where it is meant to be. Runs interpreted, and in thunks, which leave large operands to the interpreter.
#include "tests/support/same_bits.h"

#include "kernels/pointwise/run.h"
#include "kernels/pointwise/stream.h"
#include "src/tensor/large_blocks.h"
#include "src/tensor/stress.h"

#include <shunt/core/parallel.h>
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <malloc.h>

namespace shunt {
namespace {

using elementwise::streamedBytes;

/// Elements of the least output that is streamed.
int64_t least(ScalarType dtype) { return streamedBytes() / elementSize(dtype); }

struct Streamed : testing::TestWithParam<int> {
  Streamed() { set_num_threads(GetParam()); }
  ~Streamed() override { set_num_threads(threads_); }
  const int threads_ = get_num_threads();
};

/// Runs the same call a few times, since thunks come with the second, and tells whether it streamed: each time or
/// never.
template <class F>
bool streams(const F& f) {
  constexpr uint64_t kCalls = 2;
  const uint64_t before = elementwise::pathCounters().streamed;
  for (uint64_t i = 0; i < kCalls; ++i) f();
  const uint64_t times = elementwise::pathCounters().streamed - before;
  EXPECT_TRUE(times == 0 || times == kCalls) << times;
  return times != 0;
}

/// Random numbers, over and over: drawing so many would take most of the test's time.
Tensor numbers(IntArrayRef sizes, ScalarType dtype) {
  constexpr int64_t kDrawn = 64 * 1024 - 7;  // not in step with blocks and chunks
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  const Tensor drawn = isFloatingType(dtype) ? randn({kDrawn}).to(dtype) : randint(0, 100, {kDrawn}).to(dtype);
  return drawn.expand({n / kDrawn + 1, kDrawn}).reshape({-1}).narrow(0, 0, n).clone().view(sizes);
}

/// What f(first, count) gives for all of `n` rows, computed in pieces too small to be streamed.
template <class F>
Tensor inPieces(int64_t n, const F& f) {
  const int64_t piece = n / 64 + 1;
  std::vector<Tensor> pieces;
  for (int64_t i = 0; i < n; i += piece) pieces.push_back(f(i, std::min(piece, n - i)));
  return cat(pieces);
}

/// `n` elements inside a larger tensor that is filled with a value, `offset` elements from its beginning.
struct Window {
  static constexpr int64_t kMargin = 64;
  Window(int64_t n, int64_t offset, ScalarType dtype)
      : whole(full({offset + n + kMargin}, 77, TensorOptions(dtype))), part(whole.narrow(0, offset, n)) {}
  void expectMarginsUntouched() const {
    const int64_t begin = part.storage_offset(), end = begin + part.numel();
    const Tensor margins = cat({whole.narrow(0, 0, begin), whole.narrow(0, end, whole.numel() - end)});
    EXPECT_TRUE((margins == full_like(margins, 77)).all().item<bool>());
  }
  Tensor whole, part;
};

TEST_P(Streamed, EverySizeAroundTheThresholdAndEveryAlignment) {
  for (ScalarType dtype : {kFloat, kDouble, kBFloat16, kByte}) {
    const int64_t n = least(dtype);
    const Tensor a = numbers({n + 5000}, dtype), b = numbers({n + 5000}, dtype);
    const Tensor want =
        inPieces(n + 5000, [&](int64_t i, int64_t k) { return add(a.narrow(0, i, k), b.narrow(0, i, k)); });
    for (int64_t size : {n - 1, n, n + 63, n + 4097}) {
      for (int64_t offset : size == n + 63 ? std::vector<int64_t>{0, 1, 7} : std::vector<int64_t>{0}) {
        SCOPED_TRACE(testing::Message() << dtype << " " << size << " elements at " << offset);
        const Window out(size, offset, dtype);
        Tensor target = out.part;
        EXPECT_EQ(streams([&] { add_out(target, a.narrow(0, 0, size), b.narrow(0, 0, size)); }), size >= n);
        EXPECT_TRUE(test::sameBits(target, want.narrow(0, 0, size), test::kButStrides));
        out.expectMarginsUntouched();
      }
    }
  }
}

TEST_P(Streamed, PlannedCalls) {
  const int64_t columns = 1000, rows = least(kFloat) / columns + 3;
  const Tensor a = numbers({rows, columns}, kFloat), bias = numbers({columns}, kFloat),
               column = numbers({rows, 1}, kFloat);
  const Tensor small = numbers({rows, columns}, kBFloat16), across = numbers({columns, rows}, kFloat).t();
  const auto product = [&](const Tensor& other) {
    return inPieces(rows, [&](int64_t i, int64_t k) {
      return mul(a.narrow(0, i, k), other.dim() == 1 ? other : other.narrow(0, i, k));
    });
  };
  const auto check = [&](const char* what, const Tensor& other, ScalarType dtype) {
    SCOPED_TRACE(what);
    Tensor out = zeros({rows, columns}, TensorOptions(dtype));
    EXPECT_TRUE(streams([&] { mul_out(out, a, other); }));
    EXPECT_TRUE(test::sameBits(out, product(other).to(dtype), test::kButStrides));
  };
  check("a row for each", bias, kFloat);
  check("an element for each row", column, kFloat);
  check("another dtype", small, kFloat);
  check("another order", across, kFloat);
  check("a cast of the result", small, kDouble);

  Tensor wide = full({rows, columns + 8}, 77.0);
  Tensor part = wide.narrow(1, 3, columns);
  EXPECT_TRUE(streams([&] { mul_out(part, a, bias); }));
  EXPECT_TRUE(test::sameBits(part, product(bias), test::kButStrides));
  EXPECT_TRUE((wide.narrow(1, 0, 3) == full({rows, 3}, 77.0)).all().item<bool>());
  EXPECT_TRUE((wide.narrow(1, columns + 3, 5) == full({rows, 5}, 77.0)).all().item<bool>());
}

TEST_P(Streamed, PredicatesNumbersAndCopies) {
  const int64_t n = least(kBool) + 100;
  const Tensor a = numbers({n}, kFloat), b = numbers({n}, kFloat);
  Tensor mask = zeros({n}, TensorOptions(kBool));
  EXPECT_TRUE(streams([&] { lt_out(mask, a, b); }));
  EXPECT_TRUE(
      test::sameBits(mask, inPieces(n, [&](int64_t i, int64_t k) { return lt(a.narrow(0, i, k), b.narrow(0, i, k)); }),
                     test::kButStrides));
  Tensor out = zeros({n});
  EXPECT_TRUE(streams([&] { mul_out(out, a, full({}, 2.5)); }));
  EXPECT_TRUE(test::sameBits(out, inPieces(n, [&](int64_t i, int64_t k) { return mul(a.narrow(0, i, k), 2.5); }),
                             test::kButStrides));
  EXPECT_TRUE(streams([&] { sigmoid_out(out, a); }));
  EXPECT_TRUE(test::sameBits(out, inPieces(n, [&](int64_t i, int64_t k) { return sigmoid(a.narrow(0, i, k)); }),
                             test::kButStrides));
}

TEST_P(Streamed, NotWhatIsReadOrNew) {
  const int64_t n = (int64_t{40} << 20) / 4;
  ASSERT_GT(n, least(kFloat));
  const Tensor a = numbers({n}, kFloat), b = numbers({n}, kFloat);
  const Tensor want = inPieces(n, [&](int64_t i, int64_t k) { return add(a.narrow(0, i, k), b.narrow(0, i, k)); });
  std::vector<Tensor> results;
  detail::releaseLargeBlocks();
  malloc_trim(0);  // malloc may have kept as much at the end of its heap
  EXPECT_FALSE(streams([&] { results.push_back(add(a, b)); })) << "large new memory has no pages";
#ifndef SHUNT_STRESS
  results.clear();
  EXPECT_TRUE(streams([&] { add(a, b); })) << "the memory of a result that is gone has them";
#endif
  EXPECT_FALSE(streams([&] { a.clone().add_(b); }));
  Tensor both = a.clone();
  EXPECT_FALSE(streams([&] { mul_out(both, both, ones({})); }));
  EXPECT_TRUE(test::sameBits(both, a, test::kButStrides));
  Tensor halves = zeros({2 * n});  // one storage, but no overlap
  Tensor first = halves.narrow(0, 0, n), second = halves.narrow(0, n, n);
  second.copy_(a);
  EXPECT_FALSE(streams([&] { add_out(first, second, b); }));
  EXPECT_TRUE(test::sameBits(first, want, test::kButStrides));
  Tensor every_other = zeros({2 * n}).as_strided({n}, {2});
  EXPECT_FALSE(streams([&] { add_out(every_other, a, b); }));
  EXPECT_TRUE(test::sameBits(every_other, want, test::kButStrides));
}

INSTANTIATE_TEST_SUITE_P(Threads, Streamed, testing::Values(1, 3));

}  // namespace
}  // namespace shunt
