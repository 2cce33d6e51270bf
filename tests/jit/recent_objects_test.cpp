// The objects that a process keeps: found by their whole key, the oldest dropped first.
#include "jit/cache/recent_objects.h"

#include <gtest/gtest.h>

namespace shunt::jit::test {
namespace {

RecentObjects::Object object(char content, size_t size) { return {"f", {}, std::string(size, content), false}; }

TEST(RecentObjects, FindsWhatWasAdded) {
  RecentObjects recent(1000);
  EXPECT_EQ(recent.find("a"), nullptr);
  recent.add("a", {"function", {{2, {7, 9}}}, "code", true});
  const RecentObjects::Object* found = recent.find("a");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->function, "function");
  ASSERT_EQ(found->chains.size(), 1u);
  EXPECT_EQ(found->chains[0].place, 2u);
  EXPECT_EQ(found->chains[0].slots, (std::vector<uint64_t>{7, 9}));
  EXPECT_EQ(found->object, "code");
  EXPECT_TRUE(found->worth_again);
  EXPECT_EQ(recent.find("a "), nullptr);
}

TEST(RecentObjects, TheOldestMakeRoom) {
  RecentObjects recent(1000);
  recent.add("a", object('a', 399));
  recent.add("b", object('b', 399));
  EXPECT_EQ(recent.bytes(), 800u);
  recent.add("c", object('c', 399));
  EXPECT_EQ(recent.bytes(), 800u);
  EXPECT_EQ(recent.find("a"), nullptr);
  EXPECT_NE(recent.find("b"), nullptr);
  recent.add("d", object('d', 899));
  EXPECT_EQ(recent.find("b"), nullptr);
  EXPECT_EQ(recent.find("c"), nullptr);
  EXPECT_NE(recent.find("d"), nullptr);
  EXPECT_EQ(recent.bytes(), 900u);
}

TEST(RecentObjects, WhatIsTooLargeOrKnownChangesNothing) {
  RecentObjects recent(1000);
  recent.add("a", object('a', 399));
  recent.add("large", object('l', 1000));
  recent.add("a", object('b', 10));
  EXPECT_EQ(recent.find("large"), nullptr);
  ASSERT_NE(recent.find("a"), nullptr);
  EXPECT_EQ(recent.find("a")->object.front(), 'a');
  EXPECT_EQ(recent.bytes(), 400u);
}

}  // namespace
}  // namespace shunt::jit::test
