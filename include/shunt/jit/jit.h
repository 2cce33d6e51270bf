// The just-in-time compiler for its users: switch, wait, statistics.
//
// Any thread may call every function. Without the compiler (built with SHUNT_JIT=OFF, or libshunt_jit.so missing) all
// of them work, and nothing is ever compiled; Stats::available is false.
//
// Environment variables, read at first use (SHUNT_STATS and SHUNT_JIT_CACHE when the library is loaded). A bad value
// warns once, and the default holds:
//   SHUNT_JIT=0|1              compile at all (1)
//   SHUNT_JIT_THRESHOLD=n      calls of a pair before it is compiled (512)
//   SHUNT_JIT_SYNC=1           compile in the calling thread, at the threshold's call (tests)
//   SHUNT_JIT_KEEP=1           keep thunks that are slower than the interpreter, and time none
//   SHUNT_JIT_TIER=auto|1|2|both  auto: first a quick compile, then a thorough one of what stays hot; 1, 2: only that
//                              one; both: as auto, also under SHUNT_JIT_KEEP (auto)
//   SHUNT_JIT_BUDGET=n         percent of the process's CPU time that compiling may take (budget.h; 3); 100: no limit
//   SHUNT_JIT_CACHE=on|off|dir  the disk cache of thunks and fused loops (cache.h; on)
//   SHUNT_JIT_CACHE_MB=n       size limit of the disk cache (256)
//   SHUNT_STATS=1|file.json    print the table of hot pairs at exit, or write it to the file; count the calls in thunks
#pragma once

#include <shunt/core/tls.h>
#include <shunt/jit/cache.h>
#include <shunt/jit/compile_times.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shunt {
class Operator;
}

namespace shunt::jit {

/// Turns the compilation of hot pairs on or off. Turning it off drops all thunks and fused loops before it returns.
SHUNT_API void set_enabled(bool on);
SHUNT_API bool enabled();
/// Waits until all that is queued is compiled, whatever the budget. Must not be called from inside a kernel.
SHUNT_API void wait_idle();
/// Drops all thunks and fused loops. Pairs must get hot again.
SHUNT_API void clear();

/// How far the compilation of a pair is.
enum class PairState : uint8_t { kCounting, kQueued, kCompiled, kRefused };
SHUNT_API const char* toString(PairState state);

/// A pair: an operator with a keyset and a signature of arguments.
struct PairStats {
  std::string op;
  std::string keys;
  std::string signature;
  PairState state = PairState::kCounting;
  uint64_t interpreted = 0;   // calls, estimated from samples
  uint64_t in_thunks = 0;     // calls; counted only if Stats::counts_calls
  uint64_t guard_misses = 0;  // calls in thunks with other operands than expected
  double speedup = 0;         // interpreted time over compiled time, last measured; 0: not measured
  uint32_t compiles = 0, loads = 0, invalidations = 0;  // loads: of thunks from the disk cache
  int tier = 0;                                         // of the last thunk; 0: there was none
  int kinds = 0;                                        // kinds of operands for which it has a loop; 0: no guard
  size_t bytes = 0;                                     // of its code and constants
  CompileTimes times;                                   // of the last compile
  CompileTimes first_times;                             // of the first tier's compile, if a second one followed
  std::string reason;                                   // why it was refused, or its last thunk was retired
  std::string invalidated_by;                           // the cause of the last invalidation
  std::string plan;                                     // the last plan as text
};

/// A thunk that was invalidated or retired. `what` and `cause` are text for people; the rest identifies the pair.
struct InvalidationRecord {
  std::string what, cause;
  const Operator* op = nullptr;
  uint64_t keys = 0, signature = 0;
};

/// Fused loops of compiled functions (shunt/jit/fused_loop.h). `live` and `bytes` are current; the others
/// count since the process began.
struct FusedStats {
  uint64_t asked = 0;                                          // different loops that were requested
  uint64_t compiled = 0, loaded = 0, refused = 0, failed = 0;  // loaded: from the disk cache
  uint64_t cache_rejected = 0;                                 // cache files that could not be used
  uint64_t live = 0;                                           // loops whose code is in memory
  uint64_t bytes = 0;                                          // of the code of these
  CompileTimes times;                                          // of all compiles and loads
};

/// A living compiled function (shunt/compile/compile.h), or all destroyed ones of one name.
struct CompiledStats {
  std::string name;                                      // CompileOptions::name
  uint64_t functions = 1, living = 1;                    // how many the row stands for; living: 0 or 1
  uint64_t graph_calls = 0, function_calls = 0;          // calls that ran a graph, and that ran the function
  uint64_t recorded = 0, invalidated = 0, variants = 0;  // as CompileCounts
  double record_ms = 0;                                  // CPU milliseconds of recording and planning
};

/// What the compiler has done so far in this process.
struct Stats {
  bool available = false;     // the compiler is loaded
  bool counts_calls = false;  // SHUNT_STATS was set when the program began
  uint64_t compiled = 0, loaded = 0, refused = 0, failed = 0, outdated = 0;  // loaded: thunks from the disk cache
  uint64_t cache_rejected = 0;                                               // cache files that could not be used
  size_t code_bytes = 0;                                                     // executable memory in use
  FusedStats fused;
  std::vector<CompiledStats> compiled_functions;  // those that have been called, by name
  std::vector<PairStats> pairs;                   // most called first
  std::vector<InvalidationRecord> invalidations;  // the last ones, oldest first
};
/// A snapshot of all counts.
SHUNT_API Stats stats();
/// Statistics as a table for people.
SHUNT_API std::string statsTable(const Stats& of = stats());
/// Statistics as JSON, which bin/shunt reads, and back. InvalidationRecord's op, keys and signature are not kept.
SHUNT_API std::string statsJson(const Stats& of = stats());
SHUNT_API Stats statsFromJson(std::string_view json);

/// The number of calls of this thread that ran in thunks so far.
inline uint64_t calls_in_thunks() {
  const auto& tls = detail::tls_state;
  return tls.hot_calls + static_cast<uint64_t>(tls.timing_distance - tls.timing_countdown);
}

/// The last thousand or so removed thunks, oldest first.
SHUNT_API std::vector<InvalidationRecord> invalidation_log();

}  // namespace shunt::jit
