// jit::statsTable: totals, a line a pair, most called first, then what was invalidated.
#include "src/base/counted.h"

#include <shunt/jit/jit.h>

#include <fmt/format.h>

namespace shunt::jit {
namespace {

constexpr size_t kPrintedInvalidations = 20;

/// What came from the disk cache; "" where nothing did.
std::string fromCache(uint64_t loaded, uint64_t rejected) {
  return loaded + rejected == 0 ? "" : fmt::format(", loaded {} (files rejected {})", loaded, rejected);
}

std::string totals(const Stats& s) {
  return fmt::format("pairs compiled {}{}, refused {}, failed {}, outdated {}; code {} bytes{}{}\n", s.compiled,
                     fromCache(s.loaded, s.cache_rejected), s.refused, s.failed, s.outdated, s.code_bytes,
                     s.available ? "" : "; the compiler was not loaded",
                     s.counts_calls ? "" : "; thunks count their calls under SHUNT_STATS only");
}

std::string fusedLoops(const FusedStats& s) {
  if (s.asked == 0) return "";
  return fmt::format(
      "fused loops asked for {}, compiled {}{}, refused {}, failed {}; {:.2f} ms; in memory {}, {} bytes\n", s.asked,
      s.compiled, fromCache(s.loaded, s.cache_rejected), s.refused, s.failed, s.times.total(), s.live, s.bytes);
}

std::string compiledFunction(const CompiledStats& s) {
  const std::string of = s.functions > 1 ? fmt::format(" ({} functions, {} living)", s.functions, s.living)
                         : s.living == 0 ? " (gone)"
                                         : "";
  return fmt::format("{}{}: {} ran a graph, {} the function; recorded {} in {:.2f} ms, put out of use {}, in use {}\n",
                     s.name, of, detail::counted(s.graph_calls, "call"), s.function_calls,
                     detail::counted(s.recorded, "time"), s.record_ms, s.invalidated, s.variants);
}

std::string compiledFunctions(const std::vector<CompiledStats>& all) {
  std::string out = all.empty() ? "" : "compiled functions\n";
  for (const CompiledStats& s : all) out += "  " + compiledFunction(s);
  return out;
}

std::string heading() {
  std::string out = fmt::format("{:<10} {:>10} {:>12} {:>8} {:>5} {:>8} {:>4} {:>8}", "state", "interp.", "in thunks",
                                "misses", "kinds", "faster", "tier", "ms");
  for (const CompilePhase& phase : kCompilePhases) out += fmt::format(" {:>8}", phase.name);
  return out +
         fmt::format(" {:>7} {:>4} {:>4} {:>4}  {}\n", "bytes", "comp", "load", "inv.", "operator {keys} (arguments)");
}

std::string line(const PairStats& p, bool counts_calls) {
  std::string out =
      fmt::format("{:<10} {:>10} {:>12} {:>8} {:>5} {:>8} {:>4} {:>8.2f}", toString(p.state), p.interpreted,
                  counts_calls ? std::to_string(p.in_thunks) : "-", counts_calls ? std::to_string(p.guard_misses) : "-",
                  p.kinds > 0 ? std::to_string(p.kinds) : "-", p.speedup > 0 ? fmt::format("{:.2f}x", p.speedup) : "-",
                  p.tier > 0 ? std::to_string(p.tier) : "-", p.times.total() + p.first_times.total());
  for (const CompilePhase& phase : kCompilePhases) out += fmt::format(" {:>8.2f}", p.times.*phase.ms);
  return out + fmt::format(" {:>7} {:>4} {:>4} {:>4}  {} {{{}}} ({}){}{}\n", p.bytes, p.compiles, p.loads,
                           p.invalidations, p.op, p.keys, p.signature, p.reason.empty() ? "" : ": ", p.reason);
}

}  // namespace

std::string statsTable(const Stats& s) {
  std::string out = totals(s) + fusedLoops(s.fused) + compiledFunctions(s.compiled_functions) + heading();
  for (const PairStats& p : s.pairs) out += line(p, s.counts_calls);
  const size_t n = s.invalidations.size(), first = n > kPrintedInvalidations ? n - kPrintedInvalidations : 0;
  if (n != 0)
    out +=
        fmt::format("invalidated {}{}\n", n, first != 0 ? fmt::format(", the last {}:", kPrintedInvalidations) : ":");
  for (size_t i = first; i < n; ++i)
    out += fmt::format("  {}: {}\n", s.invalidations[i].what, s.invalidations[i].cause);
  return out;
}

}  // namespace shunt::jit
