// An explanation for people, and as JSON.
#include <shunt/jit/explain.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace shunt::jit {
namespace {

template <class Range, class F>
size_t widest(const Range& range, const F& of) {
  size_t out = 0;
  for (const auto& e : range) out = std::max(out, of(e).size());
  return out;
}

std::string argumentsText(const Explanation& e) {
  std::string out = "arguments\n";
  const size_t name = widest(e.arguments, [](const auto& a) -> auto& { return a.name; });
  for (const ExplainedArgument& a : e.arguments)
    out += fmt::format("  {:<{}}  {}{}{}\n", a.name, name, a.value, a.wrapper.empty() ? "" : ", " + a.wrapper,
                       a.keys.empty() ? "" : "  {" + a.keys + "}");
  return out;
}

std::string keysText(const Explanation& e) {
  return fmt::format(
      "keys\n  of the arguments     {{{}}}\n  thread's, included   {{{}}}\n  thread's, excluded   {{{}}}\n"
      "  falling through      {{{}}}\n  of the call          {{{}}}\n  modes: {}\n",
      e.argument_keys, e.included, e.excluded, e.skipped, e.keys, e.modes);
}

std::string dispatchModesText(const Explanation& e) {
  if (e.dispatch_modes.empty()) return "";
  std::string out = "dispatch modes, innermost first\n";
  for (size_t i = 0; i < e.dispatch_modes.size(); ++i)
    out += fmt::format("  {}. {}{}{}\n", i + 1, e.dispatch_modes[i],
                       i == 0 ? " gets the call" : " gets what the handler before it calls",
                       i + e.kernel_modes < e.dispatch_modes.size() ? "" : ", below Autograd and Autocast");
  return out + fmt::format("  then {{{}}}, if the last one's handler calls the operator\n", e.keys_below_modes);
}

std::string chainText(const Explanation& e) {
  std::string out = "chain\n";
  const size_t key = widest(e.chain, [](const auto& s) -> auto& { return s.key; });
  const size_t reason = widest(e.chain, [](const auto& s) -> auto& { return s.reason; });
  const size_t place = widest(e.chain, [](const auto& s) -> auto& { return s.place; });
  bool first = true;
  for (const ExplainedStep& s : e.chain) {
    std::string line = fmt::format("{} {:<{}}  {:<{}}  {:<{}}  {}",
                                   s.skipped ? "  "
                                   : first   ? "->"
                                             : " >",
                                   s.key, key, s.reason, reason, s.place, place, s.verdict);
    if (!s.why.empty()) line += " (" + s.why + ")";
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    first &= s.skipped;
  }
  return out;
}

std::string pairText(const Explanation& e) {
  std::string out = fmt::format("pair ({})\n  {}\n", e.signature, e.verdict);
  if (e.observed) {
    const PairStats& p = e.pair;
    const std::string in_thunks =
        e.counts_calls ? fmt::format("in thunks {}, of these with other operands {}", p.in_thunks, p.guard_misses)
                       : "calls in thunks are counted under SHUNT_STATS only";
    out += fmt::format("  state {}; about {} calls interpreted; {}\n", toString(p.state), p.interpreted, in_thunks);
    if (p.compiles + p.loads != 0) {
      const std::string loaded = p.loads == 0 ? "" : fmt::format(", loaded from the disk cache {}x", p.loads);
      out += fmt::format("  compiled {}x{}, tier {}, {} bytes, {:.2f} ms the last time:", p.compiles, loaded, p.tier,
                         p.bytes, p.times.total());
      for (const CompilePhase& phase : kCompilePhases) out += fmt::format(" {} {:.2f}", phase.name, p.times.*phase.ms);
      out += "\n";
      if (p.kinds > 0) out += fmt::format("  expects {} kind{} of operands\n", p.kinds, p.kinds > 1 ? "s" : "");
      if (p.speedup > 0) out += fmt::format("  {:.2f}x as fast as the interpreter, as measured\n", p.speedup);
    }
  }
  out += fmt::format("  thunks of the operator in force: {}\n",
                     e.thunks.empty() ? "none" : fmt::format("{}", fmt::join(e.thunks, "; ")));
  if (e.last_invalidation)
    out += fmt::format("  invalidated {}x, the last time because of {}\n", e.pair.invalidations,
                       e.last_invalidation->cause);
  else
    out += "  never invalidated\n";
  return out;
}

}  // namespace

std::string Explanation::text() const {
  return schema + "\n" + argumentsText(*this) + keysText(*this) + dispatchModesText(*this) + chainText(*this) +
         pairText(*this) + plan;
}

std::string Explanation::json() const {
  using Json = nlohmann::ordered_json;
  Json out{{"op", op}, {"schema", schema}};
  for (const ExplainedArgument& a : arguments)
    out["arguments"].push_back({{"name", a.name}, {"value", a.value}, {"keys", a.keys}, {"wrapper", a.wrapper}});
  out["keys"] = {{"arguments", argument_keys},
                 {"included", included},
                 {"excluded", excluded},
                 {"skipped", skipped},
                 {"call", keys}};
  out["modes"] = modes;
  out["thread"] = {{"grad", grad}, {"inference", inference}, {"autocast", Json(autocast)}};
  out["dispatch_modes"] = Json(dispatch_modes);
  if (!dispatch_modes.empty()) {
    out["kernel_modes"] = kernel_modes;
    out["keys_below_modes"] = keys_below_modes;
  }
  for (const ExplainedStep& s : chain)
    out["chain"].push_back({{"key", s.key},
                            {"reason", s.reason},
                            {"place", s.place},
                            {"skipped", s.skipped},
                            {"verdict", s.verdict},
                            {"why", s.why},
                            {"symbol", s.symbol}});
  out["signature"] = signature;
  out["verdict"] = verdict;
  out["in_force"] = in_force;
  out["thunks_of_operator"] = Json(thunks);
  if (observed) {
    Json& p = out["pair"];
    p = {{"state", toString(pair.state)},
         {"interpreted", pair.interpreted},
         {"in_thunks", pair.in_thunks},
         {"guard_misses", pair.guard_misses},
         {"counts_calls", counts_calls},
         {"counted", counted},
         {"threshold", threshold},
         {"compiles", pair.compiles},
         {"loads", pair.loads},
         {"bytes", pair.bytes},
         {"tier", pair.tier},
         {"kinds", pair.kinds},
         {"speedup", pair.speedup},
         {"reason", pair.reason}};
    for (const CompilePhase& phase : kCompilePhases) p["compile_ms"][phase.name] = pair.times.*phase.ms;
  }
  out["invalidations"] = pair.invalidations;
  out["last_invalidation"] = last_invalidation ? Json(last_invalidation->cause) : Json(nullptr);
  out["plan"] = plan;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shunt::jit
