// The compiler's interface: what libshunt.so asks of libshunt_jit.so. No LLVM here.
//
// libshunt_jit.so exports `shunt_jit_provider`, is loaded from the folder of libshunt.so when the first pair gets hot,
// and is never unloaded. compile() and compileFused() run on the compiler's thread (or in the caller under
// SHUNT_JIT_SYNC=1), one call of either at a time.
#pragma once

#include <shunt/core/op_state.h>
#include <shunt/jit/cache.h>
#include <shunt/jit/compile_times.h>
#include <shunt/jit/fused_loop.h>
#include <shunt/jit/tier.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace shunt::jit {

/// What a pair's thunks count when SHUNT_STATS is set; never freed, since a thunk may run at any time.
struct CallCounters {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> guard_misses{0};  // calls in which the interpreter's entry ran behind the last guard
};

/// Counts the guard misses of a pair's thunks, as sampled, and says when the next operands are to be recorded: Note
/// [Operands that miss] (src/tiering/missed_call.cpp). Never freed, since a thunk may run at any time.
struct MissCount {
  const Operator* op = nullptr;  // the pair
  uint64_t keys = 0, signature = 0;
  std::atomic<int64_t> misses{0};  // since the thunk in force was published
  std::atomic<int64_t> due{0};     // so many; 0: not decided yet
};

/// An operator that the call which made a pair hot called, at whatever depth: as it was called first.
struct InnerCall {
  const Operator* op = nullptr;
  uint64_t keys = 0;
  bool has_loop = false;  // its own thunk has more than its chain
};
inline constexpr int kMaxInnerCalls = 8;
using InnerCalls = std::array<InnerCall, kMaxInnerCalls>;  // op is null behind the last

/// A process-wide setting that this call read (src/core/settings.h), and its version before the call.
struct SettingRead {
  int setting = -1;
  uint64_t version = 0;
};
inline constexpr int kMaxSettingsRead = 4;
using SettingsRead = std::array<SettingRead, kMaxSettingsRead>;  // -1 behind the last

/// The kinds of operands that a thunk expects, in the order in which its guards ask for them. Those with a loop are the
/// first ones; where there is none, the first one may be operands that no guard expects, whose calls only count. Four,
/// since each adds a guard to a miss and a loop to the code.
inline constexpr int kMaxOperandKinds = 4;
using OperandKinds = std::array<detail::LoopRecord, kMaxOperandKinds>;
constexpr int countOf(const OperandKinds& kinds) {
  int n = 0;
  while (n < kMaxOperandKinds && kinds[static_cast<size_t>(n)].places.hasLoop()) ++n;
  return n;
}

/// Whether the first tier has a guard for these operands: it calls an ahead-of-time loop, which takes them as they are
/// or not at all. Others it leaves to the interpreter, which is faster than a loop that converts one element at a time.
inline bool firstTierExpects(const detail::LoopRecord& record) { return record.places.ready != nullptr; }

/// A hot pair, and what its kernel had before it: in the call that made it hot, then in calls that missed.
struct CompileRequest {
  const Operator* op = nullptr;
  uint64_t keys = 0;
  uint64_t signature = 0;
  OperandKinds kinds = {};
  CallCounters* counters = nullptr;  // null: the thunk doesn't count its calls
  MissCount* misses = nullptr;       // null: nor its misses
  uint64_t library_generation = 0;   // when it was recorded (kernel_library.h)
  InnerCalls calls = {};
  SettingsRead settings = {};
  std::string cache = {};  // directory of the disk cache; empty: neither load nor store
  Tier tier = Tier::kSecond;
  bool only_this_tier = false;  // SHUNT_JIT_TIER=1: the second's isn't loaded from the disk cache either
  bool only_load = false;       // what was not compiled before is kOutdated, `absent`, and not compiled
};

/// Of the disk cache: whether its directory is in use since nobody said anything. Trouble with it is logged at info
/// level then, not as a warning.
SHUNT_API bool cache_is_default();
/// Bytes that may lie in it: SHUNT_JIT_CACHE_MB.
SHUNT_API uint64_t cache_limit();

