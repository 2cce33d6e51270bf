// The just-in-time compiler as its users see it: switch, wait, statistics, explanations.
//
// Every function may be called from any thread. Without the compiler (built with SHUNT_JIT=OFF, or libshunt_jit.so
// missing) all of them work and say so: nothing is ever compiled.
//
// Environment, read at first use; a bad value warns once and the default holds:
//   SHUNT_JIT=0|1              compile at all (1)
//   SHUNT_JIT_THRESHOLD=n      calls of a pair before it is compiled (512)
//   SHUNT_JIT_SYNC=1           compile in the calling thread, at the threshold's call (tests)
//   SHUNT_JIT_KEEP=1           keep thunks that are slower than the interpreter, and time none
//   SHUNT_JIT_TIER=auto|1|2|both  first a quick compile, and a thorough one of what stays hot; or one of these only;
//                              `both`: as auto, under SHUNT_JIT_KEEP too (auto)
//   SHUNT_JIT_BUDGET=n         percent of the process's CPU time that compiling may take (budget.h; 3); 100: no bound
//   SHUNT_JIT_CACHE=on|off|dir  load thunks and fused loops from the disk, and store them there (cache.h; on)
//   SHUNT_JIT_CACHE_MB=n       how much may lie there (256)
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

/// Whether hot pairs are compiled. Turning it off drops every thunk before it returns.
SHUNT_API void set_enabled(bool on);
SHUNT_API bool enabled();
/// Waits until everything that is queued is compiled, whatever the budget. Never from inside an operator's kernel.
SHUNT_API void wait_idle();
/// Drops all thunks; pairs have to get hot again.
SHUNT_API void clear();

/// How far a pair has come.
enum class PairState : uint8_t { kCounting, kQueued, kCompiled, kRefused };
SHUNT_API const char* toString(PairState state);

/// A pair: an operator with a keyset and a signature of arguments.
struct PairStats {
  std::string op;
  std::string keys;
  std::string signature;
  PairState state = PairState::kCounting;
  uint64_t interpreted = 0;   // calls, from samples
  uint64_t in_thunks = 0;     // calls; counted where Stats::counts_calls
  uint64_t guard_misses = 0;  // of those, how many met operands other than expected
  double speedup = 0;         // interpreted over compiled time, where it was compared last; 0 where it was not
  uint32_t compiles = 0, loads = 0, invalidations = 0;  // loads: of thunks from the disk cache
  int tier = 0;                                         // of the last thunk; 0: there was none
  int kinds = 0;                                        // of operands that it has a loop for; 0: no guard
  size_t bytes = 0;
  CompileTimes times;
  CompileTimes first_times;    // of the first tier's compile, where a second followed it
  std::string reason;          // why it was refused, or its last thunk retired
  std::string invalidated_by;  // the last time
  std::string plan;
};

/// A thunk that went, and why. `what` is for people; the pair's identity follows.
struct InvalidationRecord {
  std::string what, cause;
  const Operator* op = nullptr;
  uint64_t keys = 0, signature = 0;
};

/// Fused loops of compiled functions (shunt/jit/fused_loop.h), since the program began but for `live` and `bytes`.
struct FusedStats {
  uint64_t asked = 0;                                          // different loops that were asked for
  uint64_t compiled = 0, loaded = 0, refused = 0, failed = 0;  // loaded: from the disk cache
  uint64_t cache_rejected = 0;                                 // files of it that could not be used
  uint64_t live = 0;                                           // whose code is in memory, ...
  uint64_t bytes = 0;                                          // ...of so many bytes
  CompileTimes times;                                          // of all compiles and loads
};

/// A compiled function (shunt/compile/compile.h) that lives; those of one name that are gone are one row.
struct CompiledStats {
  std::string name;
  uint64_t functions = 1, living = 1;
  uint64_t graph_calls = 0, function_calls = 0;          // that ran a graph, and the function itself
  uint64_t recorded = 0, invalidated = 0, variants = 0;  // variants: in use
  double record_ms = 0;                                  // that recording took, with what is made of it
};

/// What the compiler did so far.
struct Stats {
  bool available = false;     // the compiler was loaded
  bool counts_calls = false;  // SHUNT_STATS was set when the program began
  uint64_t compiled = 0, loaded = 0, refused = 0, failed = 0, outdated = 0;  // loaded: thunks from the disk cache
  uint64_t cache_rejected = 0;                                               // files of it that could not be used
  size_t code_bytes = 0;
  FusedStats fused;
  std::vector<CompiledStats> compiled_functions;  // those that have been called, by name
  std::vector<PairStats> pairs;                   // most called first
  std::vector<InvalidationRecord> invalidations;  // the last ones, oldest first
};
/// A snapshot of all counts.
SHUNT_API Stats stats();
/// The same as a table.
SHUNT_API std::string statsTable(const Stats& of = stats());
/// The same as JSON, which bin/shunt reads, and back. An invalidation's identity is not kept.
SHUNT_API std::string statsJson(const Stats& of = stats());
SHUNT_API Stats statsFromJson(std::string_view json);

/// How many calls of this thread ran in thunks so far.
inline uint64_t calls_in_thunks() {
  const auto& tls = detail::tls_state;
  return tls.hot_calls + static_cast<uint64_t>(tls.timing_distance - tls.timing_countdown);
}

/// What was invalidated, oldest first; the last thousand or so.
SHUNT_API std::vector<InvalidationRecord> invalidation_log();

}  // namespace shunt::jit
