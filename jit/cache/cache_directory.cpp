#include "jit/cache/cache_directory.h"

#include "jit/cache/cache_file.h"

#include <shunt/core/file_size_signal.h>

#include <llvm/ADT/StringExtras.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

namespace shunt::jit {
namespace {

constexpr int64_t kDay = 24 * 60 * 60;
constexpr int64_t kHour = 60 * 60;
constexpr int kMostNames = 100;

llvm::Error systemError(const std::string& what) { return llvm::createStringError(what + ": " + std::strerror(errno)); }

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// Why somebody else may have written it; "" if nobody can have.
std::string distrust(const struct stat& s) {
  if (s.st_uid != geteuid()) return "it belongs to another user";
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it";
  return "";
}

void makePath(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    mkdir(path.substr(0, at).c_str(), 0700);
  mkdir(path.c_str(), 0700);
}

/// For a file being written. Process numbers come again, also in other containers, and what a killed process left over
/// keeps its name: so the number, which is there for people, is not enough.
std::string unfinishedName() {
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof random))
    random = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return CacheDirectory::kUnfinished.str() + std::to_string(getpid()) + "-" + llvm::utohexstr(random);
}

bool writeAll(int file, llvm::StringRef content) {
  const detail::NoFileSizeSignal guard;
  while (!content.empty()) {
    const ssize_t n = ::write(file, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content = content.drop_front(static_cast<size_t>(n));
  }
  return true;
}

bool readAll(int file, std::string& content) {
  size_t at = 0;
  while (at < content.size()) {
    const ssize_t n = ::read(file, content.data() + at, content.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

CacheDirectory& CacheDirectory::operator=(CacheDirectory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

CacheDirectory::~CacheDirectory() {
  if (descriptor_ >= 0) close(descriptor_);
}

llvm::Expected<CacheDirectory> CacheDirectory::open(const std::string& path, bool create) {
  const auto tryToOpen = [&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); };
  int number = tryToOpen();
  if (number < 0 && errno == ENOENT && create) {
    makePath(path);
    number = tryToOpen();
  }
  Descriptor directory(number);
  struct stat s;
  if (directory.get() < 0 && lstat(path.c_str(), &s) == 0 && S_ISLNK(s.st_mode))
    return llvm::createStringError("it is a symbolic link");
  if (directory.get() < 0 || fstat(directory.get(), &s) != 0) return systemError("can't open it");
  if (const std::string why = distrust(s); !why.empty()) return llvm::createStringError(why);
  return CacheDirectory(directory.release());
}

llvm::Expected<bool> CacheDirectory::read(const std::string& name, std::string& content) const {
  const Descriptor file(openat(descriptor_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT) return false;
  if (file.get() < 0)
    return errno == ELOOP ? llvm::createStringError("it is a symbolic link") : systemError("can't open it");
  struct stat s;
  if (fstat(file.get(), &s) != 0) return systemError("fstat");
  if (!S_ISREG(s.st_mode)) return llvm::createStringError("it is no file");
  if (const std::string why = distrust(s); !why.empty()) return llvm::createStringError(why);
  if (static_cast<uint64_t>(s.st_size) > kMostCachedBytes) return llvm::createStringError("it is too large");
  content.resize(static_cast<size_t>(s.st_size));
  if (!readAll(file.get(), content)) return llvm::createStringError("it can't be read");
  if (s.st_mtime + kDay < time(nullptr)) futimens(file.get(), nullptr);
  return true;
}

llvm::Error CacheDirectory::write(const std::string& name, llvm::StringRef content) const {
  std::string unfinished;
  int number = -1;
  for (int names = 0; number < 0 && names < kMostNames; ++names) {
    unfinished = unfinishedName();
    number = openat(descriptor_, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (number < 0 && errno != EEXIST) break;
  }
  const Descriptor file(number);
  if (file.get() < 0) return systemError("can't make a file");
  if (writeAll(file.get(), content) && renameat(descriptor_, unfinished.c_str(), descriptor_, name.c_str()) == 0)
    return llvm::Error::success();
  llvm::Error error = systemError("can't write a file");
  unlinkat(descriptor_, unfinished.c_str(), 0);
  return error;
}

void CacheDirectory::remove(const std::string& name) const { unlinkat(descriptor_, name.c_str(), 0); }

std::vector<CacheDirectory::File> CacheDirectory::files() const {
  std::vector<File> out;
  const int copy = openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return out;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fdopendir(copy), &closedir);
  if (directory == nullptr) {
    close(copy);
    return out;
  }
  while (const dirent* entry = readdir(directory.get())) {
    struct stat s;
    if (fstatat(descriptor_, entry->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) continue;
    out.push_back({entry->d_name, static_cast<uint64_t>(s.st_size), s.st_mtime});
  }
  std::sort(out.begin(), out.end(), [](const File& a, const File& b) { return a.name < b.name; });
  return out;
}

void CacheDirectory::trim(uint64_t most) const {
  std::vector<File> all = files();
  std::sort(all.begin(), all.end(), [](const File& a, const File& b) { return a.used < b.used; });
  uint64_t bytes = 0;
  for (const File& f : all) bytes += f.bytes;
  for (const File& f : all) {
    const bool left_over = llvm::StringRef(f.name).starts_with(kUnfinished) && f.used + kHour < time(nullptr);
    const bool ours = llvm::StringRef(f.name).ends_with(kCacheSuffix);
    if (!left_over && !(ours && bytes > most)) continue;
    remove(f.name);
    bytes -= f.bytes;
  }
}

}  // namespace shunt::jit
