// A fused loop from its description to code in memory: out of the disk cache, or compiled. One at a time
// (src/tiering/compiler.h).
#pragma once

#include "jit/bitcode/source_cache.h"
#include "jit/cache/thunk_cache.h"
#include "jit/emit/dump.h"
#include "jit/host/stopwatch.h"

#include <shunt/jit/provider.h>

#include <optional>
#include <string>

namespace shunt::jit {

/// What Provider::compileFused does, but for exceptions and LLVM's fatal errors. Lives as long as one request.
class FusedCompile {
 public:
  FusedCompile(const FusedRequest& request, ThunkCache& cache, FusedResult& result);

  /// Whether the disk cache had it.
  bool load();
  /// Compiles, and stores what another process can use.
  void compile(SourceCache& sources);

 private:
  std::string keyOf() const;
  /// `name`: the function's in the object, for perf, gdb and dumps.
  llvm::Error finish(llvm::Module& module, const std::string& name, const Dump& dump);
  std::optional<CachedObject> portable(const llvm::Module& module) const;
  void logNotKept(const std::string& why) const;

  const FusedRequest& request_;
  ThunkCache& cache_;
  FusedResult& result_;
  Stopwatch watch_;
  const std::string key_;  // in the disk cache; "" for what is not kept there
};

}  // namespace shunt::jit
