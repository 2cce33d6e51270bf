#include "jit/link/link_session.h"

#include "jit/host/fatal_errors.h"
#include "jit/link/memory_manager.h"
#include "jit/link/unwind.h"

#include <llvm/ExecutionEngine/JITLink/EHFrameSupport.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <optional>

namespace shunt::jit {

namespace jl = llvm::jitlink;
namespace orc = llvm::orc;

namespace {

constexpr llvm::StringLiteral kHandlePrefix = "code.";

/// Leaves ORC one symbol to ask for, at the beginning of some function.
llvm::Error makeHandle(jl::LinkGraph& graph, llvm::StringRef name) {
  jl::Symbol* function = nullptr;
  for (jl::Symbol* symbol : graph.defined_symbols()) {
    symbol->setLinkage(jl::Linkage::Strong);
    symbol->setScope(jl::Scope::Local);
    if (symbol->isCallable() && symbol->hasName()) function = symbol;
  }
  if (function == nullptr) return llvm::createStringError("the object has no function");
  const auto kept = graph.allocateContent(llvm::Twine(name));
  graph.addDefinedSymbol(function->getBlock(), function->getOffset(), {kept.data(), kept.size()}, 0,
                         jl::Linkage::Strong, jl::Scope::Default, /*IsCallable=*/true, /*IsLive=*/true);
  return llvm::Error::success();
}

void addFunctions(const jl::LinkGraph& graph, llvm::SmallVectorImpl<LinkedFunction>& out) {
  for (const jl::Symbol* symbol : graph.defined_symbols())
    if (symbol->isCallable() && symbol->hasName() && symbol->getScope() == jl::Scope::Local)
      out.push_back({symbol->getName().str(), symbol->getAddress().getValue(), symbol->getSize()});
}

void addSections(const jl::LinkGraph& graph, SectionAddresses& out) {
  for (const jl::Section& section : graph.sections())
    if (const jl::SectionRange range(section); !range.empty())
      out.emplace_back(section.getName().str(), range.getStart().getValue());
}

}  // namespace

char FatalLinkError::ID = 0;

// One ExecutionSession. Under the LinkSession's lock; never destroyed.
class LinkSession::Orc {
 public:
  Orc();
  llvm::Expected<Code> link(std::unique_ptr<jl::LinkGraph> graph, SectionAddresses* sections);
  void remove(orc::ResourceTracker* tracker);
  SlabMemoryManager& memory() { return memory_; }

 private:
  class Passes;
  llvm::Error materialise(orc::ResourceTracker* tracker, std::unique_ptr<jl::LinkGraph> graph);
  llvm::Error whenPlaced(jl::LinkGraph& graph);

  // A name stays in ORC's pool when its code is gone, until the pool is cleared.
  static constexpr uint64_t kLinksPerClearing = 256;

  SlabMemoryManager memory_{CodeSlabs::instance()};
  orc::ExecutionSession session_{std::make_unique<orc::UnsupportedExecutorProcessControl>()};
  orc::ObjectLinkingLayer layer_{session_, memory_};
  orc::JITDylib& dylib_ = session_.createBareJITDylib("shunt");
  uint64_t links_ = 0;
  // What the link under way fills.
  Code* code_ = nullptr;
  SectionAddresses* sections_ = nullptr;
  std::string problem_;
};

class LinkSession::Orc::Passes final : public orc::ObjectLinkingLayer::Plugin {
 public:
  explicit Passes(Orc& orc) : orc_(orc) {}

  void modifyPassConfig(orc::MaterializationResponsibility&, jl::LinkGraph& graph,
                        jl::PassConfiguration& passes) override {
    passes.PrePrunePasses.push_back(jl::markAllSymbolsLive);
    passes.PostAllocationPasses.push_back([this](jl::LinkGraph& placed) { return orc_.whenPlaced(placed); });
    passes.PostFixupPasses.push_back(jl::createEHFrameRecorderPass(
        graph.getTargetTriple(),
        [this](orc::ExecutorAddr address, size_t size) { orc_.code_->frames = size != 0 ? address.getValue() : 0; }));
  }
  llvm::Error notifyFailed(orc::MaterializationResponsibility&) override { return llvm::Error::success(); }
  llvm::Error notifyRemovingResources(orc::JITDylib&, orc::ResourceKey) override { return llvm::Error::success(); }
  void notifyTransferringResources(orc::JITDylib&, orc::ResourceKey, orc::ResourceKey) override {}

