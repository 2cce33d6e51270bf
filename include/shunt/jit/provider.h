// The compiler's interface: what libshunt.so asks of libshunt_jit.so. No LLVM here.
//
// libshunt_jit.so exports `shunt_jit_provider`, is loaded from the folder of libshunt.so when the first pair gets hot, and is
// never unloaded. compile() runs on the compiler's thread (or in the caller under SHUNT_JIT_SYNC=1), one call at a time.
#pragma once

#include <shunt/core/op_state.h>

#include <atomic>
#include <string>
#include <vector>

namespace shunt::jit {

/// What a pair's thunks count when SHUNT_STATS is set; never freed, since a thunk may run at any time.
struct CallCounters {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> guard_misses{0};  // calls in which the interpreter's elementwise entry ran behind the guard
};

/// A hot pair, and what its kernel had before it in the call that made it hot.
struct CompileRequest {
  const Operator* op = nullptr;
  uint64_t keys = 0;
  uint64_t signature = 0;
  detail::LoopRecord record;
  CallCounters* counters = nullptr;  // null: the thunk counts nothing
  uint64_t library_generation = 0;   // when it was recorded (kernel_library.h)
};

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

struct CompileTimes {
  double plan = 0, extract = 0, optimise = 0, generate = 0, link = 0;  // CPU milliseconds
  double total() const { return plan + extract + optimise + generate + link; }
};

/// The phases by name, in their order.
struct CompilePhase {
  const char* name;
  double CompileTimes::*ms;
};
inline constexpr CompilePhase kCompilePhases[] = {
    {"plan", &CompileTimes::plan},         {"extract", &CompileTimes::extract}, {"optimise", &CompileTimes::optimise},
    {"generate", &CompileTimes::generate}, {"link", &CompileTimes::link},
};

struct CompileResult {
  Verdict verdict = Verdict::kFailed;
  std::string reason;
  std::string plan;  // printed, a line per step
  CompileTimes times;
  size_t bytes = 0;  // of code and its constants
};

class Provider {
 public:
  virtual ~Provider() = default;
  /// Compiles and publishes. Does not throw.
  virtual CompileResult compile(const CompileRequest& request) noexcept = 0;
  /// What compile() would do. Not while it runs.
  virtual PlanOutline outline(const CompileRequest& request) = 0;
  /// Bytes of executable memory in use.
  virtual size_t codeBytes() const noexcept = 0;
};

/// Changes with every change of this header or of src/dispatch/thunk.h: another library is refused.
inline constexpr int kProviderVersion = 2;
using ProviderFn = Provider* (*)(int version);

}  // namespace shunt::jit
