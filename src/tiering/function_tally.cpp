#include "src/tiering/function_tally.h"

#include <shunt/core/fork.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace shunt::jit {

/// All there are. Never destroyed: static objects may be compiled functions, and the report is written at exit.
class FunctionTallies {
 public:
  static FunctionTallies& instance() {
    static FunctionTallies* const all = new FunctionTallies;
    return *all;
  }
  FunctionTallies() {
    shunt::detail::holdAcrossFork(3, [] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); });
  }
  void add(const FunctionTally* tally) {
    const std::lock_guard lock(mutex_);
    living_.insert(tally);
  }
  void remove(const FunctionTally* tally) noexcept {
    const std::lock_guard lock(mutex_);
    living_.erase(tally);
    try {
      CompiledStats row = tally->stats();
      if (row.graph_calls + row.function_calls == 0) return;
      row.living = row.variants = 0;
      const bool has_room = gone_.size() < kMostNames || gone_.contains(row.name);
      const auto [at, is_new] = gone_.try_emplace(has_room ? row.name : kOthers);
      if (is_new) at->second.functions = 0;
      addTo(at->second, row);
    } catch (const std::bad_alloc&) {  // it is missing in the statistics
    }
  }
  std::vector<CompiledStats> rows() const {
    std::vector<CompiledStats> out;
    const std::lock_guard lock(mutex_);
    for (const FunctionTally* tally : living_) {
      CompiledStats row = tally->stats();
      if (row.graph_calls + row.function_calls != 0) out.push_back(std::move(row));
    }
    for (const auto& [name, row] : gone_) {
      out.push_back(row);
      out.back().name = name;
    }
    std::ranges::sort(out, {}, [](const auto& row) { return std::tie(row.name, row.graph_calls, row.function_calls); });
    return out;
  }

 private:
  static constexpr size_t kMostNames = 256;
  static constexpr const char* kOthers = "other compiled functions";

  static void addTo(CompiledStats& all, const CompiledStats& one) {
    all.functions += one.functions;
    all.living = 0;
    all.graph_calls += one.graph_calls;
    all.function_calls += one.function_calls;
    all.recorded += one.recorded;
    all.invalidated += one.invalidated;
    all.record_ms += one.record_ms;
  }

  mutable std::mutex mutex_;  // a leaf
  std::unordered_set<const FunctionTally*> living_;
  std::map<std::string, CompiledStats> gone_;
};

namespace {
[[maybe_unused]] const FunctionTallies& made_at_load = FunctionTallies::instance();
}  // namespace

FunctionTally::FunctionTally(std::string name) : name_(std::move(name)) { FunctionTallies::instance().add(this); }

FunctionTally::~FunctionTally() {
  FunctionTallies::instance().remove(this);
  for (GraphRuns* runs = graphs_.load(std::memory_order_relaxed); runs != nullptr;)
    delete std::exchange(runs, runs->next);
}

GraphRuns& FunctionTally::addGraph() {
  auto* const runs = new GraphRuns;
  runs->next = graphs_.load(std::memory_order_relaxed);
  graphs_.store(runs, std::memory_order_release);
  return *runs;
}

uint64_t FunctionTally::hits() const {
  uint64_t all = 0;
  for (const GraphRuns* runs = graphs_.load(std::memory_order_acquire); runs != nullptr; runs = runs->next)
    all += runs->begun.load(std::memory_order_relaxed);
  return all;
}

uint64_t FunctionTally::functionCalls() const {
  const uint64_t all = eager.load(std::memory_order_relaxed);
  return all - std::min<uint64_t>(all, passing.load(std::memory_order_relaxed));
}

CompiledStats FunctionTally::stats() const {
  CompiledStats out{.name = name_};
  out.graph_calls = hits();
  out.function_calls = functionCalls();
  out.invalidated = invalidated.load(std::memory_order_relaxed);
  out.recorded = recorded.load(std::memory_order_relaxed);
  out.variants = out.recorded - std::min(out.recorded, out.invalidated);
  out.record_ms = static_cast<double>(record_ns.load(std::memory_order_relaxed)) * 1e-6;
  return out;
}

std::vector<CompiledStats> statsOfFunctions() { return FunctionTallies::instance().rows(); }

}  // namespace shunt::jit
