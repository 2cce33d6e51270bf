// Compiled functions: which way each call goes, and what is known of them.
//
// Note [Variants]
// Variants stand in an array that only grows, until the function dies; a variant that a registration has put out of use
// stays there, retired. So calls read it without a lock:
//   record: under the mutex: the variant is finished; slots[count] := it; count := count + 1 (release)
//   call:   n := count (acquire); the slots below n; `retired` and `checked` (recorded.h)
// The thread that records holds `recording`, not the mutex, while the user's function runs: others run the function
// meanwhile. What a miss learns (how often a kind of arguments came, why something can't be recorded) is behind the
// mutex, which a hit doesn't take.
#include "src/compile/check.h"
#include "src/compile/recorded.h"

#include <shunt/core/environment.h>
#include <shunt/core/log.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>

namespace shunt::detail {

using compiled::Variant;

namespace {

constexpr size_t kMostEver = 64;  // with those that were retired
constexpr int kFailuresBeforeGivingUp = 3;
constexpr size_t kKindsRemembered = 256;
// What comes once isn't worth a graph; and many functions make something in their first call that later ones use. What
// stood in the way at one call may be gone (a hook, a registration meanwhile), so there are further attempts, but few.
constexpr int kCallsBeforeRecording[] = {2, 32, 512};

/// What is known of a kind of arguments for which there is no variant.
struct Kind {
  int calls = 0, attempts = 0;
  bool isDue() const {
    return attempts < static_cast<int>(std::size(kCallsBeforeRecording)) && calls >= kCallsBeforeRecording[attempts];
  }
};

struct Switches {
  bool on = flagFromEnvironment("SHUNT_COMPILE", true);
  bool check = flagFromEnvironment("SHUNT_COMPILE_CHECK", false);
};
const Switches& switches() {
  static const Switches all;
  return all;
}

}  // namespace

struct CompiledFunction::State {
  CompileOptions options;
  std::unique_ptr<Variant> slots[kMostEver];
  std::atomic<size_t> count{0};
  std::atomic<bool> recording{false}, given_up{false};
  std::atomic<bool> compiles_backward{true};  // until a graph had better kept its history
  std::atomic<bool> links_history{true};      // until a graph was found that can't, for arguments from other graphs
  std::atomic<uint64_t> hits{0}, eager{0}, recorded{0}, invalidated{0};
  std::atomic<const char*> unusual{nullptr};  // why the last call whose thread or tensors no graph can serve was one
  std::mutex mutex;
  // Behind the mutex.
  std::map<std::string, Kind> kinds;
  std::string refusal;
  int failures = 0;

  size_t live() const {
    size_t n = 0;
    for (size_t i = 0; i < count.load(std::memory_order_acquire); ++i)
      n += !slots[i]->retired.load(std::memory_order_relaxed);
    return n;
  }
  bool isFull() const {
    return count.load(std::memory_order_acquire) == kMostEver || live() >= static_cast<size_t>(options.max_variants);
  }
  void retire(const Variant& variant, const char* why) {
    if (variant.retired.exchange(true)) return;
    invalidated.fetch_add(1, std::memory_order_relaxed);
    log(LogLevel::kInfo, str(options.name, ": a variant is out of use, since ", why, ": ", variant.guard->describe()));
  }
  Decision call(const char* why = nullptr) {
    if (why != nullptr) unusual.store(why, std::memory_order_relaxed);
    eager.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  /// The variant for these arguments; null where there is none.
  const Variant* find(const CompileArguments& arguments);
  bool isWorthRecording(const CompileArguments& arguments);
  const Variant* add(std::unique_ptr<Variant> variant, const CompileArguments& arguments);
  /// What an attempt to record has come to, where that is no variant; `threw`: the function itself did, too.
  void noteAttempt(const std::string& key, const std::string& why, bool threw);
  std::string kindOf(const CompileArguments& arguments) const { return compiled::Guard(arguments, options).key(); }
};

namespace {

/// The flag `recording`, set by this thread: cleared in the end, unless somebody else is to do that.
class RecordingTurn {
 public:
  explicit RecordingTurn(std::atomic<bool>& flag) : flag_(&flag) {}
  ~RecordingTurn() {
    if (flag_ != nullptr) flag_->store(false, std::memory_order_release);
  }
  RecordingTurn(const RecordingTurn&) = delete;
  RecordingTurn& operator=(const RecordingTurn&) = delete;
  void leaveSet() { flag_ = nullptr; }

