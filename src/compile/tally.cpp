#include "src/compile/tally.h"

#include <shunt/core/fork.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_set>

namespace shunt::compiled {

/// All there are. Never destroyed: static objects may be compiled functions, and the report is written at exit.
class Tallies {
 public:
  static Tallies& instance() {
    static Tallies* const all = new Tallies;
    return *all;
  }
  Tallies() {
    detail::holdAcrossFork(3, [] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); });
  }
  void add(const Tally* tally) {
    const std::lock_guard lock(mutex_);
    living_.insert(tally);
  }
  void remove(const Tally* tally) noexcept {
    const std::lock_guard lock(mutex_);
    living_.erase(tally);
    try {
      jit::CompiledStats row = rowOf(*tally);
      if (row.graph_calls + row.function_calls == 0) return;
      row.living = row.variants = 0;
      addTo(gone_.size() < kMostNames || gone_.contains(row.name) ? gone_[row.name] : gone_[kOthers], row);
    } catch (const std::bad_alloc&) {  // it is missing in the statistics
    }
  }
  std::vector<jit::CompiledStats> rows() const {
    std::vector<jit::CompiledStats> out;
    const std::lock_guard lock(mutex_);
    for (const Tally* tally : living_) {
      jit::CompiledStats row = rowOf(*tally);
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

  static jit::CompiledStats rowOf(const Tally& tally) {
    const CompileCounts c = tally.counts();
    return {.name = tally.name_,
            .graph_calls = c.hits,
            .function_calls = c.eager,
            .recorded = c.recorded,
            .invalidated = c.invalidated,
            .variants = c.variants,
            .record_ms = c.record_ms};
  }
  static void addTo(jit::CompiledStats& all, const jit::CompiledStats& one) {
    all.functions = (all.name.empty() ? 0 : all.functions) + one.functions;
    all.name = one.name;
    all.living = 0;
    all.graph_calls += one.graph_calls;
    all.function_calls += one.function_calls;
    all.recorded += one.recorded;
    all.invalidated += one.invalidated;
    all.record_ms += one.record_ms;
  }

  mutable std::mutex mutex_;  // a leaf
  std::unordered_set<const Tally*> living_;
  std::map<std::string, jit::CompiledStats> gone_;
};

namespace {
[[maybe_unused]] const Tallies& made_at_load = Tallies::instance();
}  // namespace

Tally::Tally(std::string name) : name_(std::move(name)) { Tallies::instance().add(this); }

Tally::~Tally() { Tallies::instance().remove(this); }

CompileCounts Tally::counts() const {
  CompileCounts out;
  out.hits = hits.load(std::memory_order_relaxed);
  out.eager = eager.load(std::memory_order_relaxed);
  out.recorded = recorded.load(std::memory_order_relaxed);
  out.invalidated = invalidated.load(std::memory_order_relaxed);
  out.variants = out.recorded - std::min(out.recorded, out.invalidated);
  out.record_ms = static_cast<double>(record_ns.load(std::memory_order_relaxed)) * 1e-6;
  return out;
}

std::vector<jit::CompiledStats> statsOfFunctions() { return Tallies::instance().rows(); }

}  // namespace shunt::compiled
