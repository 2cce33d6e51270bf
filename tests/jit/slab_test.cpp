// Memory for code: reuse, limits, protections, forks.
#include "tests/jit/util.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace shunt::jit::test {
namespace {

size_t slabViews(const char* permissions) {
  const std::vector<Mapping> all = mappings();
  return static_cast<size_t>(std::count_if(all.begin(), all.end(), [permissions](const Mapping& m) {
    return m.name.find("shunt-jit") != std::string::npos && m.permissions == permissions;
  }));
}

bool inAnyMapping(uint64_t address) {
  const std::vector<Mapping> all = mappings();
  return std::any_of(all.begin(), all.end(),
                     [address](const Mapping& m) { return address >= m.begin && address < m.end; });
}

TEST(CodeSlabs, BothViewsShowTheSameBytesAndNoneIsWritableAndExecutable) {
  const size_t run = slabViews("r-xs"), write = slabViews("rw-s");
  CodeSlabs slabs(1 << 20);
  const CodeBlock block = must(slabs.allocate(100));
  EXPECT_EQ(block.size, 128u);
  std::memcpy(block.memory, "shunt", 6);
  EXPECT_STREQ(reinterpret_cast<const char*>(block.address), "shunt");
  EXPECT_EQ(slabViews("r-xs"), run + 1);
  EXPECT_EQ(slabViews("rw-s"), write + 1);
  for (const Mapping& m : mappings()) EXPECT_NE(m.permissions.substr(0, 3), "rwx") << m.name;
}

TEST(CodeSlabs, FreedNeighboursJoin) {
  CodeSlabs slabs(CodeSlabs::kSlabBytes);
  std::vector<uint64_t> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(must(slabs.allocate(64 << (i % 5))).address);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(1));
  for (uint64_t address : blocks) slabs.free(address);
  EXPECT_EQ(slabs.usage().live, 0u);
  const size_t whole = CodeSlabs::kSlabBytes - CodeSlabs::kAlignment;
  EXPECT_EQ(must(slabs.allocate(whole)).size, whole) << "the pieces did not become one again";
  EXPECT_EQ(slabs.usage().slabs, 1u);
}

TEST(CodeSlabs, TheLimitHoldsAndIsGivenBack) {
  CodeSlabs slabs(1000);
  const CodeBlock block = must(slabs.allocate(896));
  EXPECT_NE(messageOf(slabs.allocate(64)).find("limit of 1000 bytes"), std::string::npos);
  slabs.free(block.address);
  EXPECT_EQ(must(slabs.allocate(64)).size, CodeSlabs::kAlignment);
}

TEST(CodeSlabs, TooLargeIsAnError) {
  CodeSlabs slabs(size_t{1} << 40);
  EXPECT_NE(messageOf(slabs.allocate(CodeSlabs::kSlabBytes)), "");
}

TEST(CodeSlabs, ASecondSlabComesAndGoes) {
  CodeSlabs slabs(size_t{1} << 30);
  const CodeBlock first = must(slabs.allocate(CodeSlabs::kSlabBytes - 4096));
  const CodeBlock second = must(slabs.allocate(8192));
  EXPECT_EQ(slabs.usage().slabs, 2u);
  slabs.free(second.address);
  EXPECT_EQ(slabs.usage().slabs, 1u);
  EXPECT_FALSE(inAnyMapping(second.address));
  slabs.free(first.address);
}

// The child's reads of an inherited block must not see what the parent puts into new ones.
TEST(CodeSlabs, AfterAForkNeitherSideWritesWhatBothMap) {
  CodeSlabs slabs(size_t{1} << 30);
  const CodeBlock before = must(slabs.allocate(4096));
  std::memset(before.memory, 0x11, before.size);
  slabs.written(before.address);
  int to_child[2], to_parent[2];
  ASSERT_EQ(pipe(to_child) | pipe(to_parent), 0);
  slabs.beforeFork();
  const pid_t child = fork();
  if (child == 0) {
    slabs.afterForkInChild();
    char go = 0;
    bool good = !inAnyMapping(reinterpret_cast<uint64_t>(before.memory));  // the writable view did not come along
    good &= write(to_parent[1], "1", 1) == 1 && read(to_child[0], &go, 1) == 1;
    const auto* bytes = reinterpret_cast<const unsigned char*>(before.address);
    good &= std::all_of(bytes, bytes + before.size, [](unsigned char b) { return b == 0x11; });
    llvm::Expected<CodeBlock> own = slabs.allocate(64);
    good &= static_cast<bool>(own) && own->address / CodeSlabs::kSlabBytes != 0;
    if (own) std::memset(own->memory, 0x33, own->size);
    slabs.free(before.address);
    good &= !inAnyMapping(before.address);
    _exit(good ? 0 : 1);
  }
  slabs.afterForkInParent();
  char ready = 0;
  ASSERT_EQ(read(to_parent[0], &ready, 1), 1);
  slabs.free(before.address);
  EXPECT_FALSE(inAnyMapping(before.address)) << "an old, empty slab stays mapped";
  std::vector<CodeBlock> blocks;
  for (int i = 0; i < 2000; ++i) {
    blocks.push_back(must(slabs.allocate(8000)));
    std::memset(blocks.back().memory, 0x22, blocks.back().size);
  }
  ASSERT_EQ(write(to_child[1], "1", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) close(end);
}

// A fork on another thread, in the middle of a link.
TEST(CodeSlabs, ABlockThatAForkCameUponIsWrittenToItsEnd) {
  CodeSlabs slabs(size_t{1} << 30);
  const CodeBlock half = must(slabs.allocate(64));
  slabs.beforeFork();
  const pid_t child = fork();
  if (child == 0) {
    slabs.afterForkInChild();
    _exit(slabs.usage().slabs == 0 && !inAnyMapping(half.address) ? 0 : 1);  // nobody is left to write it
  }
  slabs.afterForkInParent();
  std::memset(half.memory, 0x44, half.size);
  EXPECT_EQ(*reinterpret_cast<const unsigned char*>(half.address + 63), 0x44);
  const CodeBlock next = must(slabs.allocate(64));
  EXPECT_EQ(slabs.usage().slabs, 2u) << "a slab that another process maps takes no new code";
  slabs.written(half.address);
  EXPECT_FALSE(inAnyMapping(reinterpret_cast<uint64_t>(half.memory)));
  EXPECT_TRUE(inAnyMapping(half.address));
  slabs.free(half.address);
  EXPECT_FALSE(inAnyMapping(half.address));
  slabs.free(next.address);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(CodeSlabs, WhatIsKeptSinceAForkCountsAgainstTheLimit) {
  CodeSlabs slabs(10000);
  const CodeBlock kept = must(slabs.allocate(64)), gone = must(slabs.allocate(6400));
  slabs.free(gone.address);
  EXPECT_EQ(slabs.usage().reserved, CodeSlabs::kAlignment);
  slabs.beforeFork();
  slabs.afterForkInParent();
  EXPECT_GE(slabs.usage().reserved, CodeSlabs::kAlignment + 6400);
  EXPECT_NE(messageOf(slabs.allocate(6400)).find("limit"), std::string::npos);
  slabs.free(kept.address);
  EXPECT_EQ(slabs.usage().reserved, 0u);
  EXPECT_EQ(must(slabs.allocate(6400)).size, 6400u);
}

}  // namespace
}  // namespace shunt::jit::test
