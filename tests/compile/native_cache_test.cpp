// Regions whose code is in the disk cache: taken at the first run, by equal regions alone. Compiled in the caller.
#include "tests/support/same_bits.h"

#include "src/compile/program/plan.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

namespace shunt::compiled {
namespace {

namespace fs = std::filesystem;
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

constexpr int kAfter = 8;  // runs before code is compiled

class NativeCache : public testing::Test {
 public:
  struct Outcome {
    uint64_t compiled, loaded;
    uint64_t native;  // of the runs
    bool operator==(const Outcome&) const = default;
    friend void PrintTo(const Outcome& o, std::ostream* out) {
      *out << "compiled " << o.compiled << ", loaded " << o.loaded << ", native runs " << o.native;
    }
  };

 protected:
  NativeCache() {
    std::string name = (fs::temp_directory_path() / "shunt_native_XXXXXX").string();
    directory = mkdtemp(name.data());
    jit::set_cache_directory(directory);
  }
  ~NativeCache() override {
    jit::set_cache_directory("");
    fs::remove_all(directory);
  }

  /// A plan of its own, which nobody shares code with, run so often. Its bits are the graph's.
  static Outcome run(const Function& f, const std::vector<Tensor>& in, int times) {
    const Graph graph = trace(f, in);
    const Plan plan(graph, {.native_after = kAfter});
    const std::vector<Tensor> expected = graph.run(in);
    plan.run(in);  // records
    EXPECT_EQ(plan.counts().regions, 1u) << plan.describe();
    const jit::FusedStats before = jit::stats().fused;
    const uint64_t native = nativeRuns();
    for (int i = 0; i < times; ++i) {
      const std::vector<Tensor> got = plan.run(in);
      EXPECT_TRUE(test::sameBits(expected, got)) << "run " << i << plan.describe();
    }
    const jit::FusedStats after = jit::stats().fused;
    return {after.compiled - before.compiled, after.loaded - before.loaded, nativeRuns() - native};
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
  }

  std::string directory;
};

// With a file, and without.
constexpr int kRuns = kAfter + 4;
constexpr NativeCache::Outcome kLoaded{0, 1, kRuns}, kCompiled{1, 0, kRuns - kAfter + 1};

std::vector<Tensor> chain(const std::vector<Tensor>& t) { return {(t[0] * 2 + t[1]).relu()}; }
std::vector<Tensor> two(IntArrayRef sizes, ScalarType dtype = kFloat) {
  return {randn(sizes).mul(9).to(dtype), randn(sizes).mul(9).to(dtype)};
}

TEST_F(NativeCache, IsTakenAtTheFirstRun) {
  EXPECT_EQ(run(chain, two({300}), kAfter - 1), (Outcome{0, 0, 0})) << "a look compiles nothing";
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(run(chain, two({300}), kRuns), kCompiled);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(run(chain, two({300}), kRuns), kLoaded);
  EXPECT_EQ(run(chain, two({900}), kRuns), kLoaded) << "code knows no sizes";
  jit::set_cache_directory("");
  const uint64_t asked = jit::stats().fused.asked;
  EXPECT_EQ(run(chain, two({300}), kAfter - 1), (Outcome{0, 0, 0}));
  EXPECT_EQ(jit::stats().fused.asked, asked) << "without a cache nobody looks";
  EXPECT_EQ(run(chain, two({300}), kRuns), kCompiled);
}

TEST_F(NativeCache, RegionsThatDifferDontShareAFile) {
  const auto times = [](double factor) {
    return [=](const std::vector<Tensor>& t) { return std::vector<Tensor>{(t[0] * factor + t[1]).relu()}; };
  };
  const auto minus = [](const std::vector<Tensor>& t) { return std::vector<Tensor>{(t[0] * 2 - t[1]).relu()}; };
  const auto longer = [](const std::vector<Tensor>& t) { return std::vector<Tensor>{(t[0] * 2 + t[1]).relu().abs()}; };
  const auto both = [](const std::vector<Tensor>& t) {
    const Tensor y = t[0] * 2 + t[1];
    return std::vector<Tensor>{y, y.relu()};
  };
  const auto other_operand = [](const std::vector<Tensor>& t) {
    return std::vector<Tensor>{(t[0] * 2 + t[0] * t[1]).relu()};
  };
  const auto other_step = [](const std::vector<Tensor>& t) {
    return std::vector<Tensor>{(t[0] * 2 + t[1] * t[0]).relu()};
  };
  struct Case {
    const char* what;
    Function f;
    std::vector<Tensor> in;
  };
  const std::vector<Case> cases = {
      {"the first", chain, two({300})},
      {"dtype", chain, two({300}, kDouble)},
      {"a dtype of two bytes", chain, two({300}, kBFloat16)},
      {"a stride", chain, {randn({4, 300}), randn({4, 1})}},
      {"short rows", chain, two({30})},
      {"a constant", times(4), two({300})},
      {"a number", times(3.5), two({300})},
      {"a step", minus, two({300})},
      {"one step more", longer, two({300})},
      {"outputs", both, two({300})},
      {"operands", other_operand, two({300})},
      {"operands in another order", other_step, two({300})},
  };
  for (const Case& c : cases) EXPECT_EQ(run(c.f, c.in, kRuns), kCompiled) << c.what;
  EXPECT_EQ(files(), cases.size());
  for (const Case& c : cases) EXPECT_EQ(run(c.f, c.in, kRuns), kLoaded) << c.what;
  EXPECT_EQ(run(times(3.25), two({300}), kRuns), kLoaded) << "numbers that are given to the code";
}

TEST_F(NativeCache, IsListed) {
  run(chain, two({300}, kDouble), kRuns);
  const auto entries = jit::cache_entries(directory);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].op, "fused loop of 3 steps");
  EXPECT_EQ(entries[0].keys, "");
  EXPECT_EQ(entries[0].signature, "Double, Double, Double");
  EXPECT_EQ(entries[0].state, jit::CacheEntry::State::kUsable) << entries[0].problem;
  EXPECT_EQ(jit::cache_clear(directory), 1u);
  EXPECT_EQ(run(chain, two({300}, kDouble), kRuns), kCompiled);
}

}  // namespace
}  // namespace shunt::compiled
