#include "src/base/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace shunt::detail {
namespace {

/// A file that is read piece by piece. It isn't mapped: another process may truncate it meanwhile, and reading beyond
/// the end of a mapped file ends the process.
class File {
 public:
  explicit File(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status{};
    if (file_ >= 0 && fstat(file_, &status) == 0) size_ = static_cast<uint64_t>(status.st_size);
  }
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// `count` values that begin at a byte; none unless the file has all of them.
  template <class T>
  std::vector<T> read(uint64_t at, uint64_t count) const {
    std::vector<T> values;
    if (at > size_ || count > (size_ - at) / sizeof(T)) return values;
    values.resize(count);
    auto* const bytes = reinterpret_cast<char*>(values.data());
    for (size_t done = 0; done < count * sizeof(T);) {
      const ssize_t n = pread(file_, bytes + done, count * sizeof(T) - done, static_cast<off_t>(at + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return {};
      done += static_cast<size_t>(n);
    }
    return values;
  }

 private:
  int file_;
  uint64_t size_ = 0;
};

bool isOfThisMachine(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == EM_X86_64 &&
         header.e_shentsize == sizeof(Elf64_Shdr);
}

}  // namespace

ElfSymbols::ElfSymbols(const std::string& path) {
  const File file(path);
  const auto header = file.read<Elf64_Ehdr>(0, 1);
  if (header.empty() || !isOfThisMachine(header[0])) return;
  const auto sections = file.read<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
    const Elf64_Shdr& names = sections[table.sh_link];
    symbols_ = file.read<Elf64_Sym>(table.sh_offset, table.sh_size / sizeof(Elf64_Sym));
    names_ = file.read<char>(names.sh_offset, names.sh_size);
    return;
  }
}

std::string ElfSymbols::nameAt(uint64_t address) const {
  for (const Elf64_Sym& symbol : symbols_) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || address < symbol.st_value ||
        address - symbol.st_value >= symbol.st_size || symbol.st_name >= names_.size())
      continue;
    const std::string_view rest(names_.data() + symbol.st_name, names_.size() - symbol.st_name);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  return "";
}

}  // namespace shunt::detail
