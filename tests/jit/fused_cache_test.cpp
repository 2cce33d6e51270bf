// Fused loops in the disk cache, from process to process: what one compiled another loads, with equal bits, and what is
// not its own it compiles.
#include "tests/jit/cache_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt::jit::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// The threshold is beyond what the probe calls outside of its graphs: there are no thunks.
class FusedCache : public CacheOfProbe {
 protected:
  FusedCache() : CacheOfProbe(SHUNT_FUSED_CACHE_PROBE, "SHUNT_JIT_SYNC=1 SHUNT_JIT_THRESHOLD=512") {}
};

TEST_F(FusedCache, WhatOneProcessCompiledAnotherLoads) {
  fill();
  EXPECT_GT(first["compiled"], 15);
  EXPECT_EQ(first["loaded"], 0);
  EXPECT_EQ(first["failed"], 0);
  EXPECT_EQ(first["pairs"], 0) << first.text;
  EXPECT_EQ(static_cast<int>(files().size()), first["compiled"]) << "each can be cached: " << first.text;
  const Report second = run("SHUNT_LOG=info");
  EXPECT_EQ(second["compiled"], 0) << second.text;
  EXPECT_EQ(second["loaded"], first["compiled"]);
  EXPECT_EQ(second["rejected"], 0);
  EXPECT_THAT(second.text, HasSubstr("info: loaded a fused loop of 4 steps"));
  EXPECT_THAT(run("SHUNT_STATS=1").text, HasSubstr(", compiled 0, loaded " + std::to_string(first["compiled"]) +
                                                   " (files rejected 0), refused 0"));
}

TEST_F(FusedCache, IsOffUnlessAskedFor) {
  const Report off = run("SHUNT_JIT_CACHE=off");
  EXPECT_EQ(off["loaded"], 0);
  EXPECT_THAT(run("SHUNT_JIT_CACHE=off SHUNT_STATS=1").text, Not(HasSubstr("files rejected")));
  EXPECT_FALSE(fs::exists(directory));
}

TEST_F(FusedCache, TwoProcessesCompileTheSameBytes) { expectSameBytesFromEachProcess(); }

TEST_F(FusedCache, AChangedByteAnywhereIsSeen) { expectChangedBytesRejected(); }

TEST_F(FusedCache, WhatIsCutShortIsSeen) { expectCutFilesRejected(); }

// As if hashes of keys collided: the key is compared whole.
TEST_F(FusedCache, CodeOfOtherBuildsCpusAndRegionsIsNotUsed) {
  fill();
  changeFacts({"libshunt ", "libshunt_jit ", "llvm ", "cpu ", "vectors ", "thread-locals ", "fused ", "inputs ",
               "input ", "step ", "operands ", "scalars ", "constants", "output ", "rows "});
  expectRejected("a line of the key");
}

TEST_F(FusedCache, ObjectsThatCannotBeBoundAreNotUsed) {
  fill();
  const auto other = compileText(constantFunction("f", 3));
  const std::function<void(CachedObject&)> changes[] = {
      [&](CachedObject& cached) { cached.object = other->getBuffer().str(); },  // without the loop's function
      [](CachedObject& cached) { cached.object = "no object at all"; },
      [](CachedObject& cached) { cached.literals.push_back({"literal:0.16", {"x", 16, "", {}}}); },  // of another name
  };
  changeObjects([&](size_t n, CachedObject& cached) { changes[n % std::size(changes)](cached); });
  // What is whole but can't be linked stays until it is replaced, so the look at the first run rejects it, too.
  const Report again = run("SHUNT_LOG=info");
  EXPECT_GE(again["rejected"], static_cast<int>(files().size())) << again.text;
  EXPECT_EQ(again["compiled"], first["compiled"]);
  EXPECT_EQ(again["loaded"], 0);
  EXPECT_THAT(again.text, HasSubstr("the disk cache's code can't be used for a fused loop of"));
  EXPECT_EQ(run()["loaded"], first["compiled"]) << "not stored again";
}

TEST_F(FusedCache, ADumpCompiles) {
  fill();
  const Report dumping = run("SHUNT_JIT_DUMP=" + (root / "dump").string());
  EXPECT_EQ(dumping["loaded"], 0);
  EXPECT_EQ(dumping["compiled"], first["compiled"]);
}

}  // namespace
}  // namespace shunt::jit::test
