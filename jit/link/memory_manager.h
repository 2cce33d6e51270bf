// Gives JITLink one block of a slab for all that an object holds: code, constants and unwind tables side by side.
//
// Made for one link, used by its thread. The block belongs to who takes it after the link; a failed link frees it.
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

  const CodeBlock& block() const { return block_; }
  CodeSlabs& slabs() { return slabs_; }

 private:
  class InFlight;
  llvm::Error place(llvm::jitlink::LinkGraph& graph);

  CodeSlabs& slabs_;
  CodeBlock block_;
};

}  // namespace shunt::jit