 private:
  Orc& orc_;
};

LinkSession::Orc::Orc() {
  session_.setErrorReporter(
      [this](llvm::Error error) { problem_ += (problem_.empty() ? "" : "; ") + llvm::toString(std::move(error)); });
  layer_.addPlugin(std::make_shared<Passes>(*this));
}

llvm::Error LinkSession::Orc::whenPlaced(jl::LinkGraph& graph) {
  code_->block = memory_.block();
  llvm::SmallVector<jl::Symbol*, 1> outside(graph.external_symbols());
  for (jl::Symbol* symbol : outside) {
    if (symbol->getName() != kPersonalityPointer)
      return llvm::createStringError("nothing is known of the symbol %s", symbol->getName().str().c_str());
    graph.makeAbsolute(*symbol, orc::ExecutorAddr(code_->block.personality));
  }
  addFunctions(graph, code_->functions);
  if (sections_ != nullptr) addSections(graph, *sections_);
  return llvm::Error::success();
}

// The look-up links, in this thread, and returns when all is done.
llvm::Error LinkSession::Orc::materialise(orc::ResourceTracker* tracker, std::unique_ptr<jl::LinkGraph> graph) {
  const std::string name = kHandlePrefix.str() + std::to_string(links_);
  if (++links_ % kLinksPerClearing == 0) session_.getSymbolStringPool()->clearDeadEntries();
  if (llvm::Error error = makeHandle(*graph, name)) return error;
  if (llvm::Error error = layer_.add(tracker, std::move(graph))) return error;
  auto found = session_.lookup(llvm::ArrayRef<orc::JITDylib*>(&dylib_), session_.intern(name));
  if (found) return llvm::Error::success();
  if (problem_.empty()) return found.takeError();
  llvm::consumeError(found.takeError());  // says no more than that it failed
  return llvm::createStringError(problem_);
}

llvm::Expected<LinkSession::Code> LinkSession::Orc::link(std::unique_ptr<jl::LinkGraph> graph,
                                                         SectionAddresses* sections) {
  Code code;
  code.orc = this;
  code_ = &code;
  sections_ = sections;
  problem_.clear();
  // Not given back where an exception leaves: the last reference would call ORC again.
  orc::ResourceTrackerSP made = dylib_.createResourceTracker();
  code.tracker = made.get();
  made.resetWithoutRelease();
  llvm::Error error = materialise(code.tracker, std::move(graph));
  code_ = nullptr;
  sections_ = nullptr;
  if (error) {
    remove(code.tracker);
    return std::move(error);
  }
  memory_.finish();
  return code;
}

void LinkSession::Orc::remove(orc::ResourceTracker* tracker) {
  llvm::consumeError(tracker->remove());
  tracker->Release();
}

LinkSession& LinkSession::instance() {
  static LinkSession& session = *new LinkSession;
  return session;
}

void LinkSession::giveUpLocked() {
  if (orc_ != nullptr) orc_->memory().dropUnfinished();
  orc_ = nullptr;
  ++given_up_;
}

llvm::Expected<LinkSession::Code> LinkSession::link(std::unique_ptr<jl::LinkGraph> graph, SectionAddresses* sections) {
  std::lock_guard lock(mutex_);
  std::optional<llvm::Expected<Code>> code;
  std::string fatal;
  try {
    fatal = stoppingFatalErrors([&] {
      if (orc_ == nullptr) orc_ = new Orc;
      code.emplace(orc_->link(std::move(graph), sections));
    });
  } catch (...) {
    giveUpLocked();
    throw;
  }
  if (fatal.empty()) return std::move(*code);
  giveUpLocked();
  return llvm::make_error<FatalLinkError>(fatal, llvm::inconvertibleErrorCode());
}

void LinkSession::remove(const Code& code) noexcept {
  std::lock_guard lock(mutex_);
  bool freed = false;
  if (code.orc == orc_) {
    orc_->memory().forgetFreed();
    bool whole = false;
    try {
      whole = stoppingFatalErrors([&] { orc_->remove(code.tracker); }).empty();
    } catch (...) {  // no memory
    }
    freed = orc_->memory().freed() == code.block.address;
    if (!whole) giveUpLocked();
  }
  if (!freed) CodeSlabs::instance().free(code.block.address);
}

size_t LinkSession::givenUp() {
  std::lock_guard lock(mutex_);
  return given_up_;
}

}  // namespace shunt::jit
