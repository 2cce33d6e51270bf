#include "jit/link/memory_manager.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace shunt::jit {

namespace jl = llvm::jitlink;

// The views are shared and coherent, so there is nothing to copy, and no protection to change.
class SlabMemoryManager::InFlight final : public jl::JITLinkMemoryManager::InFlightAlloc {
 public:
  explicit InFlight(SlabMemoryManager& owner) : owner_(owner) {}
  void abandon(OnAbandonedFunction done) override {
    owner_.dropUnfinished();
    done(llvm::Error::success());
  }
  void finalize(OnFinalizedFunction done) override {
    owner_.slabs_.written(owner_.block_.address);
    done(FinalizedAlloc(llvm::orc::ExecutorAddr(owner_.block_.address)));
  }

 private:
  SlabMemoryManager& owner_;
};

llvm::Error SlabMemoryManager::place(jl::LinkGraph& graph) {
  jl::BasicLayout layout(graph);
  size_t size = 0;
  for (auto& [group, segment] : layout.segments()) {
    if (segment.Alignment.value() > CodeSlabs::kAlignment) {
      return llvm::createStringError("the object asks for an alignment of %zu bytes",
                                     static_cast<size_t>(segment.Alignment.value()));
    }
    size = llvm::alignTo(size, segment.Alignment) + segment.ContentSize + segment.ZeroFillSize;
  }
  llvm::Expected<CodeBlock> block = slabs_.allocate(std::max<size_t>(size, 1));
  if (!block) return block.takeError();
  block_ = *block;
  size_t offset = 0;
  for (auto& [group, segment] : layout.segments()) {
    offset = llvm::alignTo(offset, segment.Alignment);
    segment.Addr = llvm::orc::ExecutorAddr(block_.address + offset);
    segment.WorkingMem = reinterpret_cast<char*>(block_.memory + offset);
    std::memset(segment.WorkingMem + segment.ContentSize, 0, segment.ZeroFillSize);
    offset += segment.ContentSize + segment.ZeroFillSize;
  }
  return layout.apply();
}

void SlabMemoryManager::allocate(const jl::JITLinkDylib*, jl::LinkGraph& graph, OnAllocatedFunction done) {
  if (llvm::Error error = place(graph)) {
    dropUnfinished();
    return done(std::move(error));
  }
  done(std::make_unique<InFlight>(*this));
}

void SlabMemoryManager::dropUnfinished() {
  if (const uint64_t address = std::exchange(block_, {}).address) slabs_.free(address);
}

void SlabMemoryManager::deallocate(std::vector<FinalizedAlloc> blocks, OnDeallocatedFunction done) {
  for (FinalizedAlloc& block : blocks) {
    freed_ = block.release().getValue();
    slabs_.free(freed_);
    if (block_.address == freed_) block_ = {};
  }
  done(llvm::Error::success());
}

}  // namespace shunt::jit
