#include "jit/link/code_slab.h"

#include <shunt/core/environment.h>
#include <shunt/core/log.h>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

extern "C" int __gxx_personality_v0(...);

namespace shunt::jit {
namespace {

constexpr int64_t kDefaultLimit = int64_t{256} << 20;
constexpr unsigned kMemfdExec = 0x10;  // MFD_EXEC, Linux 6.3; older kernels refuse it and need none

size_t rounded(size_t size) { return (size + CodeSlabs::kAlignment - 1) / CodeSlabs::kAlignment * CodeSlabs::kAlignment; }

int openMemory() {
  const int file = memfd_create("shunt-jit", MFD_CLOEXEC | kMemfdExec);
  return file >= 0 || errno != EINVAL ? file : memfd_create("shunt-jit", MFD_CLOEXEC);
}

llvm::Error systemError(const char* what) {
  return llvm::createStringError("no memory for compiled code: %s: %s", what, std::strerror(errno));
}

// One anonymous file with its two views. The first kAlignment bytes hold the personality pointer.
struct Slab {
  std::byte* code = nullptr;
  std::byte* memory = nullptr;      // null once the slab may not be written any more
  std::map<size_t, size_t> free;    // offset -> size; no two of them touch
  std::map<size_t, size_t> blocks;  // offset -> size
  size_t live = 0;
  size_t top = 0;  // the highest end of a block so far

