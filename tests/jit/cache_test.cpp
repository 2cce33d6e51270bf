// The disk cache from process to process: what one compiled another loads, with equal bits, and what is not its own it
// compiles.
#include "tests/jit/cache_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shunt::jit::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Cache : public CacheOfProbe {
 protected:
  Cache() : CacheOfProbe(SHUNT_CACHE_PROBE, "SHUNT_JIT_SYNC=1 SHUNT_JIT_THRESHOLD=1") {}
};

TEST_F(Cache, WhatOneProcessCompiledAnotherLoads) {
  fill();
  EXPECT_GT(first["compiled"], 20);
  EXPECT_EQ(static_cast<int>(files().size()), first["compiled"])
      << "each thunk can be cached: " << run("SHUNT_LOG=debug").text;
  const Report second = run("SHUNT_LOG=info");
  EXPECT_EQ(second["compiled"], 0) << second.text;
  EXPECT_EQ(second["loaded"], thunks());
  EXPECT_EQ(second["rejected"], 0);
  EXPECT_THAT(second.text, HasSubstr("info: loaded aten::mul.Tensor"));
}

TEST_F(Cache, IsOffWhereThatIsSaid) {
  for (const char* off : {"off", "0", "False", "NO"})
    EXPECT_EQ(run(std::string("SHUNT_JIT_CACHE=") + off)["loaded"], 0);
  EXPECT_FALSE(fs::exists(directory));
}

/// With nothing said, and this home.
class DefaultCache : public Cache {
 protected:
  DefaultCache() { fs::create_directory(home); }
  std::string byDefault(const std::string& more = "") const {
    return "SHUNT_JIT_CACHE= XDG_CACHE_HOME= HOME=" + home.string() + " " + more;
  }
  /// Everything is compiled, each time; said where somebody asks for that.
  void expectNone(const std::string& why, const std::string& more = "") const {
    const Report again = run(byDefault(more + " SHUNT_LOG=info"));
    EXPECT_GT(again["compiled"], 20) << why;
    EXPECT_EQ(again["loaded"], 0) << why;
    EXPECT_THAT(again.text, HasSubstr("info: there is no disk cache")) << why;
    EXPECT_THAT(again.text, HasSubstr(why));
    EXPECT_THAT(run(byDefault(more)).text, Not(HasSubstr("disk cache"))) << why;
  }
  const fs::path home = root / "home", cache = home / ".cache" / "shunt";
};