/// A plan as its readers see it: the chain's steps from the top, with the verdict on each.
struct PlanOutline {
  struct Step {
    DispatchKey key;
    std::string verdict;  // "inline", "call" or "refuse"
    std::string why;      // of a verdict other than inline
    std::string symbol;
  };
  std::vector<Step> steps;
  std::string refusal;  // empty: the pair can be compiled
  std::string printed;
};

enum class Verdict : uint8_t {
  kCompiled,
  kRefused,   // this pair can't be compiled as its operator is registered now; `reason` says why
  kOutdated,  // a registration came between: ask again
  kFailed,    // the compiler could not, for a reason that is not the pair's
};

/// What the disk cache had for a request.
enum class CacheAnswer : uint8_t {
  kNotAsked,
  kNothing,
  kRejected,  // a file that can't be used, `cache_problem` says why: it was compiled
  kLoaded,    // the code was not compiled, but loaded
};

struct CompileResult {
  Verdict verdict = Verdict::kFailed;
  std::string reason;
  std::string plan;  // printed, a line per step
  CompileTimes times;
  size_t bytes = 0;           // of code and its constants
  Tier tier = Tier::kSecond;  // of the thunk: what the first tier can't compile, the second does
  bool worth_again = false;   // the second tier may make better code of it
  CacheAnswer cache = CacheAnswer::kNotAsked;
  std::string cache_problem;
  bool absent = false;  // of `only_load`: neither the disk cache nor the process has the code
};

/// The code of a fused loop, freed with this object. Whoever destroys it, on any thread, knows that nobody runs it.
class FusedCode {
 public:
  FusedCode() = default;
  virtual ~FusedCode() = default;
  FusedCode(const FusedCode&) = delete;
  FusedCode& operator=(const FusedCode&) = delete;

  FusedLoopFn function = nullptr;
  size_t bytes = 0;  // of code and its constants
  std::string name;  // that perf, gdb and dumps call it
};

struct FusedRequest {
  const FusedLoopSpec& spec;
  std::string cache = {};  // directory of the disk cache; empty: neither load nor store
  bool only_load = false;  // what the cache doesn't have is kOutdated, and not compiled
};

struct FusedResult {
  Verdict verdict = Verdict::kFailed;
  std::string reason;
  CompileTimes times;
  std::unique_ptr<FusedCode> code;  // of kCompiled
  CacheAnswer cache = CacheAnswer::kNotAsked;
  std::string cache_problem;
};

class Provider {
 public:
  virtual ~Provider() = default;
  /// Compiles and publishes. Does not throw.
  virtual CompileResult compile(const CompileRequest& request) noexcept = 0;
  /// Refused: a spec that is malformed, or has a step that can't be part of a fused loop; the reason names it. Does not
  /// throw.
  virtual FusedResult compileFused(const FusedRequest& request) noexcept = 0;
  /// What compile() would do. Not while it runs.
  virtual PlanOutline outline(const CompileRequest& request) = 0;
  /// Frees what only makes further compiles faster: some 15 MB, which the next one reads again. Not while compile()
  /// runs.
  virtual void dropCaches() noexcept = 0;
  /// The process ends: a compile that is going on stops as soon as it can, and its request is outdated. Any thread.
  virtual void stop() noexcept = 0;
  /// Bytes of executable memory in use.
  virtual size_t codeBytes() const noexcept = 0;
  virtual std::string llvmVersion() const = 0;
  /// cache_entries() and cache_clear(). Not while compile() runs.
  virtual std::vector<CacheEntry> cacheEntries(const std::string& directory) = 0;
  virtual size_t clearCache(const std::string& directory) = 0;
};

/// Changes with every change of this header or of src/dispatch/thunk.h: another library is refused.
inline constexpr int kProviderVersion = 14;
using ProviderFn = Provider* (*)(int version);

}  // namespace shunt::jit
