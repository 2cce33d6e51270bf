// Memory for compiled code: slabs mapped twice, once to run and once to write, never both at one address.
//
// A slab is an anonymous file of kSlabBytes with an executable, read-only view and a writable view; two mappings a
// slab, however many blocks it holds. Blocks are freed in any order and join their free neighbours. One mutex; any
// thread.
//
// Note [Slabs and fork]
// The views are shared with a child process. So after a fork neither process writes, nor reuses, a slab that existed
// then: new code goes to a new slab, and the old one is unmapped when its last block is freed. The child never has the
// writable views of older slabs. The prepare handler holds the mutex across the fork. A block that is being written
// then is written to its end, and the view stays until then; the child has nothing that leads to it, so to the child it
// is free. (A link's blocks are never in that state: Note [One session], link_session.h.)
#pragma once

#include <llvm/Support/Error.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace shunt::jit {

struct CodeBlock {
  uint64_t address = 0;         // where it runs
  std::byte* memory = nullptr;  // the same bytes, writable
  size_t size = 0;
  uint64_t personality = 0;  // address of the slab's pointer to __gxx_personality_v0
};

class CodeSlabs {
 public:
  static constexpr size_t kSlabBytes = size_t{16} << 20;
  static constexpr size_t kAlignment = 128;  // of a constant of 16 doubles

  /// `limit`: bytes of code, of all slabs together.
  explicit CodeSlabs(size_t limit);
  ~CodeSlabs();
  CodeSlabs(const CodeSlabs&) = delete;
  CodeSlabs& operator=(const CodeSlabs&) = delete;

  /// The process's own, limited by SHUNT_JIT_MAX_CODE; never destroyed. holdLocksAcrossFork() installs their fork
  /// handlers.
  static CodeSlabs& instance();

  /// Fails where the limit is reached or the system gives no executable memory. The block may be written until
  /// `written`.
  llvm::Expected<CodeBlock> allocate(size_t size);
  /// Nobody writes the block any more.
  void written(uint64_t address);
  /// No thread may run, or come to run, code of the block.
  void free(uint64_t address);

  struct Usage {
    size_t live;      // bytes in blocks
    size_t reserved;  // bytes that count against the limit: live ones, and all that is still kept since before a fork
    size_t slabs;
    size_t limit;
  };
  Usage usage() const;

  void beforeFork();
  void afterForkInParent();
  void afterForkInChild();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shunt::jit
