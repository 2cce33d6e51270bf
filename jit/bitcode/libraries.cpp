#include "jit/bitcode/libraries.h"

#include "jit/host/fatal_errors.h"
#include "jit/host/host_symbols.h"

#include <shunt/core/log.h>

#include <optional>

namespace shunt::jit {
namespace {

/// Reads a library. LLVM's fatal errors end here: the caller holds a lock, which a jump past it would leave locked for
/// good.
llvm::Expected<std::shared_ptr<const Library>> openSafely(const LoadedLibrary& loaded) {
  std::optional<llvm::Expected<std::shared_ptr<const Library>>> opened;
  const std::string fatal = stoppingFatalErrors([&] { opened.emplace(Library::open(loaded)); });
  if (!fatal.empty()) return llvm::createStringError(fatal);
  return std::move(*opened);
}

/// Reads a library at its first compile, and remembers what it is with the library; null if it can't be read.
std::shared_ptr<const Library> indexOf(const LoadedLibrary& loaded, std::vector<std::string>& problems) {
  if (loaded.index == nullptr) {
    auto opened = openSafely(loaded);
    if (!opened) {
      problems.push_back("the kernels of " + loaded.path +
                         " are called, not inlined: " + llvm::toString(opened.takeError()));
      loaded.index = std::make_shared<const Library>();  // so that it is tried once
    } else {
      loaded.index = std::move(*opened);
    }
  }
  auto library = std::static_pointer_cast<const Library>(loaded.index);
  return library->symbols() != nullptr ? library : nullptr;
}

}  // namespace

Libraries Libraries::take() {
  Libraries out;
  std::vector<std::string> problems;
  withLoadedLibraries([&](const std::vector<LibraryLease>& loaded) {
    out.generation_ = libraryGeneration();
    for (const LibraryLease& library : loaded) {
      if (auto index = indexOf(*library, problems)) out.others_.push_back(std::move(index));
    }
  });
  for (const std::string& problem : problems) shunt::detail::logWarning(problem);
  return out;
}

bool Libraries::unchangedSince(uint64_t generation) const {
  return generation == generation_ && libraryGeneration() == generation_;
}

std::string Libraries::symbolOf(const void* address) const {
  const auto at = reinterpret_cast<uint64_t>(address);
  for (const auto& library : others_) {
    if (const auto name = library->symbols()->name(at)) return (library->prefix() + *name).str();
  }
  const auto name = HostSymbols::instance().name(at);
  return name ? std::string(*name) : std::string();
}

bool Libraries::has(llvm::StringRef symbol) const {
  const auto qualified = QualifiedName::parse(symbol);
  if (!qualified) return Library::host().has(symbol);
  for (const auto& library : others_) {
    if (library->symbols()->number() == qualified->library) return library->has(qualified->name);
  }
  return false;
}

}  // namespace shunt::jit
