// jit::stats() as JSON and back: the one place that knows the report's members.
#include <shunt/jit/jit.h>

#include <nlohmann/json.hpp>

namespace shunt::jit {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kReportVersion = 6;

Json toJson(const CompileTimes& times) {
  Json out;
  for (const CompilePhase& phase : kCompilePhases) out[phase.name] = times.*phase.ms;
  return out;
}

CompileTimes timesFrom(const Json& json) {
  CompileTimes times;
  for (const CompilePhase& phase : kCompilePhases) times.*phase.ms = json.at(phase.name).get<double>();
  return times;
}

PairState stateFrom(const std::string& name) {
  for (PairState s : {PairState::kCounting, PairState::kQueued, PairState::kCompiled, PairState::kRefused})
    if (name == toString(s)) return s;
  throw Error("a report of jit::stats has a pair in the unknown state '" + name + "'");
}

/// One list of members for both directions: f(name, member).
template <class Pair, class F>
void members(Pair& p, const F& f) {
  f("op", p.op);
  f("keys", p.keys);
  f("signature", p.signature);
  f("interpreted", p.interpreted);
  f("in_thunks", p.in_thunks);
  f("guard_misses", p.guard_misses);
  f("speedup", p.speedup);
  f("compiles", p.compiles);
  f("loads", p.loads);
  f("invalidations", p.invalidations);
  f("tier", p.tier);
  f("kinds", p.kinds);
  f("bytes", p.bytes);
  f("reason", p.reason);
  f("invalidated_by", p.invalidated_by);
  f("plan", p.plan);
}

template <class S, class F>
void totals(S& s, const F& f) {
  f("available", s.available);
  f("counts_calls", s.counts_calls);
  f("compiled", s.compiled);
  f("loaded", s.loaded);
  f("refused", s.refused);
  f("failed", s.failed);
  f("outdated", s.outdated);
  f("cache_rejected", s.cache_rejected);
  f("code_bytes", s.code_bytes);
}

template <class Fused, class F>
void fusedLoops(Fused& s, const F& f) {
  f("asked", s.asked);
  f("compiled", s.compiled);
  f("loaded", s.loaded);
  f("refused", s.refused);
  f("failed", s.failed);
  f("cache_rejected", s.cache_rejected);
  f("live", s.live);
  f("bytes", s.bytes);
}

template <class Function, class F>
void compiledFunction(Function& s, const F& f) {
  f("name", s.name);
  f("functions", s.functions);
  f("living", s.living);
  f("graph_calls", s.graph_calls);
  f("function_calls", s.function_calls);
  f("recorded", s.recorded);
  f("invalidated", s.invalidated);
  f("variants", s.variants);
  f("record_ms", s.record_ms);
}

}  // namespace

std::string statsJson(const Stats& s) {
  Json out{{"version", kReportVersion}};
  totals(s, [&](const char* name, const auto& member) { out[name] = member; });
  Json& fused = out["fused_loops"];
  fusedLoops(s.fused, [&](const char* name, const auto& member) { fused[name] = member; });
  fused["compile_ms"] = toJson(s.fused.times);
  Json& functions = out["compiled_functions"] = Json::array();
  for (const CompiledStats& c : s.compiled_functions) {
    Json& row = functions.emplace_back();
    compiledFunction(c, [&](const char* name, const auto& member) { row[name] = member; });
  }
  Json& pairs = out["pairs"] = Json::array();
  for (const PairStats& p : s.pairs) {
    Json& row = pairs.emplace_back();
    row["state"] = toString(p.state);
    members(p, [&](const char* name, const auto& member) { row[name] = member; });
    row["compile_ms"] = toJson(p.times);
    row["first_compile_ms"] = toJson(p.first_times);
  }
  Json& invalidations = out["invalidations"] = Json::array();
  for (const InvalidationRecord& r : s.invalidations) invalidations.push_back({{"what", r.what}, {"cause", r.cause}});
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Stats statsFromJson(std::string_view json) try {
  const Json in = Json::parse(json);
  if (!in.is_object()) throw Error("not a report of jit::stats: it is no JSON object");
  if (in.at("version") != kReportVersion)
    throw Error("a report of jit::stats has another version than this program reads");
  Stats s;
  const auto take = [](const Json& from) {
    return [&from](const char* name, auto& member) {
      member = from.at(name).template get<std::decay_t<decltype(member)>>();
    };
  };
  totals(s, take(in));
  fusedLoops(s.fused, take(in.at("fused_loops")));
  s.fused.times = timesFrom(in.at("fused_loops").at("compile_ms"));
  for (const Json& row : in.at("compiled_functions")) compiledFunction(s.compiled_functions.emplace_back(), take(row));
  for (const Json& row : in.at("pairs")) {
    PairStats& p = s.pairs.emplace_back();
    p.state = stateFrom(row.at("state").get<std::string>());
    members(p, take(row));
    p.times = timesFrom(row.at("compile_ms"));
    p.first_times = timesFrom(row.at("first_compile_ms"));
  }
  for (const Json& r : in.at("invalidations"))
    s.invalidations.push_back({r.at("what").get<std::string>(), r.at("cause").get<std::string>()});
  return s;
} catch (const Json::exception& e) {
  std::string_view detail = e.what();  // "[json.exception.parse_error.101] ..."
  if (const size_t tag = detail.find("] "); detail.starts_with("[json.") && tag != detail.npos)
    detail.remove_prefix(tag + 2);
  throw Error("not a report of jit::stats: " + std::string(detail));
}

}  // namespace shunt::jit
