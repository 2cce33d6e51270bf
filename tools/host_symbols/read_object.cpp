// Which symbols an object file defines and uses.
#include "tools/bitcode/bitcode_section.h"
#include "tools/host_symbols/symbols.h"

#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Object/IRObjectFile.h>

namespace shunt::host_symbols {
namespace {

// Not symbols of the program: markers of tools, and what only one object's own references may use.
bool isInternal(llvm::StringRef name) {
  return name.empty() || name.starts_with("llvm.") || name.starts_with("DW.ref.") || name.starts_with("__start_") ||
         name.starts_with("__stop_") || name == "_GLOBAL_OFFSET_TABLE_" || name == "__dso_handle" ||
         name == "__ehdr_start";
}

llvm::Error addElfSymbol(const llvm::object::ELFSymbolRef& symbol, bool kernel, Symbols& symbols) {
  if (symbol.getBinding() == llvm::ELF::STB_LOCAL) return llvm::Error::success();
  llvm::Expected<llvm::StringRef> name = symbol.getName();
  if (!name) return name.takeError();
  if (isInternal(*name)) return llvm::Error::success();
  llvm::Expected<uint32_t> flags = symbol.getFlags();
  if (!flags) return flags.takeError();
  Symbol& entry = symbols[*name];
  entry.wanted |= kernel;
  entry.defined |= !(*flags & llvm::object::SymbolRef::SF_Undefined);
  entry.exported &= (symbol.getOther() & 3) == llvm::ELF::STV_DEFAULT;
  entry.thread_local_ |= symbol.getELFType() == llvm::ELF::STT_TLS;
  return llvm::Error::success();
}

// The bitcode names more than the object: what code generation folded away there may be used again in a thunk.
llvm::Error addBitcode(const llvm::object::ObjectFile& object, Symbols& symbols) {
  llvm::Expected<llvm::StringRef> section = bitcode::findSection(object);
  if (!section) return section.takeError();
  auto units = bitcode::splitModules(*section);
  if (!units) return units.takeError();
  for (llvm::StringRef unit : *units) {
    auto table = llvm::object::readIRSymtab(llvm::MemoryBufferRef(unit, object.getFileName()));
    if (!table) return table.takeError();
    for (const llvm::irsymtab::Reader::SymbolRef& symbol : table->TheReader.symbols()) {
      if (symbol.isGlobal() && !isInternal(symbol.getName())) symbols[symbol.getName()].wanted = true;
    }
    if (llvm::Error error = addAnnotations(llvm::MemoryBufferRef(unit, object.getFileName()), symbols)) return error;
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Error addObject(const llvm::object::ObjectFile& object, bool kernel, Symbols& symbols) {
  const auto* elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(&object);
  if (!elf) return llvm::createStringError("not an ELF object");
  for (const llvm::object::ELFSymbolRef symbol : elf->symbols()) {
    if (llvm::Error error = addElfSymbol(symbol, kernel, symbols)) return error;
  }
  return kernel ? addBitcode(object, symbols) : llvm::Error::success();
}

}  // namespace shunt::host_symbols
