// Exceptions through compiled frames, with each way to register them that this libgcc bears. What live code costs
// exceptions that pass elsewhere is a bar of bench/thunks/never_slower.cpp.
#include "jit/link/unwind.h"
#include "jit/link/libgcc.h"
#include "tests/jit/util.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

namespace shunt::jit::test {
namespace {

thread_local int cleanups = 0;

void throwFromHost(int value) { throw std::runtime_error("host " + std::to_string(value)); }
void countCleanup() { ++cleanups; }

std::optional<uint64_t> testSymbols(llvm::StringRef name) {
  if (name == "throwFromHost") return reinterpret_cast<uint64_t>(&throwFromHost);
  if (name == "countCleanup") return reinterpret_cast<uint64_t>(&countCleanup);
  return HostSymbols::instance().address(std::string_view(name));
}

// Cleans up on the way out, as a frame with a Tensor in it does.
constexpr const char* kThrower = R"(
  declare void @throwFromHost(i32)
  declare void @countCleanup()
  declare i32 @__gxx_personality_v0(...)
  define void @through(i32 %value) uwtable personality ptr @__gxx_personality_v0 {
    invoke void @throwFromHost(i32 %value) to label %done unwind label %clean
  clean:
    %e = landingpad { ptr, i32 } cleanup
    call void @countCleanup()
    resume { ptr, i32 } %e
  done:
    ret void
  })";

// A filter by type: its table refers to type information of the host's.
constexpr const char* kCatcher = R"(
  declare void @throwFromHost(i32)
  declare i32 @__gxx_personality_v0(...)
  declare ptr @__cxa_begin_catch(ptr)
  declare void @__cxa_end_catch()
  @_ZTISt13runtime_error = external constant ptr
  define i32 @catches(i32 %value) uwtable personality ptr @__gxx_personality_v0 {
    invoke void @throwFromHost(i32 %value) to label %done unwind label %caught
  caught:
    %e = landingpad { ptr, i32 } catch ptr @_ZTISt13runtime_error
    %p = extractvalue { ptr, i32 } %e, 0
    %o = call ptr @__cxa_begin_catch(ptr %p)
    call void @__cxa_end_catch()
    ret i32 1
  done:
    ret i32 0
  })";

void expectThrowsThrough(const LinkedCode& code, int value) {
  const int before = cleanups;
  try {
    reinterpret_cast<void (*)(int)>(code.address("through"))(value);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), "host " + std::to_string(value));
  }
  EXPECT_EQ(cleanups, before + 1);
}

// Newer libgccs have functions of these versions, whatever they do with tables.
bool libgccIs13OrNewer() {
  void* libgcc = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_NOLOAD);
  return libgcc != nullptr && dlvsym(libgcc, "__truncsfbf2", "GCC_13.0.0") != nullptr;
}

TEST(Libgcc, BehavesAsItsVersionDoes) {
  using unwind::LibgccBehaviour;
  EXPECT_EQ(unwind::libgccBehaviour(), libgccIs13OrNewer() ? LibgccBehaviour::kTree : LibgccBehaviour::kLists);
  EXPECT_EQ(unwind::libgccBehaviour(), unwind::libgccBehaviour()) << "the first probe left something behind";
  EXPECT_EQ(unwind::scheme(), libgccIs13OrNewer() ? unwind::Scheme::kEachSection : unwind::Scheme::kOneTable);
}

TEST(Libgcc, IsNotUsedWhereItFindsNothing) {
  const unwind::Scheme before = unwind::scheme();
  const size_t live = CodeSlabs::instance().usage().live;
  ASSERT_TRUE(unwind::useScheme(unwind::Scheme::kNone));
  EXPECT_NE(messageOf(link(compileText(kThrower), testSymbols)).find("unwinder"), std::string::npos);
  EXPECT_EQ(CodeSlabs::instance().usage().live, live);
  EXPECT_EQ(unwind::count(), 0u);
  ASSERT_TRUE(unwind::useScheme(before));
}

// What the older behaviour needs ends the process with the newer one.
TEST(Libgcc, IsNotGivenTablesThatItCannotTakeBack) {
  EXPECT_EQ(unwind::useScheme(unwind::Scheme::kOneTable), !libgccIs13OrNewer());
}

class Unwind : public testing::TestWithParam<unwind::Scheme> {
 protected:
  void SetUp() override {
    if (!unwind::useScheme(GetParam())) GTEST_SKIP() << "this libgcc can't take a table back";
  }
  void TearDown() override {
    EXPECT_EQ(unwind::count(), 0u);
    EXPECT_TRUE(unwind::useScheme(chosen_));
  }

 private:
  const unwind::Scheme chosen_ = unwind::scheme();
};
INSTANTIATE_TEST_SUITE_P(Schemes, Unwind, testing::Values(unwind::Scheme::kOneTable, unwind::Scheme::kEachSection),
                         [](const auto& test) {
                           return test.param == unwind::Scheme::kOneTable ? "OneTable" : "EachSection";
                         });

