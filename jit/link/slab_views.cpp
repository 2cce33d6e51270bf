#include "jit/link/slab_views.h"

#include "jit/host/debug_switches.h"

#include <shunt/core/file_size_signal.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace shunt::jit {
namespace {

constexpr unsigned kMemfdExec = 0x10;  // MFD_EXEC, Linux 6.3; older kernels refuse it and need none

llvm::Error systemError(const char* what) {
  return llvm::createStringError("no memory for compiled code: %s: %s", what, std::strerror(errno));
}

std::byte* viewOf(void* address) { return address != MAP_FAILED ? static_cast<std::byte*>(address) : nullptr; }

llvm::Error mapFile(SlabViews& views, size_t bytes) {
  int file = memfd_create("shunt-jit", MFD_CLOEXEC | kMemfdExec);
  if (file < 0 && errno == EINVAL) file = memfd_create("shunt-jit", MFD_CLOEXEC);
  if (file < 0) return systemError("memfd_create");
  const auto resize = [&] {
    const detail::NoFileSizeSignal guard;  // the limit counts for memory files too
    return ftruncate(file, static_cast<off_t>(bytes)) == 0;
  };
  const bool sized = resize();
  if (sized) views.code = viewOf(mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0));
  if (views.code != nullptr) views.memory = viewOf(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  const int error = errno;
  close(file);
  errno = error;
  if (views.memory == nullptr) return systemError(sized ? "mmap" : "ftruncate");
  return llvm::Error::success();
}

/// perf looks into its map of names for memory without a file only, and takes a memfd for one. Shared memory without a
/// file gets its second view from mremap with an old size of 0.
llvm::Error mapWithoutFile(SlabViews& views, size_t bytes) {
  views.memory = viewOf(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (views.memory == nullptr) return systemError("mmap");
  views.code = viewOf(mremap(views.memory, 0, bytes, MREMAP_MAYMOVE));
  if (views.code == nullptr) return systemError("mremap");
  if (mprotect(views.code, bytes, PROT_READ | PROT_EXEC) != 0) return systemError("mprotect");
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<SlabViews> mapSlab(size_t bytes) {
  SlabViews views;
  llvm::Error error = perfWanted() ? mapWithoutFile(views, bytes) : mapFile(views, bytes);
  if (!error && madvise(views.memory, bytes, MADV_DONTFORK) != 0) error = systemError("madvise");
  if (!error) return views;
  unmapSlab(views, bytes);
  return std::move(error);
}

void unmapSlab(const SlabViews& views, size_t bytes) {
  if (views.code != nullptr) munmap(views.code, bytes);
  if (views.memory != nullptr) munmap(views.memory, bytes);
}

}  // namespace shunt::jit
