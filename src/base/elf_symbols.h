// ElfSymbols: names of the functions in an ELF file, including static ones, which the dynamic linker doesn't know.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace shunt::detail {

/// Constant once made; any thread.
class ElfSymbols {
 public:
  /// Reads the file's symbol table. A file that can't be read, is stripped, or is for another machine has no symbols.
  explicit ElfSymbols(const std::string& path);

  /// The mangled name of the function at an address in the file; empty if none is known.
  std::string nameAt(uint64_t address) const;

 private:
  std::vector<Elf64_Sym> symbols_;
  std::vector<char> names_;
};

}  // namespace shunt::detail