 private:
  std::atomic<bool>* flag_;
};

}  // namespace

CompiledFunction::CompiledFunction(CompileOptions options) : state_(std::make_unique<State>()) {
  SHUNT_CHECK(options.max_variants >= 1, "compile: max_variants is ", options.max_variants, ": expected 1 or more");
  for (const Tensor* t : options.captures) SHUNT_CHECK(t != nullptr, "compile: captures holds a null pointer");
  for (const double* s : options.scalars) SHUNT_CHECK(s != nullptr, "compile: scalars holds a null pointer");
  state_->options = std::move(options);
}

CompiledFunction::~CompiledFunction() = default;

bool CompiledFunction::State::isWorthRecording(const CompileArguments& arguments) {
  if (given_up.load(std::memory_order_relaxed) || isFull()) return false;
  const std::string key = kindOf(arguments);
  const std::lock_guard lock(mutex);
  if (kinds.size() >= kKindsRemembered && !kinds.contains(key)) return false;
  Kind& kind = kinds[key];
  ++kind.calls;
  if (!kind.isDue()) return false;
  ++kind.attempts;
  return true;
}

const Variant* CompiledFunction::State::find(const CompileArguments& arguments) {
  const size_t n = count.load(std::memory_order_acquire);
  for (size_t i = 0; i < n; ++i) {
    const Variant& variant = *slots[i];
    if (variant.retired.load(std::memory_order_relaxed) || !variant.guard->holds(arguments)) continue;
    if (!variant.isCurrent()) {
      retire(variant, "an operator that it was recorded with is registered in another way now");
      continue;
    }
    if (variant.backward == nullptr || !variant.backward->isRunAgainTooOften()) return &variant;
    compiles_backward.store(false, std::memory_order_relaxed);
    retire(variant, "its graph has been run again for backward() too often");
  }
  return nullptr;
}

CompiledFunction::Decision CompiledFunction::decide(const CompileArguments& arguments) {
  State& s = *state_;
  if (!switches().on) return s.call();
  if (const char* why = compiled::whyNotOnThisThread()) return s.call(why);
  if (const Variant* variant = s.find(arguments)) {
    s.hits.fetch_add(1, std::memory_order_relaxed);
    return {Way::kRun, variant};
  }
  for (const Tensor* t : arguments.tensors)
    if (const char* why = compiled::whyNotWith(*t, s.links_history.load(std::memory_order_relaxed))) return s.call(why);
  if (s.recording.exchange(true, std::memory_order_acquire)) return s.call();
  RecordingTurn turn(s.recording);
  // Another thread may have made it meanwhile.
  const Variant* variant = s.find(arguments);
  if (variant == nullptr && s.isWorthRecording(arguments)) {
    turn.leaveSet();  // until record() ends
    return {Way::kRecord, nullptr};
  }
  if (variant == nullptr) return s.call();
  s.hits.fetch_add(1, std::memory_order_relaxed);
  return {Way::kRun, variant};
}

const CompiledFunction::Variant* CompiledFunction::State::add(std::unique_ptr<Variant> variant,
                                                              const CompileArguments& arguments) {
  const std::string key = kindOf(arguments);
  const std::lock_guard lock(mutex);
  kinds.erase(key);  // it may be put out of use, and come again
  failures = 0;
  const size_t n = count.load(std::memory_order_relaxed);
  slots[n] = std::move(variant);
  count.store(n + 1, std::memory_order_release);
  recorded.fetch_add(1, std::memory_order_relaxed);
  hits.fetch_add(1, std::memory_order_relaxed);
  return slots[n].get();
}

const CompiledFunction::Variant* CompiledFunction::record(
    const CompileArguments& arguments,
    FunctionRef<std::shared_ptr<void>(TraceCall&, const std::vector<Tensor>&)> record, std::string& why) {
  State& s = *state_;
  const RecordingTurn turn(s.recording);
  try {
    return s.add(
        compiled::recordVariant(arguments, s.options, record, s.compiles_backward.load(std::memory_order_relaxed)),
        arguments);
  } catch (const compiled::KeepsTensors& e) {
    why = e.what();
    s.given_up.store(true, std::memory_order_relaxed);
  } catch (const compiled::KeepsHistory& e) {
    why = e.what();
    s.links_history.store(false, std::memory_order_relaxed);
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
    why = "it throws what is no std::exception";
  }
  s.call();
  return nullptr;
}

CompiledFunction::NotRecorded::NotRecorded(CompiledFunction& function, const CompileArguments& arguments,
                                           std::string why)
    : state_(*function.state_),
      kind_(state_.kindOf(arguments)),
      why_(std::move(why)),
      exceptions_(std::uncaught_exceptions()) {}

CompiledFunction::NotRecorded::~NotRecorded() {
  try {
    state_.noteAttempt(kind_, why_, std::uncaught_exceptions() > exceptions_);
  } catch (...) {  // no memory: so nothing is noted
  }
}

void CompiledFunction::State::noteAttempt(const std::string& key, const std::string& why, bool threw) {
  const std::lock_guard lock(mutex);
  refusal = why;
  const auto kind = kinds.find(key);
  if (threw || (kind != kinds.end() && kind->second.attempts > 1)) return;
  if (++failures == 1) log(LogLevel::kWarning, str(options.name, " runs without a graph: ", why));
  if (failures >= kFailuresBeforeGivingUp) given_up.store(true, std::memory_order_relaxed);
}

CompileOutputs CompiledFunction::run(const Variant& variant, const CompileArguments& arguments,
                                     FunctionRef<CompileOutputs()> function) {
  if (switches().check) [[unlikely]]
    return compiled::runChecked(state_->options.name, variant, arguments, function);
  if (variant.has_effects) return variant.run(arguments);
  try {
    return variant.run(arguments);
  } catch (const std::exception&) {
  }
  return function();  // throws what the graph has, with what it does besides
}

const void* CompiledFunction::result(const Variant& variant) { return variant.result.get(); }

CompileCounts CompiledFunction::counts() const {
  const State& s = *state_;
  return {s.hits, s.eager, s.recorded, s.invalidated, s.live()};
}

const Graph* CompiledFunction::graph() const {
  const size_t n = state_->count.load(std::memory_order_acquire);
  return n == 0 ? nullptr : &state_->slots[n - 1]->graph;
}

std::string CompiledFunction::plan() const {
  const size_t n = state_->count.load(std::memory_order_acquire);
  if (n == 0) return "";
  const Variant& last = *state_->slots[n - 1];
  return last.executor->describe() + (last.backward != nullptr ? last.backward->describe() : "");
}

std::string CompiledFunction::explain() const {
  State& s = *state_;
  std::string text =
      str(s.options.name, ": ", s.hits.load(), " calls ran a graph, ", s.eager.load(), " the function\n");
  if (!switches().on) text += "SHUNT_COMPILE=0\n";
  for (size_t i = 0; i < s.count.load(std::memory_order_acquire); ++i) {
    const Variant& v = *s.slots[i];
    text += str("variant ", i, v.retired ? " (out of use) " : " ", v.guard->describe(), ": ", v.graph.nodes().size(),
                " operators\n");
    if (!v.why_no_backward.empty()) text += str("  its backward pass is not compiled: ", v.why_no_backward, '\n');
  }
  const std::lock_guard lock(s.mutex);
  if (!s.refusal.empty()) text += str(s.given_up ? "not recorded any more: " : "not recorded: ", s.refusal, '\n');
  if (const char* why = s.unusual.load(std::memory_order_relaxed)) text += str("ran the function because ", why, '\n');
  if (s.count.load(std::memory_order_acquire) == kMostEver)
    text += str(kMostEver, " variants were made, most of which registrations have put out of use; no more are made\n");
  else if (s.isFull())
    text += str("no more variants than ", s.options.max_variants, " are made\n");
  return text;
}

}  // namespace shunt::detail