TEST_P(Unwind, KnowsTheRangeOfASection) {
  SectionAddresses sections;
  const LinkedCode code =
      must(link(compileText(std::string(kThrower) + constantFunction("other", 5)), testSymbols, &sections));
  uint64_t frames = 0, begin = ~uint64_t{0}, end = 0;
  for (const auto& [name, address] : sections)
    if (name == ".eh_frame") frames = address;
  for (const LinkedCode::Function& f : code.functions()) {
    begin = std::min(begin, f.address);
    end = std::max(end, f.address + f.size);
  }
  ASSERT_NE(frames, 0u);
  ASSERT_EQ(code.functions().size(), 2u);
  EXPECT_EQ(unwind::codeRange(frames).begin, begin);
  EXPECT_EQ(unwind::codeRange(frames).end, end);
  EXPECT_TRUE(unwind::hasEntry(begin));
  EXPECT_TRUE(unwind::hasEntry(end - 1));
  EXPECT_FALSE(unwind::hasEntry(end));
}

TEST_P(Unwind, HostExceptionsPassThroughAndCleanUp) {
  expectThrowsThrough(must(link(compileText(kThrower), testSymbols)), 3);
}

TEST_P(Unwind, CatchByTypeOfTheHost) {
  const LinkedCode code = must(link(compileText(kCatcher), testSymbols));
  EXPECT_EQ(reinterpret_cast<int (*)(int)>(code.address("catches"))(1), 1);
}

// The personality pointer must not be that of the first code linked.
TEST_P(Unwind, OutlivesTheCodeThatWasLinkedFirst) {
  const auto object = compileText(kThrower);
  LinkedCode first = must(link(copyOf(*object), testSymbols));
  const LinkedCode second = must(link(copyOf(*object), testSymbols));
  first = LinkedCode();
  const LinkedCode third = must(link(compileText(constantFunction("overwrites", 1))));
  expectThrowsThrough(second, 4);
  EXPECT_EQ(unwind::count(), 2u);
}

TEST_P(Unwind, ThrowsWhileOtherThreadsLinkAndFree) {
  const auto object = compileText(kThrower);
  const LinkedCode code = must(link(copyOf(*object), testSymbols));
  std::atomic<bool> stop{false};
  std::thread linker([&] {
    std::vector<LinkedCode> some;
    while (!stop) {
      some.push_back(must(link(copyOf(*object), testSymbols)));
      if (some.size() == 50) some.clear();
    }
  });
  for (int i = 0; i < 3000; ++i) {
    try {
      reinterpret_cast<void (*)(int)>(code.address("through"))(i);
      ADD_FAILURE();
    } catch (const std::runtime_error&) {
    }
  }
  stop = true;
  linker.join();
}

/// kThrower behind as many functions as that.
std::unique_ptr<llvm::MemoryBuffer> throwerBehind(int functions) {
  std::string text;
  for (int i = 0; i < functions; ++i) text += constantFunction("filler" + std::to_string(i), i) + "\n";
  return compileText(text + kThrower);
}

// See Note [Stale separators]: code of many sizes comes and goes where code of other sizes was.
TEST_P(Unwind, FindsCodeWhereOtherCodeWas) {
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  for (int functions = 0; functions < 40; functions += 8) objects.push_back(throwerBehind(functions));
  std::mt19937 random(7);
  std::vector<LinkedCode> live;
  // One after the other, and then all live ones, since what comes later must not hide what is there.
  for (int i = 0; i < 3000; ++i) {
    if (live.size() < 150 && random() % 5 < 3) {
      live.push_back(must(link(copyOf(*objects[random() % objects.size()]), testSymbols)));
      expectThrowsThrough(live.back(), i);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      live.pop_back();
    }
    if (i % 200 == 0)
      for (const LinkedCode& code : live) expectThrowsThrough(code, i);
  }
}

// A child has no other threads to give libgcc's locks back.
TEST_P(Unwind, ThrowsInAChildWhoseParentWasThrowing) {
  if (!libgccIs13OrNewer()) GTEST_SKIP() << "this libgcc searches under a lock; docs/jit.md says so";
  const auto object = throwerBehind(1000);  // so that the first search in it takes its time
  const std::jthread thrower([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const LinkedCode code = must(link(copyOf(*object), testSymbols));
      expectThrowsThrough(code, 1);
    }
  });
  const LinkedCode mine = must(link(copyOf(*object), testSymbols));
  for (int i = 0; i < 300; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      try {
        reinterpret_cast<void (*)(int)>(mine.address("through"))(i);
      } catch (const std::runtime_error&) {
        _exit(0);
      }
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "child " << i << (WIFSIGNALED(status) ? ": a throw waited for ever" : "");
  }
}

TEST_P(Unwind, ThrowsThroughAnyOfAThousandLiveCodes) {
  const auto object = compileText(kThrower);
  std::vector<LinkedCode> live;
  for (int i = 0; i < 1000; ++i) live.push_back(must(link(copyOf(*object), testSymbols)));
  EXPECT_EQ(unwind::count(), 1000u);
  for (int i : {0, 500, 999}) expectThrowsThrough(live[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace shunt::jit::test
