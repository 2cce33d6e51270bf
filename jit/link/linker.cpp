#include "jit/link/linker.h"

#include "jit/host/host_symbols.h"
#include "jit/host/literals.h"
#include "jit/link/memory_manager.h"
#include "jit/link/unwind.h"

#include <llvm/ExecutionEngine/JITLink/EHFrameSupport.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>

namespace shunt::jit {

namespace jl = llvm::jitlink;

namespace {

// Each object would define it weakly, inside code that is freed. The slab has the one that stays.
constexpr llvm::StringLiteral kPersonalityPointer = "DW.ref.__gxx_personality_v0";

llvm::Error takePersonalityFromSlab(jl::LinkGraph& graph) {
  for (jl::Symbol* symbol : graph.defined_symbols()) {
    if (!symbol->hasName() || symbol->getName() != kPersonalityPointer) continue;
    symbol->setLinkage(jl::Linkage::Strong);
    symbol->setScope(jl::Scope::Default);
    graph.makeExternal(*symbol);
    break;
  }
  return llvm::Error::success();
}

}  // namespace

// What a link leaves behind, outside the context that JITLink owns and destroys.
class Link {
 public:
  Link(SymbolResolver resolve, CodeSlabs& slabs, SectionAddresses* sections)
      : resolve_(resolve), memory_(slabs), sections_(sections) {}
  llvm::Expected<LinkedCode> run(llvm::MemoryBufferRef object);
  /// Whether exceptions find their way through the code that run() returned. It is not to be run otherwise.
  bool hasUnwindTables() const { return has_unwind_tables_; }

 private:
  class Context;
  std::optional<uint64_t> resolve(llvm::StringRef name) const {
    if (name == kPersonalityPointer) return memory_.block().personality;
    return name.starts_with(literals::kPrefix) ? literals::address(name) : resolve_(name);
  }
  LinkedCode take();

  SymbolResolver resolve_;
  SlabMemoryManager memory_;
  SectionAddresses* sections_;
  llvm::Error error_ = llvm::Error::success();
  bool finished_ = false;
  bool has_unwind_tables_ = false;
  uint64_t frames_ = 0;
  llvm::SmallVector<LinkedCode::Function, 1> functions_;
};

class Link::Context final : public jl::JITLinkContext {
 public:
  explicit Context(Link& link) : JITLinkContext(nullptr), link_(link) {}

  jl::JITLinkMemoryManager& getMemoryManager() override { return link_.memory_; }

  void notifyFailed(llvm::Error error) override {
    link_.error_ = llvm::joinErrors(std::move(link_.error_), std::move(error));
  }

  void lookup(const LookupMap& symbols, std::unique_ptr<jl::JITLinkAsyncLookupContinuation> then) override {
    jl::AsyncLookupResult result;
    std::string missing;
    for (const auto& [name, flags] : symbols) {
      if (const std::optional<uint64_t> address = link_.resolve(name)) {
        result[name] = {llvm::orc::ExecutorAddr(*address), llvm::JITSymbolFlags::Exported};
      } else {
        missing += (missing.empty() ? "" : ", ") + name.str();
      }
    }
    if (missing.empty()) return then->run(std::move(result));
    then->run(llvm::createStringError("the host has no symbol %s", missing.c_str()));
  }

  llvm::Error notifyResolved(jl::LinkGraph& graph) override {
    for (const jl::Symbol* symbol : graph.defined_symbols()) {
      if (!symbol->isCallable() || !symbol->hasName()) continue;
      link_.functions_.push_back({symbol->getName().str(), symbol->getAddress().getValue(), symbol->getSize()});
    }
    if (link_.sections_ == nullptr) return llvm::Error::success();
    for (const jl::Section& section : graph.sections())
      if (const jl::SectionRange range(section); !range.empty())
        link_.sections_->emplace_back(section.getName().str(), range.getStart().getValue());
    return llvm::Error::success();
  }

  void notifyFinalized(jl::JITLinkMemoryManager::FinalizedAlloc block) override {
    block.release();  // the LinkedCode frees it
    link_.finished_ = true;
  }

  llvm::Error modifyPassConfig(jl::LinkGraph& graph, jl::PassConfiguration& passes) override {
    passes.PrePrunePasses.insert(passes.PrePrunePasses.begin(), takePersonalityFromSlab);
    passes.PostFixupPasses.push_back(jl::createEHFrameRecorderPass(
        graph.getTargetTriple(),
        [this](llvm::orc::ExecutorAddr address, size_t size) { link_.frames_ = size ? address.getValue() : 0; }));
    return llvm::Error::success();
  }

 private:
  Link& link_;
};

LinkedCode Link::take() {
  LinkedCode code;
  code.slabs_ = &memory_.slabs();
  code.address_ = memory_.block().address;
  code.bytes_ = memory_.block().size;
  code.functions_ = std::move(functions_);
  has_unwind_tables_ = frames_ == 0 || unwind::add(frames_);
  if (has_unwind_tables_) code.frames_ = frames_;
  return code;
}

llvm::Expected<LinkedCode> Link::run(llvm::MemoryBufferRef object) {
  auto graph = jl::createLinkGraphFromObject(object);
  if (!graph) {
    llvm::consumeError(std::move(error_));
    return graph.takeError();
  }
  jl::link(std::move(*graph), std::make_unique<Context>(*this));  // returns when all is done: nothing here waits
  if (error_) return std::move(error_);
  if (!finished_) return llvm::createStringError("JITLink did not finish");
  return take();
}

LinkedCode::~LinkedCode() {
  if (address_ == 0) return;
  if (frames_ != 0) unwind::remove(frames_);
  slabs_->free(address_);
}

void LinkedCode::swap(LinkedCode& other) noexcept {
  std::swap(slabs_, other.slabs_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(frames_, other.frames_);
  std::swap(functions_, other.functions_);
}

uint64_t LinkedCode::address(llvm::StringRef name) const {
  for (const Function& function : functions_) {
    if (function.name == name) return function.address;
  }
  return 0;
}

llvm::Expected<LinkedCode> link(std::unique_ptr<llvm::MemoryBuffer> object, SymbolResolver resolve, CodeSlabs& slabs,
                                SectionAddresses* sections) {
  // Where the unwinder doesn't find the code's tables it goes to another place, and the memory is kept meanwhile: see
  // Note [Stale separators].
  constexpr int kPlaces = 32;
  llvm::SmallVector<LinkedCode, 0> not_found;
  while (not_found.size() < kPlaces) {
    if (sections != nullptr) sections->clear();
    Link attempt(resolve, slabs, sections);
    llvm::Expected<LinkedCode> code = attempt.run(object->getMemBufferRef());
    if (!code || attempt.hasUnwindTables()) return code;
    not_found.push_back(std::move(*code));
  }
  return llvm::createStringError("the unwinder does not find the tables of compiled code");
}

llvm::Expected<LinkedCode> link(std::unique_ptr<llvm::MemoryBuffer> object, SectionAddresses* sections) {
  const HostSymbols& host = HostSymbols::instance();
  return link(
      std::move(object), [&host](llvm::StringRef name) { return host.address(std::string_view(name)); },
      CodeSlabs::instance(), sections);
}

}  // namespace shunt::jit