  llvm::Error map();
  void unmap();
  bool writable() const { return memory != nullptr; }
  // What counts against the limit: of a slab that is never written again, all that was ever written.
  size_t used() const { return writable() ? live : top; }
  // The offset, or 0 where no free piece is large enough.
  size_t take(size_t size);
  void giveBack(size_t offset);
};

llvm::Error Slab::map() {
  const int file = openMemory();
  if (file < 0) return systemError("memfd_create");
  void *rx = MAP_FAILED, *rw = MAP_FAILED;
  const bool sized = ftruncate(file, static_cast<off_t>(CodeSlabs::kSlabBytes)) == 0;
  if (sized) rx = mmap(nullptr, CodeSlabs::kSlabBytes, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  if (rx != MAP_FAILED) rw = mmap(nullptr, CodeSlabs::kSlabBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  close(file);
  if (rw == MAP_FAILED || madvise(rw, CodeSlabs::kSlabBytes, MADV_DONTFORK) != 0) {
    if (rx != MAP_FAILED) munmap(rx, CodeSlabs::kSlabBytes);
    if (rw != MAP_FAILED) munmap(rw, CodeSlabs::kSlabBytes);
    errno = error;
    return systemError(sized ? "mmap" : "ftruncate");
  }
  code = static_cast<std::byte*>(rx);
  memory = static_cast<std::byte*>(rw);
  const auto personality = reinterpret_cast<uint64_t>(&__gxx_personality_v0);
  std::memcpy(memory, &personality, sizeof personality);
  free.emplace(CodeSlabs::kAlignment, CodeSlabs::kSlabBytes - CodeSlabs::kAlignment);
  return llvm::Error::success();
}

void Slab::unmap() {
  munmap(code, CodeSlabs::kSlabBytes);
  if (memory != nullptr) munmap(memory, CodeSlabs::kSlabBytes);
}

size_t Slab::take(size_t size) {
  for (auto piece = free.begin(); piece != free.end(); ++piece) {
    const auto [offset, available] = *piece;
    if (available < size) continue;
    free.erase(piece);
    if (available > size) free.emplace(offset + size, available - size);
    blocks.emplace(offset, size);
    live += size;
    top = std::max(top, offset + size);
    return offset;
  }
  return 0;
}

void Slab::giveBack(size_t offset) {
  const auto block = blocks.find(offset);
  size_t size = block->second;
  live -= size;
  blocks.erase(block);
  auto next = free.lower_bound(offset);
  if (next != free.end() && next->first == offset + size) {
    size += next->second;
    next = free.erase(next);
  }
  if (next != free.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free.emplace(offset, size);
}

}  // namespace

struct CodeSlabs::State {
  explicit State(size_t bytes) : limit(bytes) {}
  const size_t limit;
  std::mutex mutex;
  std::map<uint64_t, Slab> slabs;  // by address of the code; guarded by mutex

  size_t reservedLocked() const {
    size_t bytes = 0;
    for (const auto& [address, slab] : slabs) bytes += slab.used();
    return bytes;
  }

  static CodeBlock blockOf(const Slab& slab, size_t offset, size_t size) {
    return {reinterpret_cast<uint64_t>(slab.code) + offset, slab.memory + offset, size,
            reinterpret_cast<uint64_t>(slab.code)};
  }

  // Neither side of a fork writes what both map.
  void retireLocked(bool in_child) {
    for (auto slab = slabs.begin(); slab != slabs.end();) {
      if (!in_child && slab->second.memory != nullptr) munmap(slab->second.memory, kSlabBytes);
      slab->second.memory = nullptr;  // a child never had this view
      if (slab->second.live == 0) {
        slab->second.unmap();
        slab = slabs.erase(slab);
      } else {
        ++slab;
      }
    }
  }
};

CodeSlabs::CodeSlabs(size_t limit) : state_(std::make_unique<State>(limit)) {}

CodeSlabs::~CodeSlabs() {
  for (auto& [address, slab] : state_->slabs) slab.unmap();
}

CodeSlabs& CodeSlabs::instance() {
  static CodeSlabs& slabs = *new CodeSlabs(static_cast<size_t>(
      shunt::detail::numberFromEnvironment("SHUNT_JIT_MAX_CODE", kDefaultLimit, 0, std::numeric_limits<int64_t>::max())));
  static const int installed = pthread_atfork([] { slabs.beforeFork(); }, [] { slabs.afterForkInParent(); },
                                              [] { slabs.afterForkInChild(); });
  (void)installed;
  return slabs;
}

llvm::Expected<CodeBlock> CodeSlabs::allocate(size_t size) {
  size = rounded(size);
  if (size == 0 || size > kSlabBytes - kAlignment) {
    return llvm::createStringError("compiled code of %zu bytes does not fit a slab", size);
  }
  std::lock_guard lock(state_->mutex);
  if (state_->reservedLocked() + size > state_->limit) {
    return llvm::createStringError("the limit of %zu bytes of compiled code (SHUNT_JIT_MAX_CODE) is reached",
                                   state_->limit);
  }
  for (auto& [address, slab] : state_->slabs) {
    if (!slab.writable()) continue;
    if (const size_t offset = slab.take(size)) return State::blockOf(slab, offset, size);
  }
  Slab slab;
  if (llvm::Error error = slab.map()) return std::move(error);
  const size_t offset = slab.take(size);
  const CodeBlock block = State::blockOf(slab, offset, size);
  state_->slabs.emplace(reinterpret_cast<uint64_t>(slab.code), std::move(slab));
  return block;
}

void CodeSlabs::free(uint64_t address) {
  std::lock_guard lock(state_->mutex);
  const auto found = std::prev(state_->slabs.upper_bound(address));
  Slab& slab = found->second;
  slab.giveBack(address - found->first);
  // An empty slab goes, unless new code would come to it.
  if (slab.live == 0 && (!slab.writable() || state_->slabs.size() > 1)) {
    slab.unmap();
    state_->slabs.erase(found);
  }
}

CodeSlabs::Usage CodeSlabs::usage() const {
  std::lock_guard lock(state_->mutex);
  size_t live = 0;
  for (const auto& [address, slab] : state_->slabs) live += slab.live;
  return {live, state_->reservedLocked(), state_->slabs.size(), state_->limit};
}

void CodeSlabs::beforeFork() { state_->mutex.lock(); }

void CodeSlabs::afterForkInParent() {
  state_->retireLocked(false);
  state_->mutex.unlock();
}

void CodeSlabs::afterForkInChild() {
  state_->retireLocked(true);
  state_->mutex.unlock();
}

}  // namespace shunt::jit
