// The interface between libshunt.so and the compiler in libshunt_jit.so. No LLVM here.
//
// libshunt_jit.so exports `shunt_jit_provider`. It is loaded from the folder of libshunt.so when the first pair gets
// hot, and is never unloaded. compile() and compileFused() run on the compiler's thread, or on the caller's under
// SHUNT_JIT_SYNC=1. One call of either runs at a time.
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

/// The counts of a pair's thunks under SHUNT_STATS. Never freed, because a thunk may run at any time.
struct CallCounters {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> guard_misses{0};  // calls that no guard accepted, so that the interpreter's entry ran
};

/// Counts sampled guard misses of a pair's thunks, and when the next operands are recorded: Note [Operands that miss]
/// (src/tiering/missed_call.cpp). Never freed, because a thunk may run at any time.
struct MissCount {
  const Operator* op = nullptr;  // the pair
  uint64_t keys = 0, signature = 0;
  std::atomic<int64_t> misses{0};  // since the current thunk was published
  std::atomic<int64_t> due{0};     // misses at which operands are recorded; 0: not decided yet
};

/// An operator that was called, at any depth, by the call that made a pair hot. Of several calls, the first.
struct InnerCall {
  const Operator* op = nullptr;
  uint64_t keys = 0;
  bool has_loop = false;  // its thunk has a loop, so it is called and not inlined
};
/// Further inner calls are not inlined.
inline constexpr int kMaxInnerCalls = 8;
using InnerCalls = std::array<InnerCall, kMaxInnerCalls>;  // op is null after the last one

/// A process-wide setting that the call read (src/core/settings.h), and its version before the call.
struct SettingRead {
  int setting = -1;
  uint64_t version = 0;
};
/// At least the number of process-wide settings, so a call never reads more.
inline constexpr int kMaxSettingsRead = 4;
using SettingsRead = std::array<SettingRead, kMaxSettingsRead>;  // -1 after the last one

/// The kinds of operands that a thunk expects, in the order of its guards. Kinds with a loop come first. If there is
/// none, the first kind may be operands that no guard accepts; their calls are only counted. At most four, because each
/// adds a guard to every miss and a loop to the code.
inline constexpr int kMaxOperandKinds = 4;
using OperandKinds = std::array<detail::LoopRecord, kMaxOperandKinds>;
constexpr int countOf(const OperandKinds& kinds) {
  int n = 0;
  while (n < kMaxOperandKinds && kinds[static_cast<size_t>(n)].places.hasLoop()) ++n;
  return n;
}

/// Whether the first tier has a guard for these operands. Its thunk calls an ahead-of-time loop, which must take them
/// unconverted. It leaves others to the interpreter, which is faster than a loop that converts element by element.
inline bool firstTierExpects(const detail::LoopRecord& record) { return record.places.ready != nullptr; }

/// A hot pair, and the operands that its kernel got: first in the call that made it hot, then in calls that missed.
struct CompileRequest {
  const Operator* op = nullptr;
  uint64_t keys = 0;
  uint64_t signature = 0;
  OperandKinds kinds = {};
  CallCounters* counters = nullptr;  // null: the thunk doesn't count its calls
  MissCount* misses = nullptr;       // null: the thunk doesn't count its misses
  uint64_t library_generation = 0;   // when it was recorded (kernel_library.h)
  InnerCalls calls = {};
  SettingsRead settings = {};
  std::string cache = {};  // directory of the disk cache; empty: neither load nor store
  Tier tier = Tier::kSecond;
  bool only_this_tier = false;  // SHUNT_JIT_TIER=1: don't load a second tier's thunk from the disk cache either
  bool only_load = false;       // don't compile; if there is no code, the result is kOutdated and `absent`
};

/// Whether the directory of the disk cache is the default, because nobody chose one. Problems with it are then logged
/// at info level, else as warnings.
SHUNT_API bool cache_is_default();
/// The size limit of the disk cache in bytes, from SHUNT_JIT_CACHE_MB.
SHUNT_API uint64_t cache_limit();

