#include "jit/cache/build_id.h"

#include <llvm/ADT/StringExtras.h>

#include <dlfcn.h>
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

}  // namespace

std::string buildIdAt(const void* address) {
  dl_find_object found;  // unlike dladdr it looks through no symbols
  if (address == nullptr || _dl_find_object(const_cast<void*>(address), &found) != 0) return "";
  // The first segment begins with the file's headers, in all that linkers write.
  const auto* base = static_cast<const char*>(found.dlfo_map_start);
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(base);
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return "";
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(base + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    const char* notes = reinterpret_cast<const char*>(found.dlfo_link_map->l_addr) + segments[i].p_vaddr;
    if (const std::string id = idIn(notes, segments[i].p_memsz); !id.empty()) return id;
  }
  return "";
}

}  // namespace shunt::jit
