#include "jit/host/build_id.h"

#include <llvm/ADT/StringExtras.h>

#include <elf.h>
#include <link.h>

#include <cstring>

namespace shunt::jit {
namespace {

constexpr uint32_t kMostBytes = 64;  // of an id; linkers make 16 to 32

std::string idIn(const char* notes, size_t size) {
  const auto padded = [](uint32_t n) { return (size_t{n} + 3) & ~size_t{3}; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const size_t name = sizeof note, content = name + padded(note.n_namesz), end = content + padded(note.n_descsz);
    if (end > size) return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0 &&
        note.n_descsz <= kMostBytes)
      return llvm::toHex(llvm::StringRef(notes + content, note.n_descsz), /*LowerCase=*/true);
    notes += end;
    size -= end;
  }
  return "";
}

struct Search {
  uintptr_t address;
  std::string id;
};

bool contains(const dl_phdr_info& object, uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && address - (object.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
  }
  return false;
}

/// For dl_iterate_phdr: not 0 when the object with the address was met.
int search(dl_phdr_info* object, size_t, void* data) {
  auto& wanted = *static_cast<Search*>(data);
  if (!contains(*object, wanted.address)) return 0;
  for (int i = 0; i < object->dlpi_phnum && wanted.id.empty(); ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      wanted.id = idIn(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

// _dl_find_object would be faster, but where a page is missing between two segments it doesn't tell where the headers
// are.
std::string buildIdAt(const void* address) {
  Search wanted{reinterpret_cast<uintptr_t>(address), {}};
  if (address != nullptr) dl_iterate_phdr(&search, &wanted);
  return wanted.id;
}

}  // namespace shunt::jit
