// What a compiled function knows: Note [Variants] (variants.h), Note [Kinds and sizes] (calls_seen.h).
#pragma once

#include "src/compile/calls_seen.h"
#include "src/compile/checks/switches.h"
#include "src/compile/variants.h"
#include "src/tiering/function_tally.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace shunt::compiled {
class CheckedRun;
}

namespace shunt::detail {

struct CompiledFunction::State {
  explicit State(CompileOptions given)
      : options(std::move(given)), tally(options.name), seen(options.max_variants, options.max_sizes) {}

  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::atomic<bool> is_on{compiled::isSwitchedOn()};  // until a check has found a difference
  const CompileOptions options;
  jit::FunctionTally tally;
  compiled::Variants variants;
  std::atomic<bool> recording{false}, given_up{false};
  std::atomic<bool> compiles_backward{true};  // until a graph had better kept its history
  std::atomic<bool> links_history{true};      // until a graph was found that can't, for arguments from other graphs
  std::atomic<const char*> unusual{nullptr};  // why the last call whose thread or tensors no graph can serve was one
  std::mutex mutex;
  // Behind the mutex.
  compiled::CallsSeen seen;
  std::string refusal;
  int failures = 0;
  bool was_raced = false;  // the last attempt, by a registration

  void retire(const Variant& variant, const char* why);
  Decision call(const char* why = nullptr) {
    if (why != nullptr) unusual.store(why, std::memory_order_relaxed);
    tally.eager.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  /// The variant for these arguments; null where there is none.
  const Variant* find(const CompileArguments& arguments);
  bool isWorthRecording(const CompileArguments& arguments);
  const Variant* add(std::unique_ptr<Variant> variant);
  /// What an attempt to record has come to, where that is no variant; `threw`: the function itself did, too.
  void noteAttempt(const CompileKind& kind, const std::string& why, bool threw);
  /// `run`: its number.
  Ran runAndCheck(const Variant& variant, const CompileArguments& arguments, FunctionRef<CompileOutputs()> function,
                  uint64_t run);
  void conclude(const Variant& variant, const compiled::CheckedRun& check, uint64_t run, uint64_t begun, uint64_t ns);
  /// A check has found that the variant is wrong: says so, and leaves all calls to the function.
  void drop(const Variant& variant, uint64_t run, const std::string& difference);
  CompileKind kindOf(const CompileArguments& arguments) const { return compiled::kindOfCall(arguments, options); }
  std::vector<const Variant*> variantsNow() {
    const std::lock_guard lock(mutex);
    return variants.all();
  }
  std::string explainVariants() const;
  std::string explainBounds() const;
};

}  // namespace shunt::detail
