#include "jit/link/library_symbols.h"

#include <llvm/Object/ELFObjectFile.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

namespace shunt::jit {
namespace {

namespace object = llvm::object;

struct Known {
  std::mutex mutex;
  std::map<uint64_t, std::weak_ptr<const LibrarySymbols>> libraries;  // guarded by mutex
};

Known& known() {
  static Known& k = *new Known;
  return k;
}

bool insideLibrary(const LoadedLibrary& library, uint64_t begin, uint64_t size) {
  return std::any_of(library.segments.begin(), library.segments.end(),
                     [&](const auto& s) { return s.first <= begin && begin + size <= s.second; });
}

// Position-independent code is in memory what it is in the file.
llvm::Error checkIsLoaded(const object::ELFObjectFileBase& file, const LoadedLibrary& library) {
  for (const object::SectionRef& section : file.sections()) {
    llvm::Expected<llvm::StringRef> name = section.getName();
    if (!name) return name.takeError();
    if (*name != ".text") continue;
    llvm::Expected<llvm::StringRef> code = section.getContents();
    if (!code) return code.takeError();
    const uint64_t address = library.bias + section.getAddress();
    if (insideLibrary(library, address, code->size()) &&
        std::memcmp(code->data(), reinterpret_cast<const void*>(address), code->size()) == 0) {
      return llvm::Error::success();
    }
  }
  return llvm::createStringError("the file is not the one that was loaded");
}

}  // namespace

std::optional<QualifiedName> QualifiedName::parse(llvm::StringRef text) {
  QualifiedName out{};
  if (!text.consume_front("lib") || text.consumeInteger(10, out.library) || !text.consume_front(":")) return std::nullopt;
  out.name = text;
  return out;
}

llvm::Expected<std::shared_ptr<const LibrarySymbols>> LibrarySymbols::read(const LoadedLibrary& library) {
  auto file = object::ObjectFile::createObjectFile(library.path);
  if (!file) return file.takeError();
  const auto* elf = llvm::dyn_cast<object::ELFObjectFileBase>(file->getBinary());
  if (elf == nullptr) return llvm::createStringError("it is no ELF file");
  if (llvm::Error error = checkIsLoaded(*elf, library)) return std::move(error);
  auto out = std::make_shared<LibrarySymbols>();
  out->number_ = library.number;
  for (const object::ELFSymbolRef symbol : elf->symbols()) {
    const uint8_t type = symbol.getELFType();
    if (type != llvm::ELF::STT_FUNC && type != llvm::ELF::STT_OBJECT && type != llvm::ELF::STT_TLS) continue;
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    llvm::Expected<uint64_t> address = symbol.getAddress();
    if (llvm::Error error =
            llvm::joinErrors(llvm::joinErrors(flags.takeError(), name.takeError()), address.takeError()))
      return std::move(error);
    if (name->empty() || (*flags & object::SymbolRef::SF_Undefined) != 0) continue;
    const auto [entry, inserted] = out->symbols_.try_emplace(*name);
    Symbol& s = entry->getValue();
    s.ambiguous = !inserted || type == llvm::ELF::STT_TLS;
    s.address = library.bias + *address;
    s.preemptible = !library.main_program && symbol.getBinding() != llvm::ELF::STB_LOCAL &&
                    (symbol.getOther() & 3) == llvm::ELF::STV_DEFAULT;
  }
  if (out->symbols_.empty()) return llvm::createStringError("the file has no symbol table: it is stripped");
  for (const auto& entry : out->symbols_) {
    if (!entry.getValue().ambiguous) out->by_address_.emplace_back(entry.getValue().address, entry.getKey());
  }
  std::sort(out->by_address_.begin(), out->by_address_.end());
  std::lock_guard lock(known().mutex);
  std::erase_if(known().libraries, [](const auto& l) { return l.second.expired(); });
  known().libraries[library.number] = out;
  return out;
}

std::shared_ptr<const LibrarySymbols> LibrarySymbols::find(uint64_t number) {
  std::lock_guard lock(known().mutex);
  const auto found = known().libraries.find(number);
  return found != known().libraries.end() ? found->second.lock() : nullptr;
}

std::optional<uint64_t> LibrarySymbols::address(llvm::StringRef name) const {
  const auto found = symbols_.find(name);
  if (found == symbols_.end() || found->getValue().ambiguous) return std::nullopt;
  const Symbol& symbol = found->getValue();
  if (symbol.preemptible) {
    if (void* used = dlsym(RTLD_DEFAULT, name.str().c_str())) return reinterpret_cast<uint64_t>(used);
  }
  return symbol.address;
}

std::optional<llvm::StringRef> LibrarySymbols::name(uint64_t address) const {
  const auto found = std::lower_bound(by_address_.begin(), by_address_.end(), std::pair(address, llvm::StringRef()));
  if (found == by_address_.end() || found->first != address) return std::nullopt;
  return found->second;
}

}  // namespace shunt::jit
