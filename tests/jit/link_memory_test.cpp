// Memory runs out while code is linked or removed: an exception at most, nothing is kept, and the next link works.
#include "jit/link/unwind.h"
#include "tests/jit/starving_new.h"
#include "tests/jit/util.h"

#include <gtest/gtest.h>

namespace shunt::jit::test {
namespace {

using IntFunction = int (*)();

int call(const LinkedCode& code) { return reinterpret_cast<IntFunction>(code.address("answer"))(); }

struct LinkMemory : testing::Test {
  void SetUp() override { object = compileText(constantFunction("answer", 42)); }
  LinkedCode linked() const { return must(link(copyOf(*object))); }
  /// Nothing of a test is left, and there is an ORC that works.
  void TearDown() override {
    EXPECT_EQ(call(linked()), 42);
    EXPECT_EQ(CodeSlabs::instance().usage().live, live);
    EXPECT_EQ(unwind::count(), 0u);
  }
  std::unique_ptr<llvm::MemoryBuffer> object;
  const size_t live = CodeSlabs::instance().usage().live;
};

TEST_F(LinkMemory, RunsOutAtEachAllocationOfALink) {
  const size_t given_up = LinkSession::instance().givenUp();
  const LinkedCode before = linked();
  bool linked_it = false;
  int failures = 0;
  for (int n = 0; !linked_it; ++n) {
    auto copy = copyOf(*object);
    left = n;
    try {
      auto code = link(std::move(copy));
      left = -1;
      linked_it = static_cast<bool>(code);
      if (linked_it)
        EXPECT_EQ(call(*code), 42);
      else
        llvm::consumeError(code.takeError());
    } catch (const std::bad_alloc&) {
      left = -1;
    }
    failures += !linked_it;
    EXPECT_EQ(call(before), 42);
    EXPECT_EQ(call(linked()), 42) << "after " << n << " allocations";
    ASSERT_LT(n, 10'000);
  }
  EXPECT_GT(failures, 20);
  EXPECT_GT(LinkSession::instance().givenUp(), given_up + 10) << "no exception passed through ORC";
}

TEST_F(LinkMemory, RunsOutAtEachAllocationOfARemoval) {
  const size_t given_up = LinkSession::instance().givenUp();
  size_t last = given_up;
  const LinkedCode other = linked();
  for (int n = 0; n == 0 || last != LinkSession::instance().givenUp(); ++n) {
    last = LinkSession::instance().givenUp();
    LinkedCode code = linked();
    const size_t with_it = CodeSlabs::instance().usage().live;
    left = n;
    {
      const LinkedCode gone = std::move(code);
    }
    left = -1;
    EXPECT_LT(CodeSlabs::instance().usage().live, with_it) << "after " << n << " allocations";
    EXPECT_EQ(call(other), 42);
    ASSERT_LT(n, 10'000);
  }
  EXPECT_GT(last, given_up + 1) << "removing allocates nothing any more: the guard can go";
}

}  // namespace
}  // namespace shunt::jit::test
