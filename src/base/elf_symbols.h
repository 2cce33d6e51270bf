// ElfSymbols: names of the functions in an ELF file, also static ones, which the dynamic linker doesn't know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace shunt::detail {

/// Constant once made; any thread.
class ElfSymbols {
 public:
  /// Maps the file. One that can't be read, is stripped, or isn't of this machine's kind has no symbols.
  explicit ElfSymbols(const std::string& path);
  ~ElfSymbols();
  ElfSymbols(const ElfSymbols&) = delete;
  ElfSymbols& operator=(const ElfSymbols&) = delete;

  /// The function at an address in the file, mangled; empty: none is known.
  std::string nameAt(uint64_t address) const;

 private:
  void findTable();

  const unsigned char* data_ = nullptr;
  size_t size_ = 0;
  // Within the file; 0: none.
  size_t symbols_ = 0, symbol_count_ = 0, names_ = 0, names_size_ = 0;
};

}  // namespace shunt::detail
