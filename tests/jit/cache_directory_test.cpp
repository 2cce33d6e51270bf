// The directory of the disk cache: whose files are read, and what a disk can do to those that are written.
#include "jit/cache/cache_directory.h"
#include "jit/cache/cache_file.h"
#include "tests/jit/util.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shunt::jit::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t kNobody = 65534;

class CacheDirectoryTest : public testing::Test {
 protected:
  CacheDirectoryTest() {
    std::string name = (fs::temp_directory_path() / "shunt_cache_XXXXXX").string();
    root = mkdtemp(name.data());
    path = root / "a" / "b";
  }
  ~CacheDirectoryTest() override { fs::remove_all(root); }

  CacheDirectory make() { return must(CacheDirectory::open(path, true)); }
  /// Why the file can't be read; "" where it can or is absent.
  std::string problemOf(const std::string& name) {
    std::string content;
    return messageOf(make().read(name, content));
  }
  size_t count() { return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator())); }

  fs::path root, path;
};

TEST_F(CacheDirectoryTest, IsMadeForItsUserAlone) {
  EXPECT_THAT(messageOf(CacheDirectory::open(path, false)), HasSubstr("No such file"));
  const CacheDirectory directory = make();
  struct stat s;
  ASSERT_EQ(stat(path.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
  must(directory.write("x", "content"));
  ASSERT_EQ(stat((path / "x").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
  std::string content;
  EXPECT_TRUE(must(directory.read("x", content)));
  EXPECT_EQ(content, "content");
  must(directory.write("x", "other"));
  EXPECT_TRUE(must(directory.read("x", content)));
  EXPECT_EQ(content, "other");
  EXPECT_FALSE(must(directory.read("y", content)));
  EXPECT_EQ(count(), 1u) << "nothing beside it";
}

TEST_F(CacheDirectoryTest, WhatOthersMayWriteIsNotTrusted) {
  must(make().write("x", "content"));
  EXPECT_EQ(problemOf("x"), "");
  for (const mode_t mode : {0620, 0602}) {
    chmod((path / "x").c_str(), mode);
    EXPECT_EQ(problemOf("x"), "others may write to it");
  }
  for (const mode_t mode : {0770, 0707}) {
    chmod(path.c_str(), mode);
    EXPECT_EQ(messageOf(CacheDirectory::open(path, true)), "others may write to it");
  }
  chmod(path.c_str(), 0755);
  EXPECT_EQ(messageOf(CacheDirectory::open(path, true)), "");
}

TEST_F(CacheDirectoryTest, WhatBelongsToOthersIsNotTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  must(make().write("x", "content"));
  ASSERT_EQ(chown((path / "x").c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(problemOf("x"), "it belongs to another user");
  ASSERT_EQ(chown(path.c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(messageOf(CacheDirectory::open(path, true)), "it belongs to another user");
}

TEST_F(CacheDirectoryTest, LinksAndWhatIsNoFileAreNotFollowed) {
  must(make().write("x", "content"));
  fs::create_symlink("x", path / "link");
  EXPECT_EQ(problemOf("link"), "it is a symbolic link");
  fs::create_directory(path / "folder");
  EXPECT_EQ(problemOf("folder"), "it is no file");
  ASSERT_EQ(mkfifo((path / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(problemOf("pipe"), "it is no file") << "and nobody waits for it";
  fs::create_symlink(path, root / "way");
  EXPECT_EQ(messageOf(CacheDirectory::open(root / "way", true)), "it is a symbolic link");
  must(make().write("link", "new"));  // in the link's place
  EXPECT_EQ(problemOf("link"), "");
  std::string content;
  EXPECT_TRUE(must(make().read("x", content)));
  EXPECT_EQ(content, "content");
}

TEST_F(CacheDirectoryTest, LargeFilesAreNotRead) {
  must(make().write("x", "content"));
  fs::resize_file(path / "x", kMostCachedBytes + 1);
  EXPECT_EQ(problemOf("x"), "it is too large");
}

// The limit's signal would end the process.
TEST_F(CacheDirectoryTest, AFileThatGetsTooLongIsAnErrorAndLeavesNothing) {
  const CacheDirectory directory = make();
  must(directory.write("x", "before"));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  const std::string message = llvm::toString(directory.write("x", std::string(5000, 'x')));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(message, HasSubstr("File too large"));
  EXPECT_EQ(count(), 1u);
  std::string content;
  EXPECT_TRUE(must(directory.read("x", content)));
  EXPECT_EQ(content, "before");
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
}

TEST_F(CacheDirectoryTest, AFullDiskIsAnErrorAndLeavesNothing) {
  fs::create_directories(path);
  if (mount("none", path.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0)
    GTEST_SKIP() << "this process may not mount a small disk";
  {
    const CacheDirectory directory = make();
    EXPECT_THAT(llvm::toString(directory.write("x", std::string(100000, 'x'))), HasSubstr("No space left"));
    EXPECT_EQ(count(), 0u);
    must(directory.write("x", "small"));
  }
  umount(path.c_str());
}

TEST_F(CacheDirectoryTest, WithoutTheRightToWriteItIsReadAlone) {
  must(make().write("x", "content"));
  chmod(path.c_str(), 0500);
  const bool root_user = geteuid() == 0;
  if (root_user) {  // the rights of root are not asked
    ASSERT_EQ(chown(path.c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(chown((path / "x").c_str(), kNobody, kNobody), 0);
    chmod(root.c_str(), 0755);
    chmod(path.parent_path().c_str(), 0755);
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  const std::string message = llvm::toString(make().write("y", "content"));
  const std::string problem = problemOf("x");
  if (root_user) ASSERT_EQ(seteuid(0), 0);
  chmod(path.c_str(), 0700);
  EXPECT_THAT(message, HasSubstr("Permission denied"));
  EXPECT_EQ(problem, "");
}

TEST_F(CacheDirectoryTest, TrimTakesWhatWasUsedLongestAgo) {
  const CacheDirectory directory = make();
  const auto age = [&](const std::string& name, int hours) {
    fs::last_write_time(path / name, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (int n = 0; n < 4; ++n) {
    const std::string name = std::to_string(n) + kCacheSuffix.str();
    must(directory.write(name, std::string(1000, 'x')));
    age(name, 100 - n);
  }
  for (const char* name : {".new-1-1", ".new-1-2", "other"}) must(directory.write(name, "x"));
  age(".new-1-1", 2);
  age("other", 1000);
  directory.trim(2500);
  std::vector<std::string> names;
  for (const auto& file : directory.files()) names.push_back(file.name);
  EXPECT_THAT(names, testing::ElementsAre(".new-1-2", "2.thunk", "3.thunk", "other"));
  std::string content;
  EXPECT_TRUE(must(directory.read("2.thunk", content)));
  directory.trim(1500);
  EXPECT_TRUE(must(directory.read("2.thunk", content))) << "used a moment ago";
  EXPECT_FALSE(must(directory.read("3.thunk", content)));
}

}  // namespace
}  // namespace shunt::jit::test
