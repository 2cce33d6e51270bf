#include "src/base/new_file.h"

#include <shunt/core/file_size_signal.h>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace shunt::detail {
namespace {

constexpr size_t kMostAtOnce = size_t{1} << 30;  // Linux writes at most 2 GiB in one call
constexpr size_t kBuffer = size_t{1} << 18;
constexpr int kMostLinks = 40;  // as the kernel follows
constexpr int kMostNames = 100;

/// Where links lead, whether a file is there or not.
std::filesystem::path behindLinks(const AboutFile& about) {
  if (about.path.find('\0') != std::string::npos) about.fail("a path has no zero bytes");
  std::filesystem::path target = about.path;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(target, error)); ++links) {
    if (links == kMostLinks) about.failWith(ELOOP, "can't be written");
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) about.fail("can't be written: ", error.message());
    target = target.parent_path() / next;
  }
  if (!target.has_filename()) about.fail("is the path of a folder: expected that of a file");
  return target;
}

int openFolder(const std::filesystem::path& target) {
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  return open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/// Process numbers come again, also in other containers, and what a killed process left over keeps its name.
std::string unfinishedName() {
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof random))
    random = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return ".shunt-" + std::to_string(getpid()) + "-" + std::to_string(random) + ".tmp";
}

}  // namespace

NewFile::NewFile(AboutFile about)
    : about_(std::move(about)), target_(behindLinks(about_)), folder_(openFolder(target_)), file_(-1) {
  if (!folder_.valid()) about_.failWith(errno, "the folder can't be opened");
  struct stat status;
  if (fstatat(folder_.get(), target_.filename().c_str(), &status, 0) == 0 && !S_ISREG(status.st_mode))
    about_.fail("is not a regular file, so it is not replaced");
  int number = -1;
  for (int names = 0; number < 0 && names < kMostNames; ++names) {
    unfinished_ = unfinishedName();
    number = openat(folder_.get(), unfinished_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (number < 0 && errno != EEXIST) break;
  }
  if (number < 0) {
    const int error = errno;
    unfinished_.clear();
    about_.failWith(error, "can't create a file in its folder");
  }
  file_ = Descriptor(number);
}

NewFile::~NewFile() {
  if (!unfinished_.empty()) unlinkat(folder_.get(), unfinished_.c_str(), 0);
}

void NewFile::write(const void* data, size_t n) {
  if (buffer_.size() + n > kBuffer) flush();
  if (n >= kBuffer)
    writeOut(data, n);
  else
    buffer_.append(static_cast<const char*>(data), n);
  size_ += n;
}

void NewFile::flush() {
  writeOut(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void NewFile::writeOut(const void* data, size_t n) {
  const NoFileSizeSignal guard;  // a limit is an error like a full disk
  const auto* from = static_cast<const std::byte*>(data);
  while (n != 0) {
    const ssize_t put = ::write(file_.get(), from, std::min(n, kMostAtOnce));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) about_.failWith(errno, "can't be written");
    from += put;
    n -= static_cast<size_t>(put);
  }
}

// Without the first fsync a machine that loses power could have the new name and none of the bytes. Some file systems
// have no fsync, of files or of folders.
void NewFile::commit() {
  flush();
  if (fsync(file_.get()) != 0 && errno != EINVAL) about_.failWith(errno, "can't be written");
  if (file_.close() != 0) about_.failWith(errno, "can't be written");
  if (renameat(folder_.get(), unfinished_.c_str(), folder_.get(), target_.filename().c_str()) != 0)
    about_.failWith(errno, "can't be put in place");
  unfinished_.clear();
  const Descriptor folder(openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) fsync(folder.get());
}

}  // namespace shunt::detail
