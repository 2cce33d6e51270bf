#include "src/base/input_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace shunt::detail {
namespace {

constexpr size_t kMostAtOnce = size_t{1} << 30;  // Linux reads at most 2 GiB in one call

const char* kindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

// Without the reserve a file larger than memory could be refused, though pages are copied only where they are written.
PrivateMapping::PrivateMapping(const AboutFile& about, int descriptor, uint64_t size) : size_(size) {
  void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
  if (at == MAP_FAILED) about.failWith(errno, "can't be mapped");
  data_ = static_cast<std::byte*>(at);
}

PrivateMapping::~PrivateMapping() { munmap(data_, size_); }

// O_NONBLOCK: a pipe without a writer is opened, and refused, at once.
InputFile::InputFile(AboutFile about)
    : about_(std::move(about)), file_(open(about_.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (about_.path.find('\0') != std::string::npos) about_.fail("a path has no zero bytes");
  struct stat status;
  if (!file_.valid() || fstat(file_.get(), &status) != 0) about_.failWith(errno, "can't be opened");
  if (!S_ISREG(status.st_mode)) about_.fail("is ", kindOf(status.st_mode), ": expected a regular file");
  size_ = static_cast<uint64_t>(status.st_size);
}

void InputFile::read(uint64_t at, void* to, size_t n) const {
  auto* out = static_cast<std::byte*>(to);
  while (n != 0) {
    const ssize_t got = pread(file_.get(), out, std::min(n, kMostAtOnce), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) about_.failWith(errno, "can't be read");
    if (got == 0) about_.fail("was cut off while it was read: it had ", size_, " bytes, and ends at byte ", at, " now");
    out += got;
    at += static_cast<uint64_t>(got);
    n -= static_cast<size_t>(got);
  }
}

std::shared_ptr<const PrivateMapping> InputFile::map() const {
  return size_ == 0 ? nullptr : std::make_shared<const PrivateMapping>(about_, file_.get(), size_);
}

}  // namespace shunt::detail
