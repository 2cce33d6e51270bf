// The two tiers of a pair's thunks, where none is judged by its time: the first thunk calls the ahead-of-time loop, the
// second takes its place while calls go on, and both leave the interpreter's bits.
#include "tests/support/same_bits.h"

#include "kernels/pointwise/run.h"
#include "src/dispatch/thunk.h"

#include <shunt/jit/jit.h>
#include <shunt/jit/kernel_library.h>
#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace shunt {
namespace {

constexpr int64_t kMostCalls = int64_t{1} << 25;  // a pair's second compile begins after some 2^18
using test::sameBits;

Tensor special(int64_t n) {
  Tensor t = randn({n});
  constexpr float kValues[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-42f};
  for (int64_t i = 0; i < n; i += 3) t.data_ptr<float>()[i] = kValues[(i / 3) % 6];
  return t;
}

/// The tier of the operator's thunk in force; 0: there is none.
int tierOf(const char* op) {
  for (const auto& t : jit::publishedThunks())
    if (OperatorHandle(*t->op).operator_name().str() == op) return static_cast<int>(t->tier);
  return 0;
}

jit::PairStats rowOf(const char* op) {
  for (const jit::PairStats& p : jit::stats().pairs)
    if (p.op == op && p.tier != 0) return p;
  return {};
}

/// Calls until the operator's thunk is of the tier and stated in stats(), or kMostCalls have been made.
template <class F>
bool callUntil(int tier, const char* op, const F& call) {
  for (int64_t made = 0; made < kMostCalls; made += 1000) {
    for (int i = 0; i < 1000; ++i) call();
    if (made % 64'000 == 0) jit::wait_idle();
    if (tierOf(op) != tier) continue;
    jit::wait_idle();  // the compiler publishes a thunk before it writes down what it did
    return true;
  }
  return false;
}

TEST(Tiers, SecondTakesTheFirstsPlace) {
  const Tensor a = special(19), b = special(19).requires_grad_();
  jit::set_enabled(false);
  const Tensor expected = a.mul(b).detach();
  jit::set_enabled(true);
  ASSERT_TRUE(callUntil(1, "aten::mul.Tensor", [&] { a.mul(b); }));

  const uint64_t in_thunks = jit::calls_in_thunks(), interpreted = elementwise::pathCounters().fast;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(sameBits(a.mul(b).detach(), expected));
  EXPECT_EQ(jit::calls_in_thunks() - in_thunks, 100u);
  EXPECT_EQ(elementwise::pathCounters().fast, interpreted) << "the thunk calls the loop, not the interpreter";
  EXPECT_EQ(rowOf("aten::mul.Tensor").compiles, 1u);

  ASSERT_TRUE(callUntil(2, "aten::mul.Tensor", [&] { a.mul(b); }));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(sameBits(a.mul(b).detach(), expected));
  const jit::PairStats row = rowOf("aten::mul.Tensor");
  EXPECT_EQ(row.tier, 2);
  EXPECT_EQ(row.compiles, 2u);
  EXPECT_GT(row.first_times.total(), 0);
  EXPECT_GT(row.times.total(), 0);
  for (const jit::InvalidationRecord& r : jit::invalidation_log())
    EXPECT_FALSE(r.what.starts_with("aten::mul.Tensor")) << r.what << ": " << r.cause;

  for (int i = 0; i < 200'000; ++i) a.mul(b);
  jit::wait_idle();
  EXPECT_EQ(rowOf("aten::mul.Tensor").compiles, 2u) << "the second tier is the last one";
}

// Operands of a second kind that the first tier's thunk met are in the second tier's from the beginning.
TEST(Tiers, BothExpectSeveralKindsOfOperands) {
  const Tensor a = special(32).reshape({2, 16}), b = special(32).reshape({2, 16});
  const Tensor column = special(2).reshape({2, 1});
  jit::set_enabled(false);
  const Tensor same = a.sub(b), by_column = a.sub(column);
  jit::set_enabled(true);
  const auto both = [&] {
    a.sub(b);
    a.sub(column);
  };
  const auto expectLoops = [&] {
    const uint64_t fast = elementwise::pathCounters().fast, planned = elementwise::pathCounters().planned;
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(sameBits(a.sub(b), same));
      ASSERT_TRUE(sameBits(a.sub(column), by_column));
    }
    EXPECT_EQ(elementwise::pathCounters().fast, fast);
    EXPECT_EQ(elementwise::pathCounters().planned, planned);
  };
  ASSERT_TRUE(callUntil(1, "aten::sub.Tensor", both));
  for (int i = 0; i < 2000; ++i) both();
  jit::wait_idle();
  ASSERT_EQ(tierOf("aten::sub.Tensor"), 1);
  EXPECT_EQ(rowOf("aten::sub.Tensor").kinds, 2);
  expectLoops();
  ASSERT_TRUE(callUntil(2, "aten::sub.Tensor", both));
  EXPECT_EQ(rowOf("aten::sub.Tensor").kinds, 2);
  expectLoops();
}

// Rows are left to the interpreter's loop in the first tier.
TEST(Tiers, AReductionHasBothToo) {
  const Tensor a = special(40).reshape({2, 20});
  jit::set_enabled(false);
  const Tensor expected = a.amax({-1}, false);
  jit::set_enabled(true);
  ASSERT_TRUE(callUntil(1, "aten::amax", [&] { a.amax({-1}, false); }));
  ASSERT_TRUE(sameBits(a.amax({-1}, false), expected));
  ASSERT_TRUE(callUntil(2, "aten::amax", [&] { a.amax({-1}, false); }));
  ASSERT_TRUE(sameBits(a.amax({-1}, false), expected));
}

/// Instructions that a sanitizer adds count as code that a second compile could better.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif

// A thunk that would be the same again is not compiled again.
TEST(Tiers, ACallAloneStaysInTheFirst) {
  if (kInstrumented) GTEST_SKIP() << "a call alone is more than that in instrumented code";
  const Tensor a = randn({3, 3}), b = randn({3, 3});
  ASSERT_TRUE(callUntil(1, "aten::mm", [&] { a.mm(b); }));
  for (int i = 0; i < 500'000; ++i) a.mm(b);
  jit::wait_idle();
  EXPECT_NE(tierOf("aten::mm"), 2);
}

// The recorded addresses may be another library's, so the pair is recorded anew.
TEST(Tiers, ALibraryThatComesBetweenKeepsNobodyInTheFirst) {
  const Tensor a = special(21), b = special(21);
  jit::set_enabled(false);
  const Tensor expected = a.div(b);
  jit::set_enabled(true);
  ASSERT_TRUE(callUntil(1, "aten::div.Tensor", [&] { a.div(b); }));
  static const char no_bitcode = 0;
  {
    const jit::KernelLibrary came_and_went(&no_bitcode, &no_bitcode + 1);
  }
  ASSERT_TRUE(callUntil(2, "aten::div.Tensor", [&] { a.div(b); }));
  jit::wait_idle();  // the pair's row is written after its thunk is published
  EXPECT_TRUE(sameBits(a.div(b), expected));
  EXPECT_EQ(rowOf("aten::div.Tensor").compiles, 2u);
}

// Whether a thunk is worth a second compile, the file says. Operators that no test above compiles: what was compiled
// before there was a cache is used again from memory, and not kept.
TEST(Tiers, AThunkFromTheDiskIsCompiledAgainOnlyWhereItsMakerWouldHave) {
  std::string folder = (std::filesystem::temp_directory_path() / "shunt_tiers_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string before = jit::cache_directory();
  jit::set_cache_directory(folder);
  const Tensor a = randn({3, 3}), b = randn({3, 3}), x = randn({2, 3, 3});
  const auto worthAgain = [](const char* op) {
    for (const auto& t : jit::publishedThunks())
      if (OperatorHandle(*t->op).operator_name().str() == op) return std::optional(t->worth_again);
    return std::optional<bool>();
  };
  for (const bool from_disk : {false, true}) {
    jit::clear();
    ASSERT_TRUE(callUntil(1, "aten::bmm", [&] { x.bmm(x); })) << from_disk;
    EXPECT_EQ(worthAgain("aten::bmm"), kInstrumented) << from_disk;
    ASSERT_TRUE(callUntil(1, "aten::rsub.Tensor", [&] { rsub(a, b); })) << from_disk;
    EXPECT_EQ(worthAgain("aten::rsub.Tensor"), true) << from_disk;
  }
  EXPECT_EQ(rowOf("aten::bmm").loads, 1u);
  EXPECT_EQ(rowOf("aten::rsub.Tensor").loads, 1u);
  jit::set_cache_directory(before);
  std::filesystem::remove_all(folder);
}

TEST(Tiers, ThreadsCallWhileOneTakesTheOthersPlace) {
  const Tensor a = special(17), b = special(17);
  jit::set_enabled(false);
  const Tensor expected = a.sub(b);
  jit::set_enabled(true);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!done.load(std::memory_order_relaxed)) wrong += !sameBits(a.sub(b), expected);
    });
  const bool came = callUntil(2, "aten::sub.Tensor", [&] { wrong += !sameBits(a.sub(b), expected); });
  done = true;
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(came);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace shunt
