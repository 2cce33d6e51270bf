// The bytes of a file of the disk cache: a header, the key, what the object needs beside itself, the object.
//
//   magic, version, sizes of the three parts, checksum of everything | key | chains, literals | object
//
// Numbers are as this CPU has them: a file is for one CPU anyway. Pure; any thread.
#pragma once

#include "jit/host/literals.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <string>
#include <utility>
#include <vector>

namespace shunt::jit {

struct CachedObject {
  /// One of the plan's chains that is in the object, and the slots of its table that the object relies on.
  struct UsedChain {
    uint64_t place = 0;
    std::vector<uint64_t> slots;
    bool operator==(const UsedChain&) const = default;
  };
  std::string key;
  std::vector<UsedChain> chains;
  std::vector<std::pair<std::string, Literal>>
      literals;  // by symbol, those it shares with the process; what one points to comes before it
  std::string object;
  bool worth_again = false;   // CompileResult's
  std::string function = {};  // a thunk's name in the object, which may have been compiled for another pair
};

/// Larger files are not read.
inline constexpr size_t kMostCachedBytes = size_t{16} << 20;

std::string encode(const CachedObject& object);
/// Fails, and says why, unless the bytes are what encode() made.
llvm::Expected<CachedObject> decode(llvm::StringRef bytes);
/// How the names of files end, and the one for a key.
inline constexpr llvm::StringLiteral kCacheSuffix = ".thunk";
std::string cacheFileName(llvm::StringRef key);

}  // namespace shunt::jit
