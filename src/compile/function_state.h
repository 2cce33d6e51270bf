// What a compiled function knows: Note [Variants] (variants.h), Note [Kinds and sizes] (calls_seen.h), Note [Graphs
// that are slower] (worth/graph_trial.h).
//
// Note [Calls that pass by]
// A look at a call's arguments takes some 50 ns, and one whose time is taken some 200: much for a function of one small
// operator. So while none of the function's graphs is in use, a short call that was looked at lets the next ones pass
// by: they go to the function at once. There are so many that looking takes about a hundredth of the time, and no more
// than kMostPassing, so that other arguments are soon seen; how many is drawn, or arguments that come in turns might
// never meet a look. They count as what let them pass.
#pragma once

#include "src/compile/calls_seen.h"
#include "src/compile/checks/switches.h"
#include "src/compile/variants.h"
#include "src/compile/worth/recording_cost.h"
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
      : options(std::move(given)),
        tally(options.name),
        seen(options.max_variants, options.max_sizes, options.record_after) {}

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
  std::atomic<int> graphs_in_use{0};          // Variant::is_in_use
  std::atomic<uint32_t> passing_last{0};      // calls that pass by since the last look,
  std::atomic<int64_t> passing_ns{0};         // and what one of them takes
  std::atomic<uint32_t> drawn{1};             // the last number that letPass() has drawn
  compiled::RecordingCost recording_cost;
  std::mutex mutex;
  // Behind the mutex.
  compiled::CallsSeen seen;
  std::string refusal;
  int failures = 0;
  bool was_raced = false;  // the last attempt, by a registration

  void retire(const Variant& variant, const char* why);
  /// Whether times decide what is recorded and used.
  bool isTimed() const { return options.record_after == CompileOptions::kWhenItPays; }
  bool mayPass() const { return isTimed() && graphs_in_use.load(std::memory_order_relaxed) == 0; }
  /// The function is to run.
  Decision call(CallTimer& timer, const char* why = nullptr);
  Decision callInTrial(const Variant& variant, const CompileArguments& arguments, CallTimer& timer);
  /// After a call of the function that took so long: lets some pass by.
  void letPass(int64_t nanoseconds);
  /// Calls that have passed by since the last look, which are then counted.
  uint32_t takePassed() { return passing_last.exchange(0, std::memory_order_relaxed); }
  /// A call that found no variant has taken so long, besides those that passed by before it.
  void tookMiss(const CompileKind& kind, int64_t nanoseconds);
  /// Of the trial that this thread has claimed; `counts`: it didn't throw.
  void endTurn(const Variant& variant, int64_t nanoseconds, bool counts);
  void openTrial(const Variant& variant, uint64_t run);
  void setInUse(const Variant& variant, bool is_in_use);
  /// The variant for these arguments; null where there is none.
  const Variant* find(const CompileArguments& arguments);
  bool isWorthRecording(const CompileKind& kind);
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
