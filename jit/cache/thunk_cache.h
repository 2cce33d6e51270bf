// The disk cache of thunks and fused loops: finds the object for a key, and stores one. What can't be used is taken for
// absent, and says why.
//
// Belongs to the compiler, and is used under its lock. Never an error for the caller: where a directory can't be used,
// that is said once and it is left alone, but for a try now and then, since what was wrong may have been a lack of
// descriptors or of room on the disk; where nothing can be written, only loading goes on.
#pragma once

#include "jit/cache/cache_directory.h"
#include "jit/cache/cache_file.h"

#include <shunt/jit/provider.h>

#include <llvm/IR/Module.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shunt::jit {

/// What is done until it fails, and from then on every 16th time only.
class Attempts {
 public:
  bool allowed() { return !failing_ || ++left_out_ % kBetween == 0; }
  void succeeded() { failing_ = false; }
  /// Whether it is to be told: the first time.
  bool failed() {
    failing_ = true;
    return !std::exchange(told_, true);
  }

 private:
  static constexpr unsigned kBetween = 16;
  bool failing_ = false, told_ = false;
  unsigned left_out_ = 0;
};

class ThunkCache {
 public:
  struct Found {
    CacheAnswer answer = CacheAnswer::kNothing;
    std::string problem;  // where rejected
    CachedObject object;  // where loaded: with its literals in the process
  };
  Found find(const std::string& directory, const std::string& key);
  void store(const std::string& directory, const CachedObject& object) noexcept;

  /// For people. Both throw where the directory can't be used.
  static std::vector<CacheEntry> entries(const std::string& directory);
  static size_t clear(const std::string& directory);

 private:
  /// For one use; see Note [Descriptors are the program's]. Nothing where it can't be used.
  std::optional<CacheDirectory> open(const std::string& directory);

  std::string path_;  // of what follows
  Attempts opens_, writes_;
  unsigned stores_ = 0;
};

/// The literals that a module's object will need, with all that they point to; nothing where one of them means nothing
/// to another process.
std::optional<std::vector<std::pair<std::string, Literal>>> literalsOf(const llvm::Module& module);

}  // namespace shunt::jit
