// Regions as native code that the compiler's thread makes while they run, in a child of fork too.
#include "tests/compile/plan_parts.h"
#include "tests/support/same_bits.h"

#include "src/compile/program/plan.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace shunt::compiled {
namespace {

using testing::HasSubstr;

struct Planned {
  explicit Planned(int64_t n, int64_t after = 2)
      : inputs{randn({n}), randn({n})}, plan(graph, {.native_after = after}) {}
  static std::vector<Tensor> f(const std::vector<Tensor>& t) { return {(t[0] * t[1]).exp() + t[0]}; }

  std::vector<Tensor> inputs;
  Graph graph = trace(&f, inputs);
  Plan plan;
  Tensor expected = graph.run(inputs)[0];

  /// How many of these runs were native; -1: one was wrong.
  int64_t run(int times) const {
    const uint64_t before = nativeRuns();
    for (int i = 0; i < times; ++i) {
      const Tensor got = plan.run(inputs)[0];
      if (!test::sameBits(expected, got)) return -1;
    }
    return static_cast<int64_t>(nativeRuns() - before);
  }
};

/// A disk cache for a test.
struct CacheHere {
  CacheHere() {
    std::string name = (std::filesystem::temp_directory_path() / "shunt_native_XXXXXX").string();
    directory = mkdtemp(name.data());
    jit::set_cache_directory(directory);
  }
  ~CacheHere() {
    jit::set_cache_directory("");
    std::filesystem::remove_all(directory);
  }
  std::string directory;
};

// The first of the tests, so that the look waits for the compiler's library. If code were asked for again only when the
// runs have doubled, it would not be there.
TEST(NativeWorker, IsCompiledWhereCodeIsWantedWhileTheDiskCacheIsAsked) {
  const CacheHere cache;
  const uint64_t before = jit::stats().fused.compiled;
  const Planned p(100);
  EXPECT_EQ(p.run(1), 0);  // records
  EXPECT_GE(p.run(1), 0);  // looks
  EXPECT_GE(p.run(1), 0);  // wants code
  jit::wait_idle();
  EXPECT_EQ(jit::stats().fused.compiled, before + 1);
  EXPECT_EQ(p.run(1), 1);
}

TEST(NativeWorker, TakesWhatTheDiskCacheHasLongBeforeTheThreshold) {
  const CacheHere cache;
  constexpr int kNever = 100000;
  {
    const Planned early(100, kNever);
    EXPECT_EQ(early.run(50), 0);
    jit::wait_idle();
    EXPECT_EQ(early.run(50), 0) << "nothing was there, and nothing is compiled";
    const Planned p(100);
    EXPECT_GE(p.run(50), 0);
    jit::wait_idle();
    ASSERT_EQ(p.run(1), 1);
  }
  const uint64_t loaded = jit::stats().fused.loaded;
  const Planned p(100, kNever);
  EXPECT_EQ(p.run(1), 0);  // records
  EXPECT_GE(p.run(1), 0);
  jit::wait_idle();
  EXPECT_EQ(p.run(50), 50);
  EXPECT_EQ(jit::stats().fused.loaded, loaded + 1);
}

TEST(NativeWorker, TakesTheCodeWhenItIsThere) {
  const Planned p(100);
  EXPECT_GE(p.run(50), 0);
  jit::wait_idle();
  EXPECT_EQ(p.run(50), 50);
  EXPECT_TRUE(test::isNative(p.plan)) << p.plan.describe();
  EXPECT_EQ(jit::stats().fused.live, 1u);
}

// The child runs what it inherited, compiles what it asks for itself, and asks again for what the fork has lost.
TEST(NativeWorker, AfterAFork) {
  const Planned ready(200);
  EXPECT_GE(ready.run(3), 0);
  jit::wait_idle();
  ASSERT_EQ(ready.run(1), 1);
  const pid_t child = fork();
  if (child == 0) {
    if (ready.run(10) != 10) _exit(1);
    const Planned own(300);
    if (own.run(64) < 0) _exit(2);
    jit::wait_idle();
    _exit(own.run(10) == 10 ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(ready.run(10), 10);
}

TEST(NativeWorker, AForkMayLoseARequest) {
  for (int i = 0; i < 20; ++i) {
    const Planned p(400);
    p.run(2);  // records, and counts one
    EXPECT_GE(p.run(1), 0);
    const pid_t child = fork();  // the request is queued, compiled now, or done
    if (child == 0) _exit(p.run(300) >= 0 && (jit::wait_idle(), true) && p.run(300) >= 0 ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    jit::wait_idle();
    EXPECT_EQ(p.run(5), 5);
  }
}

}  // namespace
}  // namespace shunt::compiled
