// The disk cache of thunks and fused loops, for programs and bin/shunt: its directory and its entries.
//
// Any thread may call. SHUNT_JIT_CACHE=on|off|<directory> chooses the directory at first use. The default is the user's
// cache directory; without one that belongs to the user, there is no cache. A process uses an entry only if builds, CPU
// and plan (or description of a fused loop) are the same; otherwise it compiles. A problem with the cache never makes a
// call fail.
#pragma once

#include <shunt/core/macros.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shunt::jit {

/// The directory from which code is loaded and to which it is stored; empty if there is no cache.
SHUNT_API std::string cache_directory();
/// Sets the directory for later loads and stores; empty turns the cache off. Throws unless `directory` is empty or an
/// absolute path, and in a program with more rights than its caller (AT_SECURE).
SHUNT_API void set_cache_directory(const std::string& directory);
/// The directory for SHUNT_JIT_CACHE=on: $XDG_CACHE_HOME/shunt, else ~/.cache/shunt; empty if neither is known.
SHUNT_API std::string default_cache_directory();

/// One file of the cache.
struct CacheEntry {
  /// Whether this process can use an entry; kDamaged: no process can.
  enum class State : uint8_t {
    kUsable,
    kOther,  // of another build or CPU, or of a program with another layout
    kDamaged
  };
  std::string file;               // its name in the directory
  uint64_t bytes = 0;             // of the file
  int64_t used = 0;               // the last use in seconds since 1970, accurate to a day
  State state = State::kDamaged;  // of this entry
  std::string problem;            // why this process can't use it; empty if kUsable
  // Of the pair, if they can be read. Of a fused loop: the number of steps, "", the inputs.
  std::string op, keys, signature;
};

/// The entries in a directory, sorted by name. Throws if the directory can't be read or doesn't belong to the user, or
/// if there is no compiler.
SHUNT_API std::vector<CacheEntry> cache_entries(const std::string& directory);
/// Removes all entries, and files that an interrupted process left. Returns the number of files. Throws as
/// cache_entries().
SHUNT_API size_t cache_clear(const std::string& directory);

}  // namespace shunt::jit
