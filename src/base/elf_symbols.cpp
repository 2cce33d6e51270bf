#include "src/base/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace shunt::detail {
namespace {

/// What stands at a place in the file, which need not be aligned.
template <class T>
T read(const unsigned char* data, size_t at) {
  T value;
  std::memcpy(&value, data + at, sizeof(T));
  return value;
}

bool isWithin(uint64_t at, uint64_t length, size_t size) { return at <= size && length <= size - at; }

}  // namespace

ElfSymbols::ElfSymbols(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status{};
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    const auto size = static_cast<size_t>(status.st_size);
    void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped != MAP_FAILED) {
      data_ = static_cast<const unsigned char*>(mapped);
      size_ = size;
    }
  }
  close(file);
  if (data_ != nullptr) findTable();
}

ElfSymbols::~ElfSymbols() {
  if (data_ != nullptr) munmap(const_cast<unsigned char*>(data_), size_);
}

void ElfSymbols::findTable() {
  if (size_ < sizeof(Elf64_Ehdr)) return;
  const auto header = read<Elf64_Ehdr>(data_, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_shentsize != sizeof(Elf64_Shdr) ||
      !isWithin(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), size_))
    return;
  const auto section = [&](size_t i) { return read<Elf64_Shdr>(data_, header.e_shoff + i * sizeof(Elf64_Shdr)); };
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= header.e_shnum) continue;
    const Elf64_Shdr names = section(table.sh_link);
    if (!isWithin(table.sh_offset, table.sh_size, size_) || !isWithin(names.sh_offset, names.sh_size, size_)) return;
    symbols_ = table.sh_offset;
    symbol_count_ = table.sh_size / sizeof(Elf64_Sym);
    names_ = names.sh_offset;
    names_size_ = names.sh_size;
    return;
  }
}

std::string ElfSymbols::nameAt(uint64_t address) const {
  for (size_t i = 0; i < symbol_count_; ++i) {
    const auto symbol = read<Elf64_Sym>(data_, symbols_ + i * sizeof(Elf64_Sym));
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || address < symbol.st_value ||
        address - symbol.st_value >= symbol.st_size || symbol.st_name >= names_size_)
      continue;
    const std::string_view rest(reinterpret_cast<const char*>(data_) + names_ + symbol.st_name,
                                names_size_ - symbol.st_name);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  return "";
}

}  // namespace shunt::detail
