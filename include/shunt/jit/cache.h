// The disk cache of thunks and fused loops, as programs and bin/shunt see it: where it is, what lies in it.
//
// Any thread may call. SHUNT_JIT_CACHE=on|off|<directory> says where it is at the first use; by default it is the
// user's cache directory, and there is none without one of the user's own. An entry is used by a process with the same
// builds, CPU and plan (or description of a fused loop) alone; all else is compiled. Nothing about the cache is ever an
// error for a call.
#pragma once

#include <shunt/core/macros.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shunt::jit {

/// Where code is loaded from and stored to; empty: nowhere.
SHUNT_API std::string cache_directory();
/// An absolute path, or empty: neither load nor store from now on.
SHUNT_API void set_cache_directory(const std::string& directory);
/// What SHUNT_JIT_CACHE=on means: $XDG_CACHE_HOME/shunt, else ~/.cache/shunt; empty where neither is known.
SHUNT_API std::string default_cache_directory();

/// One file of the cache.
struct CacheEntry {
  /// Whether this process can use an entry.
  enum class State : uint8_t {
    kUsable,
    kOther,  // of another build, another CPU, or another program's layout
    kDamaged
  };
  std::string file;  // its name in the directory
  /// The file's size.
  uint64_t bytes = 0;
  int64_t used = 0;  // seconds since 1970, to a day's accuracy
  /// Whether this process can use it.
  State state = State::kDamaged;
  std::string problem;  // of entries that this process can't use
  // Of the pair, where it can be read; of a fused loop: how many steps, "", its inputs.
  std::string op, keys, signature;
};

/// What lies in the directory, by name. Throws where it can't be read, is not the user's own, or there is no compiler.
SHUNT_API std::vector<CacheEntry> cache_entries(const std::string& directory);
/// Removes all entries, and what an interrupted process left; returns how many files. Throws as cache_entries().
SHUNT_API size_t cache_clear(const std::string& directory);

}  // namespace shunt::jit
