// The bitcode units of one loaded library (section shunt_bc), and which unit defines which function.
//
// Views point into the library's mapped section, which must stay loaded. Immutable once opened: any thread may read.
#pragma once

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

  std::vector<llvm::StringRef> units_;
  llvm::StringMap<llvm::SmallVector<uint32_t, 1>> index_;
};

}  // namespace shunt::jit