/// A plan for readers: the steps of the chain from the top, with a verdict on each.
struct PlanOutline {
  /// One kernel of the chain.
  struct Step {
    DispatchKey key;      // of the table slot
    std::string verdict;  // "inline", "call" or "refuse"
    std::string why;      // the reason of a verdict other than inline
    std::string symbol;   // of the kernel; empty if it has none
  };
  std::vector<Step> steps;  // in the order in which they are called
  std::string refusal;      // why the pair can't be compiled; empty if it can
  std::string printed;      // the whole plan as text, one line per step
};

/// The outcome of a request.
enum class Verdict : uint8_t {
  kCompiled,
  kRefused,   // the loop, or the pair as its operator is registered now, can't be compiled; `reason` says why
  kOutdated,  // something was registered meanwhile: request it again
  kFailed,    // the compiler failed for a reason that doesn't lie in the request
};

/// What the disk cache had for a request.
enum class CacheAnswer : uint8_t {
  kNotAsked,
  kNothing,
  kRejected,  // a file that can't be used; `cache_problem` says why. The code was compiled
  kLoaded,    // the code, which was loaded and not compiled
};

/// The outcome of Provider::compile(); the thunk itself was published.
struct CompileResult {
  Verdict verdict = Verdict::kFailed;
  std::string reason;                          // of kRefused and kFailed
  std::string plan;                            // as text, one line per step
  CompileTimes times;                          // of this request
  size_t bytes = 0;                            // of code and its constants
  Tier tier = Tier::kSecond;                   // of the thunk; the second tier compiles what the first can't
  bool worth_again = false;                    // the second tier may make better code
  CacheAnswer cache = CacheAnswer::kNotAsked;  // of the disk cache in the request
  std::string cache_problem;                   // of kRejected
  bool absent = false;                         // of `only_load`: neither the disk cache nor the process has the code
};

/// The code of a fused loop, which is freed with this object. Any thread may destroy it, but not while the code runs.
class FusedCode {
 public:
  FusedCode() = default;
  virtual ~FusedCode() = default;
  FusedCode(const FusedCode&) = delete;
  FusedCode& operator=(const FusedCode&) = delete;

  FusedLoopFn function = nullptr;  // valid while this object lives
  size_t bytes = 0;                // of code and its constants
  std::string name;                // in perf, gdb and dumps
};

/// A request for a fused loop.
struct FusedRequest {
  const FusedLoopSpec& spec;  // owned by the caller
  std::string cache = {};     // directory of the disk cache; empty: neither load nor store
  bool only_load = false;     // don't compile; if the cache has no code, the result is kOutdated
};

/// The outcome of Provider::compileFused().
struct FusedResult {
  Verdict verdict = Verdict::kFailed;
  std::string reason;                          // of kRefused and kFailed
  CompileTimes times;                          // of this request
  std::unique_ptr<FusedCode> code;             // of kCompiled
  CacheAnswer cache = CacheAnswer::kNotAsked;  // of the disk cache in the request
  std::string cache_problem;                   // of kRejected
};

/// The compiler. The process has one, which libshunt_jit.so owns and never destroys.
class Provider {
 public:
  virtual ~Provider() = default;
  /// Compiles a thunk and publishes it.
  virtual CompileResult compile(const CompileRequest& request) noexcept = 0;
  /// Compiles a fused loop. Refuses a malformed spec, and a step that can't be part of a fused loop, which the reason
  /// names.
  virtual FusedResult compileFused(const FusedRequest& request) noexcept = 0;
  /// The plan of compile(). Must not be called while compile() runs.
  virtual PlanOutline outline(const CompileRequest& request) = 0;
  /// Frees some 15 MB that only make further compiles faster; the next compile reads them again. Must not be called
  /// while compile() runs.
  virtual void dropCaches() noexcept = 0;
  /// Called when the process ends. A running compile stops as soon as it can, and its request is outdated. Any thread.
  virtual void stop() noexcept = 0;
  /// Bytes of executable memory in use.
  virtual size_t codeBytes() const noexcept = 0;
  virtual std::string llvmVersion() const = 0;
  /// Implement cache_entries() and cache_clear(). Must not be called while compile() runs.
  virtual std::vector<CacheEntry> cacheEntries(const std::string& directory) = 0;
  virtual size_t clearCache(const std::string& directory) = 0;
};

/// Must change with every change of this header or of src/dispatch/thunk.h. A library of another version is refused.
inline constexpr int kProviderVersion = 14;
using ProviderFn = Provider* (*)(int version);

}  // namespace shunt::jit
