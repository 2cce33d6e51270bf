#include "jit/link/code_slab.h"

#include "jit/link/slab_views.h"

#include <shunt/core/environment.h>
#include <shunt/core/log.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

extern "C" int __gxx_personality_v0(...);

namespace shunt::jit {
namespace {

size_t rounded(size_t size) {
  return (size + CodeSlabs::kAlignment - 1) / CodeSlabs::kAlignment * CodeSlabs::kAlignment;
}

// Memory with its two views. The first kAlignment bytes hold the personality pointer.
struct Slab {
  std::byte* code = nullptr;
  std::byte* memory = nullptr;      // null once nobody writes the slab any more
  bool shared = false;              // with another process, since a fork: takes no new blocks
  std::map<size_t, size_t> free;    // offset -> size; no two of them touch
  std::map<size_t, size_t> blocks;  // offset -> size
  std::set<size_t> unwritten;       // offsets of blocks that are still being written
  size_t live = 0;
  size_t top = 0;  // the highest end of a block so far

  llvm::Error map();
  void unmap();
  bool writable() const { return !shared; }
  // What counts against the limit: of a slab that is never written again, all that was ever written.
  size_t used() const { return writable() ? live : top; }
  // The offset, or 0 where no free piece is large enough.
  size_t take(size_t size);
  void giveBack(size_t offset);
  void written(size_t offset);
  /// After a fork.
  void share(bool in_child);

 private:
  void unmapMemory();
};

llvm::Error Slab::map() {
  auto views = mapSlab(CodeSlabs::kSlabBytes);
  if (!views) return views.takeError();
  code = views->code;
  memory = views->memory;
  const auto personality = reinterpret_cast<uint64_t>(&__gxx_personality_v0);
  std::memcpy(memory, &personality, sizeof personality);
  free.emplace(CodeSlabs::kAlignment, CodeSlabs::kSlabBytes - CodeSlabs::kAlignment);
  return llvm::Error::success();
}

void Slab::unmap() { unmapSlab({code, memory}, CodeSlabs::kSlabBytes); }

size_t Slab::take(size_t size) {
  for (auto piece = free.begin(); piece != free.end(); ++piece) {
    const auto [offset, available] = *piece;
    if (available < size) continue;
    // What can fail comes first, and nothing is left of it.
    const auto mark = unwritten.insert(offset).first;
    try {
      if (available > size) free.emplace(offset + size, available - size);
    } catch (...) {
      unwritten.erase(mark);
      throw;
    }
    auto block = free.extract(piece);
    block.mapped() = size;
    blocks.insert(std::move(block));
    live += size;
    top = std::max(top, offset + size);
    return offset;
  }
  return 0;
}

// Allocates nothing: the block's own node becomes a free piece's.
void Slab::giveBack(size_t offset) {
  auto block = blocks.extract(offset);
  size_t& size = block.mapped();
  live -= size;
  written(offset);
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
  free.insert(std::move(block));
}

void Slab::written(size_t offset) {
  unwritten.erase(offset);
  if (shared && unwritten.empty()) unmapMemory();
}

void Slab::share(bool in_child) {
  shared = true;
  if (in_child) {
    memory = nullptr;  // this view did not come along, nor did those who were writing
    while (!unwritten.empty()) giveBack(*unwritten.begin());
  } else if (unwritten.empty()) {
    unmapMemory();
  }
}

void Slab::unmapMemory() {
  if (memory != nullptr) munmap(memory, CodeSlabs::kSlabBytes);
  memory = nullptr;
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
      slab->second.share(in_child);
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
  static CodeSlabs& slabs = *new CodeSlabs(
      static_cast<size_t>(shunt::detail::environment::number<shunt::detail::environment::Variable::kJitMaxCode>()));
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

void CodeSlabs::written(uint64_t address) {
  std::lock_guard lock(state_->mutex);
  const auto found = std::prev(state_->slabs.upper_bound(address));
  found->second.written(address - found->first);
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
