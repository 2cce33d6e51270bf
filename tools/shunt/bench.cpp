// shunt bench: what one call costs, interpreted and compiled.
#include <shunt/core/complete_arguments.h>
#include <shunt/jit/explain.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "tools/shunt/call.h"
#include "tools/shunt/command.h"
#include "tools/shunt/typed_calls.h"
#include "tools/shunt/value.h"

namespace shunt::cli {
namespace {

struct Options : CallOptions {
  int repeats = 101;
  bool json = false;
};

/// Nanoseconds of one call.
struct Times {
  double median = 0, least = 0;
  int64_t calls = 0;  // in a sample
};

double nanosecondsOf(const OperatorHandle& op, const Caller& caller, Stack& arguments, int64_t n) {
  const auto start = std::chrono::steady_clock::now();
  caller.run(op, arguments, n);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

/// Calls until the caches, the clock frequency and the operator's memory are as they stay; nanoseconds of a call in the
/// fastest round, since others may have been interrupted.
double warmUp(const OperatorHandle& op, const Caller& caller, Stack& arguments) {
  constexpr double kWarm = 5e6;
  double spent = 0, least = kWarm;
  for (int64_t n = 1; spent < kWarm; n = std::min<int64_t>(2 * n, 1024)) {
    const double now = nanosecondsOf(op, caller, arguments, n);
    spent += now;
    least = std::min(least, now / static_cast<double>(n));
  }
  return least;
}

/// Samples of about 20 us each, or of one call where that takes longer.
Times measure(const OperatorHandle& op, const Caller& caller, Stack& arguments, int repeats) {
  constexpr double kSample = 20e3;
  Times times{0, 0, 1};
  times.calls = std::max<int64_t>(1, static_cast<int64_t>(kSample / warmUp(op, caller, arguments)));
  std::vector<double> samples;
  for (int i = 0; i < repeats; ++i)
    samples.push_back(nanosecondsOf(op, caller, arguments, times.calls) / static_cast<double>(times.calls));
  std::sort(samples.begin(), samples.end());
  times.median = samples[samples.size() / 2];
  times.least = samples[0];
  return times;
}

/// Until the call's pair is compiled or refused; an explanation of how that ended.
jit::Explanation compileCall(const OperatorHandle& op, const Caller& caller, Stack& arguments) {
  jit::Explanation e;
  for (int round = 0; round < 8; ++round) {
    caller.run(op, arguments, 4096);
    jit::wait_idle();
    e = jit::explain(op, arguments);
    if (e.in_force || (e.observed && e.pair.state == jit::PairState::kRefused)) break;
  }
  return e;
}

struct Result {
  jit::Explanation call;
  Times interpreted;
  std::optional<Times> compiled;
  std::string why_not;  // it isn't compiled
};

Result benchCall(const Options& options) {
  CallArguments given = parseArguments(options.arguments, Elements::kOnes);
  const OperatorHandle op = pickOperator(options.op, given);
  Stack arguments = completeArguments(op, std::move(given.positional), given.named, "bench");
  const CallModes modes(options);
  const Caller caller = callerOf(op);
  const bool compiles = jit::enabled();
  Result result;
  jit::set_enabled(false);
  result.interpreted = measure(op, caller, arguments, options.repeats);
  result.call = jit::explain(op, arguments);
  if (!caller.typed) {
    result.why_not = "the operator's C++ signature is none of those that bench has, so it is called boxed";
    return result;
  }
  if (compiles) {
    jit::set_enabled(true);
    result.call = compileCall(op, caller, arguments);
  }
  if (result.call.in_force)
    result.compiled = measure(op, caller, arguments, options.repeats);
  else
    result.why_not = result.call.verdict;
  return result;
}

std::string lineOf(const char* way, const Times& t) {
  return fmt::format("{:<12} {:>10.1f} ns a call; the fastest sample {:.1f} ns, of {} calls\n", way, t.median, t.least,
                     t.calls);
}

void printText(const Result& r, int repeats) {
  std::cout << r.call.schema << '\n';
  for (const jit::ExplainedArgument& a : r.call.arguments) std::cout << "  " << a.name << "  " << a.value << '\n';
  std::cout << "keys {" << r.call.keys << "}; medians of " << repeats << " samples, warm\n"
            << lineOf("interpreted", r.interpreted);
  if (r.compiled)
    std::cout << lineOf("compiled", *r.compiled)
              << fmt::format("{:<12} {:>10.2f}\n", "speedup", r.interpreted.median / r.compiled->median);
  else
    std::cout << "not compiled: " << r.why_not << '\n';
}

void printJson(const Result& r, int repeats) {
  using Json = nlohmann::ordered_json;
  const auto times = [](const Times& t) {
    return Json{{"median_ns", t.median}, {"least_ns", t.least}, {"calls_in_sample", t.calls}};
  };
  Json out{{"op", r.call.op},
           {"keys", r.call.keys},
           {"signature", r.call.signature},
           {"samples", repeats},
           {"interpreted", times(r.interpreted)}};
  if (r.compiled)
    out["compiled"] = times(*r.compiled);
  else
    out["not_compiled"] = r.why_not;
  std::cout << out.dump(2) << '\n';
}

}  // namespace

Command addBench(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* bench = app.add_subcommand("bench", "Time a call, interpreted and compiled");
  addCallOptions(*bench, *options);
  bench->add_option("--repeats", options->repeats, "How many samples the medians are of (101)")
      ->type_name("N")
      ->check(wholeNumber(1, 100000));
  bench->add_flag("--json", options->json, "Print it as JSON");
  return {bench, [options] {
            // The thorough compile, in this thread, at the first call that is observed; nothing is taken out again.
            setenv("SHUNT_JIT_SYNC", "1", 0);
            setenv("SHUNT_JIT_KEEP", "1", 0);
            setenv("SHUNT_JIT_TIER", "2", 0);
            setenv("SHUNT_JIT_THRESHOLD", "1", 0);
            const Result result = benchCall(*options);
            options->json ? printJson(result, options->repeats) : printText(result, options->repeats);
            return 0;
          }};
}

}  // namespace shunt::cli
