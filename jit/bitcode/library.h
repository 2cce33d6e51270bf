// The bitcode units of one loaded library (section shunt_bc), and which unit defines which function.
//
// Views point into the section: libshunt's, which stays loaded, or a copy that the Library keeps. Immutable once
// opened: any thread may read.
#pragma once

#include "jit/host/library_symbols.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shunt::jit {

class Library {
 public:
  /// Reads the symbol tables of all units in `section`; no function body.
  static llvm::Expected<std::unique_ptr<Library>> open(llvm::StringRef section);
  /// libshunt's own bitcode, opened at the first call; empty (with the reason logged once) if it carries none.
  static const Library& host();

  /// Another library's, which stays loaded meanwhile. Its functions of internal linkage count too, by names that one
  /// unit has.
  static llvm::Expected<std::shared_ptr<const Library>> open(const LoadedLibrary& library);

  /// Null for libshunt's.
  const LibrarySymbols* symbols() const { return symbols_.get(); }
  /// "lib7:"; "" for libshunt's. Note [Names of other libraries] in jit/host/library_symbols.h.
  llvm::StringRef prefix() const { return prefix_; }

  /// Whether some unit defines the function `name` under that name (internal functions and aliases don't count).
  bool has(llvm::StringRef name) const { return index_.count(name) != 0; }
  /// The units that define it: more than one for inline functions and templates.
  llvm::ArrayRef<uint32_t> unitsOf(llvm::StringRef name) const;
  size_t unitCount() const { return units_.size(); }
  llvm::StringRef unit(uint32_t index) const { return units_[index]; }
  /// Of all functions, sorted; for tools and tests.
  std::vector<std::string> names() const;

 private:
  llvm::Error addUnit(llvm::StringRef unit);

  std::shared_ptr<const std::string> section_;
  std::shared_ptr<const LibrarySymbols> symbols_;
  std::string prefix_;
  std::vector<llvm::StringRef> units_;
  llvm::StringMap<llvm::SmallVector<uint32_t, 1>> index_;
};

}  // namespace shunt::jit
