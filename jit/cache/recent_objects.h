// The objects that this process compiled last, by what their code depends on, for pairs whose code would be the same:
// those of an operator that differ in a signature which the code doesn't look at, and pairs that are compiled again
// after their thunks were dropped. In the digits run 19 of 64 compiles are of this kind, in diff_test a third.
//
// Bounded in bytes; the oldest are dropped. Belongs to the compiler, and to whoever compiles: one thread at a time.
#pragma once

#include "jit/cache/cache_file.h"

#include <llvm/ADT/StringMap.h>

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shunt::jit {

class RecentObjects {
 public:
  struct Object {
    std::string function;  // its name in the object
    std::vector<CachedObject::UsedChain> chains;
    std::string object;
    bool worth_again = false;  // CompileResult's
    /// What goes with it into the disk cache; none where that is not known, or nothing is kept there.
    std::optional<std::vector<std::pair<std::string, Literal>>> literals = {};
  };

  explicit RecentObjects(size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Null where there is none; valid until the next add().
  const Object* find(const std::string& key) const;
  /// Keeps it, unless memory ran out.
  void add(const std::string& key, Object object) noexcept;
  size_t bytes() const { return bytes_; }
  /// Drops them all.
  void clear() noexcept;

 private:
  static size_t sizeOf(llvm::StringRef key, const Object& object) { return key.size() + object.object.size(); }
  void dropOldest();

  const size_t most_bytes_;
  size_t bytes_ = 0;
  llvm::StringMap<Object> objects_;
  std::deque<llvm::StringMapEntry<Object>*> by_age_;  // the oldest first; the map doesn't move its entries
};

}  // namespace shunt::jit
