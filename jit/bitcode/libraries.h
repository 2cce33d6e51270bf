// The libraries whose bitcode one compile may read: libshunt, and those that were loaded when the compile began. Whose
// a function is goes by its address; from then on by its name (Note [Names of other libraries],
// jit/host/library_symbols.h).
//
// A value that keeps what it names, also when a library goes meanwhile: the compile is then dropped, because the
// registrations went before. Addresses of a recorded call or of a table mean what they say only as long as no library
// came or went: unchangedSince() is to be asked when all of them have been looked up.
#pragma once

#include "jit/bitcode/library.h"

namespace shunt::jit {

class Libraries {
 public:
  /// Those that are loaded now.
  static Libraries take();

  /// Whether no library came or went between `generation` and now, with this in between.
  bool unchangedSince(uint64_t generation) const;
  uint64_t generation() const { return generation_; }
  /// The symbol that begins at an address, qualified where it is another library's; "" where nobody knows.
  std::string symbolOf(const void* address) const;
  /// Whether there is bitcode of the function `symbol`.
  bool has(llvm::StringRef symbol) const;
  /// All but libshunt.
  const std::vector<std::shared_ptr<const Library>>& others() const { return others_; }

 private:
  std::vector<std::shared_ptr<const Library>> others_;
  uint64_t generation_ = 0;
};

}  // namespace shunt::jit
