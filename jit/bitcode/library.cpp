#include "jit/bitcode/library.h"

#include "jit/host/fatal_errors.h"
#include "jit/host/host_symbols.h"
#include "tools/bitcode/bitcode_section.h"

#include <shunt/core/log.h>

#include <llvm/Object/IRObjectFile.h>

#include <algorithm>

namespace shunt::jit {

llvm::Expected<std::unique_ptr<Library>> Library::open(llvm::StringRef section) {
  auto units = bitcode::splitModules(section);
  if (!units) return units.takeError();
  auto library = std::make_unique<Library>();
  for (llvm::StringRef unit : *units) {
    if (llvm::Error error = library->addUnit(unit)) return std::move(error);
  }
  return library;
}

llvm::Expected<std::shared_ptr<const Library>> Library::open(const LoadedLibrary& loaded) {
  auto symbols = LibrarySymbols::read(loaded);
  if (!symbols) return symbols.takeError();
  auto units = bitcode::splitModules(*loaded.bitcode);
  if (!units) return units.takeError();
  auto library = std::make_shared<Library>();
  library->section_ = loaded.bitcode;
  library->symbols_ = std::move(*symbols);
  library->prefix_ = QualifiedName::prefix(loaded.number);
  for (llvm::StringRef unit : *units) {
    if (llvm::Error error = library->addUnit(unit)) return std::move(error);
  }
  return library;
}

llvm::Error Library::addUnit(llvm::StringRef unit) {
  auto table = llvm::object::readIRSymtab(llvm::MemoryBufferRef(unit, "shunt_bc"));
  if (!table) return table.takeError();
  const auto index = static_cast<uint32_t>(units_.size());
  units_.push_back(unit);
  for (const llvm::irsymtab::Reader::SymbolRef& symbol : table->TheReader.symbols()) {
    if (symbol.isUndefined() || !symbol.isExecutable() || symbol.isIndirect()) continue;
    // What is internal has to be found by the address that a dispatch table holds, and that needs a name of its own.
    if (!symbol.isGlobal() && (symbols_ == nullptr || !symbols_->definesOne(symbol.getName()))) continue;
    index_[symbol.getName()].push_back(index);
  }
  return llvm::Error::success();
}

const Library& Library::host() {
  static const Library& library = []() -> const Library& {
    const std::string_view section = HostSymbols::instance().bitcode();
    const Library* made = nullptr;
    std::string problem;
    // A jump out of here would leave this static object half made for good.
    const std::string fatal = stoppingFatalErrors([&] {
      auto opened = open(llvm::StringRef(section.data(), section.size()));
      if (opened)
        made = opened->release();
      else
        problem = llvm::toString(opened.takeError());
    });
    if (made != nullptr) return *made;
    shunt::detail::logWarning("libshunt's bitcode can't be read, so nothing is compiled: " +
                              (fatal.empty() ? problem : fatal));
    return *new Library;
  }();
  return library;
}

llvm::ArrayRef<uint32_t> Library::unitsOf(llvm::StringRef name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return {};
  return found->second;
}

std::vector<std::string> Library::names() const {
  std::vector<std::string> names;
  for (const auto& entry : index_) names.push_back(entry.getKey().str());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace shunt::jit
