// Linking: symbols, thread-locals, reuse of memory.
#include "jit/emit/optimise.h"
#include "jit/link/unwind.h"
#include "tests/jit/util.h"

#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <mutex>
#include <random>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace shunt::jit::test {
namespace {

using IntFunction = int (*)();

TEST(Link, RunsWhatItLinked) {
  const LinkedCode code = must(link(compileText(constantFunction("answer", 42))));
  ASSERT_EQ(code.functions().size(), 1u);
  EXPECT_EQ(code.functions()[0].name, "answer");
  EXPECT_EQ(reinterpret_cast<IntFunction>(code.address("answer"))(), 42);
  EXPECT_EQ(code.address("question"), 0u);
}

TEST(Link, BindsTheHostsHiddenAndTheLibrarysSymbols) {
  const LinkedCode code = must(link(compileText(R"(
    declare i64 @strlen(ptr)
    define i64 @length(ptr %s) uwtable { %n = call i64 @strlen(ptr %s)  ret i64 %n }
    @"_ZTVN5shunt4NodeE" = external constant ptr
    define ptr @vtable() uwtable { ret ptr @"_ZTVN5shunt4NodeE" })")));
  EXPECT_EQ(reinterpret_cast<size_t (*)(const char*)>(code.address("length"))("four"), 4u);
  EXPECT_EQ(reinterpret_cast<uint64_t (*)()>(code.address("vtable"))(),
            HostSymbols::instance().address("_ZTVN5shunt4NodeE"));
}

TEST(Link, NamesTheSymbolThatNobodyHas) {
  const auto object =
      compileText("declare void @nowhere()\n define void @f() uwtable { call void @nowhere()  ret void }");
  const size_t live = CodeSlabs::instance().usage().live;
  EXPECT_NE(messageOf(link(copyOf(*object))).find("nowhere"), std::string::npos);
  EXPECT_EQ(CodeSlabs::instance().usage().live, live) << "a failed link kept its memory";
}

TEST(Link, RefusesWritableData) {
  TextModule source(
      "@state = global i32 0\n define i32 @f() { %v = load i32, ptr @state  store i32 1, ptr @state  ret i32 %v }");
  EXPECT_NE(messageOf(generate(*source.module)).find("state"), std::string::npos);
}

TEST(Link, ReadsThreadLocalsAsTheHostDoes) {
  const LinkedCode code = must(link(compileText(R"(
    @_ZN5shunt6detail9tls_stateE = external thread_local(initialexec) global [3 x i64]
    declare ptr @llvm.threadlocal.address.p0(ptr)
    define i64 @included() uwtable {
      %p = call ptr @llvm.threadlocal.address.p0(ptr @_ZN5shunt6detail9tls_stateE)
      %v = load i64, ptr %p
      ret i64 %v
    }
    define ptr @state() uwtable { ret ptr @_ZN5shunt6detail9tls_stateE })")));
  const auto check = [&code] {
    EXPECT_EQ(reinterpret_cast<void* (*)()>(code.address("state"))(), &shunt::detail::tls_state);
    const uint64_t before = shunt::detail::tls_state.included;
    EXPECT_EQ(reinterpret_cast<uint64_t (*)()>(code.address("included"))(), before);
    shunt::detail::tls_state.included = before ^ 0x5a5a;
    EXPECT_EQ(reinterpret_cast<uint64_t (*)()>(code.address("included"))(), before ^ 0x5a5a);
    shunt::detail::tls_state.included = before;
  };
  check();
  std::thread(check).join();
}

TEST(Link, RefusesThreadLocalsThatAreNotTheHosts) {
  TextModule source("@mine = external thread_local global i32\n define ptr @f() { ret ptr @mine }");
  const std::string message = llvm::toString(optimise(*source.module).takeError());
  EXPECT_NE(message.find("mine"), std::string::npos) << message;
}

TEST(Link, TenThousandCyclesLeaveMemoryFlat) {
  const auto object = compileText(constantFunction("f", 7));
  const auto cycle = [&object](int times) {
    for (int i = 0; i < times; ++i) {
      const LinkedCode code = must(link(copyOf(*object)));
      ASSERT_EQ(reinterpret_cast<IntFunction>(code.address("f"))(), 7);
    }
  };
  cycle(1000);
  const size_t maps = mappings().size(), resident = residentBytes();
  const CodeSlabs::Usage usage = CodeSlabs::instance().usage();
  cycle(10000);
  EXPECT_EQ(mappings().size(), maps);
  EXPECT_LE(residentBytes(), resident + (size_t{1} << 20));
  EXPECT_EQ(CodeSlabs::instance().usage().live, usage.live);
  EXPECT_EQ(CodeSlabs::instance().usage().slabs, usage.slabs);
  EXPECT_EQ(unwind::count(), 0u);
}

// Names that ORC would take for one.
TEST(Link, ObjectsMayDefineTheSameNamesAndBindThemDifferently) {
  const auto object =
      compileText("@\"plan:x\" = external constant ptr\n define ptr @f() uwtable { ret ptr @\"plan:x\" }");
  std::vector<LinkedCode> codes;
  for (uint64_t i = 1; i <= 20; ++i)
    codes.push_back(must(link(copyOf(*object), [i](llvm::StringRef) { return std::optional(i * 4096); })));
  for (uint64_t i = 1; i <= 20; ++i) EXPECT_EQ(reinterpret_cast<uint64_t (*)()>(codes[i - 1].address("f"))(), i * 4096);
}

// A fork waits for the part of a link that has ORC's locks, and for no look-up of symbols.
TEST(Link, AChildLinksWhereverItsParentWas) {
  const auto object = compileText(constantFunction("f", 7));
  const std::jthread linker([&object](const std::stop_token& stop) {
    while (!stop.stop_requested()) must(link(copyOf(*object)));
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      auto code = link(copyOf(*object));
      _exit(code ? reinterpret_cast<IntFunction>(code->address("f"))() : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "child " << i << " waited for ever";
    ASSERT_EQ(WEXITSTATUS(status), 7);
  }
}

TEST(Link, ThreadsLinkAndRemoveAtOnce) {
  const auto object = compileText(constantFunction("f", 7));
  std::mutex mutex;
  std::vector<LinkedCode> shared;  // guarded by mutex; removed by whoever takes them
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 2000; ++i) {
      LinkedCode code = must(link(copyOf(*object)));
      ASSERT_EQ(reinterpret_cast<IntFunction>(code.address("f"))(), 7);
      std::lock_guard lock(mutex);
      if (shared.size() < 50)
        shared.push_back(std::move(code));
      else
        std::swap(shared[random() % shared.size()], code);
    }
  };
  const size_t live = CodeSlabs::instance().usage().live;
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 1; seed <= 3; ++seed) threads.emplace_back(work, seed);
  }
  shared.clear();
  EXPECT_EQ(CodeSlabs::instance().usage().live, live);
}

TEST(Link, FreedCodeIsReused) {
  const auto object = compileText(constantFunction("f", 7));
  uint64_t first = 0;
  {
    first = must(link(copyOf(*object))).address("f");
  }
  EXPECT_EQ(must(link(copyOf(*object))).address("f"), first);
}

}  // namespace
}  // namespace shunt::jit::test
