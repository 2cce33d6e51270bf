// What a compiled function knows: Note [Variants] (variants.h), Note [Kinds and sizes] (calls_seen.h), Note [Graphs
// that are slower] (worth/graph_trial.h).
//
// Note [Calls that pass by]
// A look at a call's arguments takes some 50 ns, and one whose time is taken some 200: much for a function of one small
// operator. So while none of the function's graphs is in use, a short call that was looked at lets the next ones pass
// by: they go to the function at once. There are so many that looking takes about a hundredth of the time, and no more
// than kMostPassing, so that other arguments are soon seen; how many is drawn, or arguments that come in turns might
// never meet a look. They count as what let them pass. Where other arguments have graphs in use, calls that will get
// none pass by, too, told by a hash (worth/passing_kinds.h), which takes some 30 ns; and where hundreds of these came
// in a row, and no graph ran, some of the next calls pass by without that.
#pragma once

#include "src/compile/calls_seen.h"
#include "src/compile/guards/switches.h"
#include "src/compile/variants.h"
#include "src/compile/worth/new_arguments.h"
#include "src/compile/worth/passing_kinds.h"
#include "src/compile/worth/recording_cost.h"
#include "src/tiering/function_tally.h"
#include "src/trace/recorded_results.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
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
  std::atomic<const char*> why_no_backward{nullptr};  // null: backward passes are compiled
  std::atomic<bool> links_history{true};  // until a graph was found that can't, for arguments from other graphs
  compiled::WhyCounts whys;
  std::atomic<compiled::Why> timed_why{};    // of the last call of the function that was timed,
  std::atomic<compiled::Why> passing_why{};  // and of those that it lets pass
  std::atomic<int> graphs_in_use{0};         // Variant::is_in_use
  std::atomic<uint32_t> passing_last{0};     // calls that pass by since the last look,
  std::atomic<int64_t> passing_ns{0};        // and what one of them takes
  compiled::PassingKinds passing_kinds;
  std::atomic<uint32_t> passed_in_a_row{0};  // that these have let pass, since a graph ran:
  std::atomic<uint64_t> hits_before{0};      // the number of its runs then
  std::atomic<int> open_trials{0};
  std::atomic<uint32_t> drawn{1};  // the last number that letPass() has drawn
  compiled::RecordingCost recording_cost;
  mutable std::mutex mutex;
  // Behind the mutex.
  compiled::CallsSeen seen;
  compiled::NewArguments new_arguments;
  std::optional<CompileKind> last_missed;  // of the last call that found no graph, and has none yet
  std::string refusal;
  int failures = 0;
  int left = 0;            // variants, whose operators gave other results than were recorded
  bool was_raced = false;  // the last attempt, by a registration

  /// False: another thread has.
  bool retire(const Variant& variant, const char* why);
  static int64_t now();  // ns, of a steady clock
  /// Whether times decide what is recorded and used.
  bool isTimed() const { return options.record_after == CompileOptions::kWhenItPays; }
  bool mayPass() const { return isTimed() && graphs_in_use.load(std::memory_order_relaxed) == 0; }
  /// The function is to run: Note [Why a call runs the function] (guards/why.h).
  Decision call(compiled::Why why) {
    whys.add(why);
    tally.eager.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  /// One that passing_kinds let pass.
  Decision callWithoutLook(uint64_t hash);
  Decision call(CallTimer& timer, compiled::Why why);
  /// `began`: the look at the call, where a trial is open.
  Decision callInTrial(const Variant& variant, const CompileArguments& arguments, int64_t began, CallTimer& timer);
  /// After a call of the function that took so long: lets some pass by.
  void letPass(int64_t nanoseconds, compiled::Why why);
  void letAllPass(uint64_t many, compiled::Why why);
  /// Lets calls with such a hash pass by, `most` or somewhat fewer.
  void letPass(uint64_t hash, uint64_t most, compiled::Why why);
  /// A number up to `most`, at least half of it.
  uint64_t drawUpTo(uint64_t most);
  /// Calls that have passed by since the last look, which are then counted.
  uint32_t takePassed() { return passing_last.exchange(0, std::memory_order_relaxed); }
  /// A call that found no variant has taken so long, besides those that passed by before it.
  void tookMiss(const CompileKind& kind, int64_t nanoseconds);
  /// Of the trial that this thread has claimed; `counts`: it didn't throw.
  void endTurn(const Variant& variant, int64_t nanoseconds, bool counts);
  void openTrial(const Variant& variant, uint64_t run);
  void closeIfRetired(const Variant& variant);
  void setInUse(const Variant& variant, bool is_in_use);
  /// Whether the variant may run, as nothing was registered since. Retires it where not.
  bool fits(const Variant& variant);
  Decision decideWithoutVariant(const CompileArguments& arguments, uint64_t sizes, uint64_t hash, CallTimer& timer);
  /// Why such a call isn't recorded, kNone: it is to be.
  compiled::Why whyNotRecorded(const CompileKind& kind, const CompileArguments& arguments);
  const Variant* add(std::unique_ptr<Variant> variant);
  /// What an attempt to record has come to, where that is no variant; `threw`: the function itself did, too.
  void noteAttempt(const CompileKind& kind, const std::string& why, bool threw);
  Ran runGraph(const Variant& variant, const CompileArguments& arguments, FunctionRef<CompileOutputs()> function);
  /// `run`: its number.
  Ran runAndCheck(const Variant& variant, const CompileArguments& arguments, FunctionRef<CompileOutputs()> function,
                  uint64_t run);
  /// CompileCheck::kAlways.
  Ran runAndCompare(const Variant& variant, const CompileArguments& arguments, FunctionRef<CompileOutputs()> function);
  /// An operator has given other results than were recorded: puts the variant out of use for good, with a warning.
  /// Throws where the function can't run in the graph's place. Note [Recorded results]
  /// (src/trace/recorded_results.h).
  void leave(const Variant& variant, const trace_detail::OtherResults& other);
  void conclude(const Variant& variant, const compiled::CheckedRun& check, uint64_t run, uint64_t begun, uint64_t ns);
  /// A check has found that the variant is wrong: says so, and leaves all calls to the function.
  void drop(const Variant& variant, uint64_t run, const std::string& difference);
  CompileKind kindOf(const CompileArguments& arguments) const { return compiled::kindOfCall(arguments, options); }
  std::vector<const Variant*> variantsNow() {
    const std::lock_guard lock(mutex);
    return variants.all();
  }
  std::string explainCounts() const;
  std::string explainVariants() const;
  std::string explainBounds() const;
  std::string explainMiss(const CompileKind& call) const;
  std::string explainRecording() const;
};

}  // namespace shunt::detail
