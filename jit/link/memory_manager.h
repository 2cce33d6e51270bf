// Gives JITLink one block of a slab for all that an object holds: code, constants and unwind tables side by side.
//
// One link at a time, which its owner sees to. A failed link's block is freed, a finished one's by deallocate().
#pragma once

#include "jit/link/code_slab.h"

#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>

namespace shunt::jit {

class SlabMemoryManager final : public llvm::jitlink::JITLinkMemoryManager {
 public:
  explicit SlabMemoryManager(CodeSlabs& slabs) : slabs_(slabs) {}

  void allocate(const llvm::jitlink::JITLinkDylib* dylib, llvm::jitlink::LinkGraph& graph,
                OnAllocatedFunction done) override;
  void deallocate(std::vector<FinalizedAlloc> blocks, OnDeallocatedFunction done) override;

  /// Of the link that is under way.
  const CodeBlock& block() const { return block_; }
  /// The link is done: its block is ORC's, which calls deallocate().
  void finish() { block_ = {}; }
  /// The link was broken off.
  void dropUnfinished();

  /// The block that deallocate() freed last since forgetFreed(); 0 for none.
  uint64_t freed() const { return freed_; }
  void forgetFreed() { freed_ = 0; }

 private:
  class InFlight;
  llvm::Error place(llvm::jitlink::LinkGraph& graph);

  CodeSlabs& slabs_;
  CodeBlock block_;  // its address is 0 when no link is under way
  uint64_t freed_ = 0;
};

}  // namespace shunt::jit