TEST_F(DefaultCache, TheSecondProcessCompilesNothing) {
  const Report one = run(byDefault());
  EXPECT_GT(one["compiled"], 20);
  EXPECT_TRUE(fs::exists(cache));
  struct stat s;
  ASSERT_EQ(stat(cache.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
  const Report two = run(byDefault());
  EXPECT_EQ(two["compiled"], 0) << two.text;
  EXPECT_EQ(two["loaded"], one["compiled"] + one["loaded"]);
  EXPECT_FALSE(fs::exists(directory));
}

TEST_F(DefaultCache, FollowsTheUsersDirectories) {
  run(byDefault("XDG_CACHE_HOME=" + (home / "xdg").string()));
  EXPECT_TRUE(fs::exists(home / "xdg" / "shunt"));
  EXPECT_FALSE(fs::exists(cache));
  run(byDefault("SHUNT_JIT_CACHE=on XDG_CACHE_HOME=relative"));
  EXPECT_TRUE(fs::exists(cache)) << "a relative path is none";
  fs::remove_all(cache);
  const Report bad = run(byDefault("SHUNT_JIT_CACHE=somewhere"));
  EXPECT_THAT(bad.text, HasSubstr("SHUNT_JIT_CACHE=somewhere: expected on, off or an absolute path; using on\n"));
  EXPECT_EQ(bad.text.find("somewhere: expected"), bad.text.rfind("somewhere: expected")) << "said once";
  EXPECT_TRUE(fs::exists(cache)) << "the default holds";
}

TEST_F(DefaultCache, IsOffWithoutAHomeOfTheUsersOwn) {
  expectNone("would not be in a directory of this user's", "HOME=/nonexistent");
  expectNone(geteuid() == 0 ? "there is no disk cache in /proc" : "this user's", "HOME=/proc");
  EXPECT_TRUE(fs::is_empty(home));
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_EQ(chown(home.c_str(), 65534, 65534), 0);
  expectNone("would not be in a directory of this user's");
  EXPECT_TRUE(fs::is_empty(home)) << "nothing is left in somebody else's home";
}

TEST_F(DefaultCache, IsOffWhereItCannotBeTrusted) {
  fs::create_directories(cache);
  chmod(cache.c_str(), 0770);
  expectNone("others may write to it");
  fs::remove(cache);
  fs::create_directory(home / "elsewhere");
  fs::create_symlink(home / "elsewhere", cache);
  expectNone("it is a symbolic link");
  fs::remove(cache);
  fs::remove(home / ".cache");
  std::ofstream(home / ".cache") << "a file";
  expectNone("Not a directory");
}

TEST_F(DefaultCache, AFullDiskIsNobodysConcern) {
  fs::create_directories(cache);
  if (mount("none", cache.c_str(), "tmpfs", 0, "size=32k,mode=0700") != 0)
    GTEST_SKIP() << "this process may not mount a small disk";
  const Report full = run(byDefault());
  EXPECT_GT(full["compiled"], 20);
  EXPECT_THAT(full.text, Not(HasSubstr("disk cache")));
  EXPECT_THAT(run(byDefault("SHUNT_LOG=info")).text, HasSubstr("gets no more code"));
  umount(cache.c_str());
}

// Looked after at a process's first store.
TEST_F(Cache, StaysWithinItsLimit) {
  const fs::path old = directory / "0.thunk";
  const auto runWith = [&](const std::string& limit) {
    fs::remove_all(directory);
    run();
    std::ofstream(old) << std::string(2 << 20, 'x');
    fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(24));
    return run("SHUNT_STATS=/dev/null " + limit).text;  // which stores others
  };
  runWith("");
  EXPECT_TRUE(fs::exists(old)) << "256 MiB by default";
  EXPECT_THAT(runWith("SHUNT_JIT_CACHE_MB=0"),
              HasSubstr("SHUNT_JIT_CACHE_MB=0: expected a whole number from 1 to 1048576; using 256\n"));
  EXPECT_TRUE(fs::exists(old));
  runWith("SHUNT_JIT_CACHE_MB=1");
  EXPECT_FALSE(fs::exists(old)) << "what was used longest ago goes";
  EXPECT_GT(files().size(), 20u);
}

// An address of the process in an object would be another one in the second: libraries and heaps lie elsewhere each
// time.
TEST_F(Cache, TwoProcessesCompileTheSameBytes) { expectSameBytesFromEachProcess(); }

TEST_F(Cache, AChangedByteAnywhereIsSeen) {
  expectChangedBytesRejected();
  change([&](size_t n, std::string content) {
    content[n % 40] = static_cast<char>(content[n % 40] ^ 1);
    return content;
  });
  expectRejected("in the header");
}

TEST_F(Cache, WhatIsCutShortIsSeen) { expectCutFilesRejected(); }

// As if hashes of keys collided: the key is compared whole.
TEST_F(Cache, AnotherBuildsCpusAndPlansThunksAreNotUsed) {
  fill();
  changeFacts({"libshunt ", "libshunt_jit ", "llvm ", "cpu ", "vectors ", "thread-locals ", "operator ", "keys ",
               "step ", "below ", "masks ", "signature ", "places "});
  expectRejected("a line of the key");
}

// The object's symbols that this process doesn't have, or has under another name.
TEST_F(Cache, ObjectsThatCannotBeBoundAreNotUsed) {
  fill();
  const auto unbound = compileText(
      "declare void @nobody_has_this()  define void @f() uwtable { call void @nobody_has_this()  ret void }");
  const auto other = compileText(constantFunction("f", 3));
  const std::function<void(CachedObject&)> changes[] = {
      [&](CachedObject& cached) { cached.object = unbound->getBuffer().str(); },
      [&](CachedObject& cached) { cached.object = other->getBuffer().str(); },  // without the thunk's function
      [](CachedObject& cached) { cached.object = "no object at all"; },
      [](CachedObject& cached) { cached.literals.push_back({"literal:0.16", {"x", 16, "", {}}}); },  // of another name
      [](CachedObject& cached) { cached.chains.push_back({7, {}}); },  // a chain that the plan doesn't have
      [](CachedObject& cached) { cached.chains.front().slots.push_back(100'000); },  // nor any table
  };
  changeObjects([&](size_t n, CachedObject& cached) { changes[n % std::size(changes)](cached); });
  expectRejected("an object");
}

TEST_F(Cache, FilesOfOthersAreNotUsed) {
  fill();
  const auto all = files();
  for (const fs::path& f : all) chmod(f.c_str(), 0666);
  expectRejected("world-writable");
  const fs::path elsewhere = root / "elsewhere";
  fs::create_directory(elsewhere);
  for (const fs::path& f : all) {
    fs::rename(f, elsewhere / f.filename());
    fs::create_symlink(elsewhere / f.filename(), f);
  }
  expectRejected("symbolic links");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  for (const fs::path& f : all) ASSERT_EQ(chown(f.c_str(), 65534, 65534), 0);
  expectRejected("of another user");
}

TEST_F(Cache, DirectoriesOfOthersAreNotUsed) {
  run();
  const auto expectLeft = [&](const std::string& why) {
    const Report again = run();
    EXPECT_EQ(again["loaded"], 0) << why;
    EXPECT_GT(again["compiled"], 20) << why;
    EXPECT_THAT(again.text, HasSubstr(why));
    EXPECT_EQ(again.text.find("there is no disk cache"), again.text.rfind("there is no disk cache"))
        << "said once: " << again.text;
  };
  chmod(directory.c_str(), 0777);
  expectLeft("others may write to it");
  chmod(directory.c_str(), 0700);
  EXPECT_EQ(run()["compiled"], 0);
  fs::rename(directory, root / "real");
  fs::create_symlink(root / "real", directory);
  expectLeft("it is a symbolic link");
  fs::remove(directory);
  std::ofstream(directory) << "a file";
  expectLeft("Not a directory");
  fs::remove(directory);
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  fs::rename(root / "real", directory);
  ASSERT_EQ(chown(directory.c_str(), 65534, 65534), 0);
  expectLeft("it belongs to another user");
}

TEST_F(Cache, WhereNothingCanBeWrittenCallsGoOn) {
  const Report nowhere = run("SHUNT_JIT_CACHE=/proc/self/shunt");
  EXPECT_GT(nowhere["compiled"], 20);
  EXPECT_THAT(nowhere.text, HasSubstr("shunt: warning: SHUNT_JIT_CACHE=/proc/self/shunt: No such file or directory; "
                                      "there is no disk cache of compiled code\n"));
  fs::create_directories(directory);
  if (mount("none", directory.c_str(), "tmpfs", 0, "size=32k,mode=0700") != 0)
    GTEST_SKIP() << "this process may not mount a small disk";
  const Report full = run();
  EXPECT_GT(full["compiled"], 20);
  EXPECT_EQ(full.text.find("gets no more thunks"), full.text.rfind("gets no more thunks"))
      << "said once: " << full.text;
  EXPECT_THAT(full.text, HasSubstr("No space left"));
  EXPECT_GT(run()["loaded"], 0) << "what there was room for";
  mount("none", directory.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "");
  const Report fixed = run();
  EXPECT_GT(fixed["loaded"], 0) << "where nothing can be written at all";
  EXPECT_THAT(fixed.text, HasSubstr("Read-only file system"));
  umount(directory.c_str());
}

TEST_F(Cache, ManyProcessesAtOnceDisturbNobody) {
  std::vector<std::thread> processes;
  for (int n = 0; n < 4; ++n) processes.emplace_back([this] { EXPECT_EQ(run()["rejected"], 0); });
  for (std::thread& t : processes) t.join();
  const Report after = run();
  EXPECT_EQ(after["compiled"], 0) << after.text;
  for (const fs::path& f : files()) EXPECT_EQ(f.extension(), ".thunk") << "left over";
}

TEST_F(Cache, ProgramsWithMoreRightsHaveNone) {
  run();
  EXPECT_THAT(run("SHUNT_JIT_THRESOLD=1").text, HasSubstr("SHUNT_JIT_THRESOLD in the environment"));
  const Report secure = run("LD_PRELOAD=" SHUNT_FAULTS " SHUNT_FAULT=secure SHUNT_JIT_THRESOLD=1");
  EXPECT_THAT(secure.text, Not(HasSubstr("SHUNT_JIT_THRESOLD"))) << "the environment is the caller's";
  EXPECT_EQ(secure["loaded"], 0);
  EXPECT_GT(secure["compiled"], 20);
}

// Thunks that count calls are others than those that don't.
TEST_F(Cache, CountingThunksAreKeptApart) {
  fill();
  const Report counting = run("SHUNT_STATS=/dev/null");
  EXPECT_EQ(counting["loaded"], first["loaded"]);
  EXPECT_EQ(counting["compiled"], first["compiled"]);
  EXPECT_EQ(run("SHUNT_STATS=/dev/null")["loaded"], thunks());
  EXPECT_EQ(run()["loaded"], thunks());
}

TEST_F(Cache, ADumpCompiles) {
  fill();
  const Report dumping = run("SHUNT_JIT_DUMP=" + (root / "dump").string());
  EXPECT_EQ(dumping["loaded"], 0);
  EXPECT_EQ(dumping["compiled"], thunks());
}

}  // namespace
}  // namespace shunt::jit::test
