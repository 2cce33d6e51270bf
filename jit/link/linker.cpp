#include "jit/link/linker.h"

#include "jit/host/host_symbols.h"
#include "jit/host/literals.h"
#include "jit/link/unwind.h"

namespace shunt::jit {

namespace jl = llvm::jitlink;

namespace {

// Each object would define it weakly, inside code that is freed. The slab has the one that stays.
void takePersonalityFromSlab(jl::LinkGraph& graph) {
  for (jl::Symbol* symbol : graph.defined_symbols()) {
    if (!symbol->hasName() || symbol->getName() != kPersonalityPointer) continue;
    symbol->setLinkage(jl::Linkage::Strong);
    symbol->setScope(jl::Scope::Default);
    graph.makeExternal(*symbol);
    break;
  }
}

llvm::Error bindSymbols(jl::LinkGraph& graph, SymbolResolver resolve) {
  std::string missing;
  llvm::SmallVector<jl::Symbol*> outside(graph.external_symbols());
  for (jl::Symbol* symbol : outside) {
    const llvm::StringRef name = symbol->getName();
    if (name == kPersonalityPointer) continue;  // known when the object has its place
    if (const auto address = name.starts_with(literals::kPrefix) ? literals::address(name) : resolve(name))
      graph.makeAbsolute(*symbol, llvm::orc::ExecutorAddr(*address));
    else
      missing += (missing.empty() ? "" : ", ") + name.str();
  }
  if (missing.empty()) return llvm::Error::success();
  return llvm::createStringError("the host has no symbol %s", missing.c_str());
}

}  // namespace

class Link {
 public:
  /// Once. Exceptions find their way through the code if `has_unwind_tables`; it is not to be run otherwise.
  static llvm::Expected<LinkedCode> attempt(llvm::MemoryBufferRef object, SymbolResolver resolve,
                                            SectionAddresses* sections, bool& has_unwind_tables) {
    auto graph = jl::createLinkGraphFromObject(object);
    if (!graph) return graph.takeError();
    takePersonalityFromSlab(**graph);
    if (llvm::Error error = bindSymbols(**graph, resolve)) return std::move(error);
    auto placed = LinkSession::instance().link(std::move(*graph), sections);
    if (!placed) return placed.takeError();
    const uint64_t frames = std::exchange(placed->frames, 0);
    LinkedCode code(std::move(*placed));
    has_unwind_tables = frames == 0 || unwind::add(frames);
    if (has_unwind_tables) code.code_.frames = frames;
    return code;
  }
};

LinkedCode::~LinkedCode() {
  if (!*this) return;
  if (code_.frames != 0) unwind::remove(code_.frames);
  LinkSession::instance().remove(code_);
}

uint64_t LinkedCode::address(llvm::StringRef name) const {
  for (const Function& function : functions()) {
    if (function.name == name) return function.address;
  }
  return 0;
}

llvm::Expected<LinkedCode> link(std::unique_ptr<llvm::MemoryBuffer> object, SymbolResolver resolve,
                                SectionAddresses* sections) {
  // Where the unwinder doesn't find the code's tables it goes to another place, and the memory is kept meanwhile: see
  // Note [Stale separators].
  constexpr int kPlaces = 32;
  llvm::SmallVector<LinkedCode, 0> not_found;
  while (not_found.size() < kPlaces) {
    if (sections != nullptr) sections->clear();
    bool has_unwind_tables = false;
    auto code = Link::attempt(object->getMemBufferRef(), resolve, sections, has_unwind_tables);
    if (!code || has_unwind_tables) return code;
    not_found.push_back(std::move(*code));
  }
  return llvm::createStringError("the unwinder does not find the tables of compiled code");
}

llvm::Expected<LinkedCode> link(std::unique_ptr<llvm::MemoryBuffer> object, SectionAddresses* sections) {
  const HostSymbols& host = HostSymbols::instance();
  return link(
      std::move(object), [&host](llvm::StringRef name) { return host.address(std::string_view(name)); }, sections);
}

}  // namespace shunt::jit
