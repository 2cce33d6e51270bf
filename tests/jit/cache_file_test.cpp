// The bytes of a cache file: what was put in comes out, and nothing else does.
#include "jit/cache/cache_file.h"
#include "tests/jit/util.h"

#include <gtest/gtest.h>

namespace shunt::jit::test {
namespace {

CachedObject sample() {
  CachedObject object;
  object.key = "libshunt 1\noperator aten::add\n";
  object.chains = {{0, {0, 3, 17}}, {2, {}}};
  object.literals = {{"literal:A.16", {"text", 16, "", {}}},
                     {"literal:B.32", {std::string(16, '\0'), 32, "name", {{8, 3, "literal:A.16"}, {0, 0, "memcpy"}}}}};
  object.object = std::string("\x7f") + "ELF and so on";
  object.worth_again = true;
  return object;
}

void expectEqual(const CachedObject& a, const CachedObject& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.chains, b.chains);
  EXPECT_EQ(a.literals, b.literals);
  EXPECT_EQ(a.object, b.object);
  EXPECT_EQ(a.worth_again, b.worth_again);
}

TEST(CacheFile, HoldsWhatWasPutIn) {
  expectEqual(must(decode(encode(sample()))), sample());
  expectEqual(must(decode(encode(CachedObject()))), CachedObject());
}

TEST(CacheFile, EveryChangedBitIsSeen) {
  const std::string good = encode(sample());
  for (size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      EXPECT_NE(messageOf(decode(bad)), "") << "byte " << at << ", bit " << bit;
    }
}

TEST(CacheFile, EveryOtherLengthIsSeen) {
  const std::string good = encode(sample());
  for (size_t size = 0; size < good.size(); ++size) EXPECT_NE(messageOf(decode(good.substr(0, size))), "") << size;
  EXPECT_NE(messageOf(decode(good + "x")), "");
  EXPECT_NE(messageOf(decode(std::string(1000, '\0'))), "");
}

TEST(CacheFile, NamesDifferAsKeysDo) {
  EXPECT_EQ(cacheFileName("a"), cacheFileName("a"));
  EXPECT_NE(cacheFileName("a"), cacheFileName("b"));
  EXPECT_EQ(cacheFileName("a").size(), 32 + kCacheSuffix.size());
}

TEST(Literals, AreNamedByWhatTheyHoldAndPointTo) {
  const Literal text{"some text", 16, "", {}};
  const std::string symbol = literals::intern(text);
  EXPECT_EQ(literals::intern(text), symbol);
  EXPECT_NE(literals::intern({"some text", 16, "variable", {}}), symbol);
  const Literal table{std::string(16, '\0'), 16, "", {{8, 5, symbol}}};
  const auto address = literals::address(literals::intern(table));
  ASSERT_TRUE(address);
  EXPECT_STREQ(reinterpret_cast<const char* const*>(*address)[1], "text");
  EXPECT_EQ(reinterpret_cast<const char* const*>(*address)[0], nullptr);
  EXPECT_EQ(literals::find(literals::intern(table)), table);
  EXPECT_EQ(literals::intern({std::string(8, '\0'), 16, "", {{0, 0, "no_such_symbol_of_anybody"}}}), "");
  EXPECT_EQ(literals::intern({std::string(8, '\0'), 16, "", {{4, 0, symbol}}}), "") << "beyond its end";
}

}  // namespace
}  // namespace shunt::jit::test
