#include "jit/host/library_symbols.h"

#include "jit/host/build_id.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Object/BuildID.h>

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

bool inside(const std::vector<LoadedLibrary::Range>& segments, uint64_t begin, uint64_t size) {
  return std::any_of(segments.begin(), segments.end(),
                     [&](const auto& s) { return s.first <= begin && begin + size <= s.second; });
}

// The dynamic linker may be filling it in meanwhile.
uint64_t loadSlot(uint64_t place) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(place), __ATOMIC_ACQUIRE);
}

// Position-independent code is in memory what it is in the file. Constants may still be others': ids tell, where there
// are any.
llvm::Error checkIsLoaded(const object::ELFObjectFileBase& file, const LoadedLibrary& library) {
  const char* const other = "the file is not the one that was loaded";
  const std::string id = buildIdAt(reinterpret_cast<const void*>(library.segments.front().first));
  if (id != llvm::toHex(object::getBuildID(&file), /*LowerCase=*/true)) return llvm::createStringError(other);
  for (const object::SectionRef& section : file.sections()) {
    llvm::Expected<llvm::StringRef> name = section.getName();
    if (!name) return name.takeError();
    if (*name != ".text") continue;
    llvm::Expected<llvm::StringRef> code = section.getContents();
    if (!code) return code.takeError();
    const uint64_t address = library.bias + section.getAddress();
    if (inside(library.segments, address, code->size()) &&
        std::memcmp(code->data(), reinterpret_cast<const void*>(address), code->size()) == 0) {
      return llvm::Error::success();
    }
  }
  return llvm::createStringError(other);
}

}  // namespace

uint64_t inGlobalScope(const std::string& name) {
  static void* const global = dlopen(nullptr, RTLD_LAZY);
  return global != nullptr ? reinterpret_cast<uint64_t>(dlsym(global, name.c_str())) : 0;
}

std::optional<QualifiedName> QualifiedName::parse(llvm::StringRef text) {
  QualifiedName out{};
  if (!text.consume_front("lib") || text.consumeInteger(10, out.library) || !text.consume_front(":"))
    return std::nullopt;
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
  out->segments_ = library.segments;
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
  if (llvm::Error error = out->readSlots(*elf, library)) return std::move(error);
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

llvm::Error LibrarySymbols::readSlots(const object::ELFObjectFileBase& file, const LoadedLibrary& library) {
  for (const object::SectionRef& section : file.dynamic_relocation_sections()) {
    for (const object::ELFRelocationRef relocation : section.relocations()) {
      const uint64_t type = relocation.getType();
      if (type != llvm::ELF::R_X86_64_GLOB_DAT && type != llvm::ELF::R_X86_64_JUMP_SLOT) continue;
      const object::symbol_iterator symbol = relocation.getSymbol();
      if (symbol == file.symbol_end()) continue;
      llvm::Expected<llvm::StringRef> name = symbol->getName();
      if (!name) return name.takeError();
      Slot slot{library.bias + relocation.getOffset(), 0, type == llvm::ELF::R_X86_64_JUMP_SLOT};
      if (!inside(segments_, slot.place, sizeof(uint64_t)))
        return llvm::createStringError("a relocation lies outside of it");
      const uint64_t address = loadSlot(slot.place);
      if (!slot.lazy || leadsToSymbol(address, *name)) slot.address = address;
      // Where there are two, that of the address counts: calls may go past a program's own entry for the function.
      if (const auto [entry, inserted] = slots_.try_emplace(*name, slot); !inserted && !slot.lazy)
        entry->getValue() = slot;
    }
  }
  return llvm::Error::success();
}

// Until its first call a lazy slot leads to other code of the library itself.
bool LibrarySymbols::leadsToSymbol(uint64_t address, llvm::StringRef name) const {
  const auto own = symbols_.find(name);
  return !inside(segments_, address, 1) || (own != symbols_.end() && own->getValue().address == address);
}

std::optional<uint64_t> LibrarySymbols::bound(const Slot& slot, llvm::StringRef name) const {
  if (slot.address != 0) return slot.address;
  std::optional<uint64_t> address;
  withLoadedLibraries([&](const std::vector<LibraryLease>& loaded) {
    for (const LibraryLease& library : loaded) {
      if (library->number == number_ && slot.lazy) address = loadSlot(slot.place);
    }
  });
  return address && leadsToSymbol(*address, name) ? address : std::nullopt;
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
  const auto slot = slots_.find(name);
  if (!symbol.preemptible || slot == slots_.end()) return symbol.address;  // the static linker bound it
  if (const auto address = bound(slot->getValue(), name)) return address;
  // The first call will look here first.
  const uint64_t used = inGlobalScope(name.str());
  return used != 0 ? used : symbol.address;
}

bool LibrarySymbols::uses(llvm::StringRef name, uint64_t address) const {
  const auto slot = slots_.find(name);
  if (slot == slots_.end()) return true;  // its machine code needs no such thing
  if (const auto known = bound(slot->getValue(), name)) return *known == address;
  return slot->getValue().lazy && inGlobalScope(name.str()) == address;
}

std::optional<llvm::StringRef> LibrarySymbols::name(uint64_t address) const {
  const auto found = std::lower_bound(by_address_.begin(), by_address_.end(), std::pair(address, llvm::StringRef()));
  if (found == by_address_.end() || found->first != address) return std::nullopt;
  return found->second;
}

}  // namespace shunt::jit
