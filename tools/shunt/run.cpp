// shunt run: a program with chosen settings of Shunt's.
#include <shunt/core/environment.h>

#include <filesystem>
#include <memory>

#include "tools/shunt/command.h"
#include "tools/shunt/launch.h"
#include "tools/shunt/value.h"

namespace shunt::cli {
namespace {

struct Options {
  CommonSettings common;
  bool no_jit = false, no_compile = false, trace = false, trace_json = false, stats = false;
  std::string report, cache, isa;
};

/// The program may change its directory before it opens the path.
std::string absolutePath(const std::string& path) { return std::filesystem::absolute(path).string(); }

/// A word that the variable takes, or a directory, which it takes as an absolute path.
std::string cacheSetting(const std::string& given) {
  namespace environment = detail::environment;
  return environment::parse(environment::rowOf(environment::Variable::kJitCache), given) ? given : absolutePath(given);
}

int runProgram(const CLI::App& command, const Options& options) {
  Launch launch = launchOf(command, options.common);
  const auto set = [&](bool on, const char* name, const std::string& value) {
    if (on) launch.variables[name] = value;
  };
  set(options.no_jit, "SHUNT_JIT", "0");
  set(options.no_compile, "SHUNT_COMPILE", "0");
  set(options.trace, "SHUNT_TRACE", "1");
  set(options.trace_json, "SHUNT_TRACE", "json");
  set(options.stats, "SHUNT_STATS", "1");
  if (!options.report.empty()) launch.variables["SHUNT_STATS"] = absolutePath(options.report);
  if (!options.cache.empty()) launch.variables["SHUNT_JIT_CACHE"] = cacheSetting(options.cache);
  set(!options.isa.empty(), "SHUNT_ISA", options.isa);
  return become(launch);
}

}  // namespace

Command addRun(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* run = app.add_subcommand("run", "Run a program with these settings in its environment");
  run->footer("The program and its arguments stand behind the options: shunt run --no-jit --stats ./program 3");
  run->prefix_command();
  run->add_flag("--no-jit", options->no_jit, "SHUNT_JIT=0: interpret every call");
  run->add_flag("--no-compile", options->no_compile, "SHUNT_COMPILE=0: compile(f) returns functions that run f");
  CLI::Option* trace = run->add_flag("--trace", options->trace, "SHUNT_TRACE=1: print every dispatch step on stderr");
  run->add_flag("--trace-json", options->trace_json, "SHUNT_TRACE=json: print the steps as JSON, one a line")
      ->excludes(trace);
  CLI::Option* stats =
      run->add_flag("--stats", options->stats, "SHUNT_STATS=1: print the table of hot pairs on stderr at the end");
  run->add_option("-r,--report", options->report, "SHUNT_STATS=FILE: leave it there as JSON, for shunt stats")
      ->type_name("FILE")
      ->check(fileToWrite())
      ->excludes(stats);
  run->add_option("--cache", options->cache, "SHUNT_JIT_CACHE: the directory of the disk cache, on or off")
      ->type_name("DIRECTORY")
      ->check(cacheDirectory());
  run->add_option("--isa", options->isa, "SHUNT_ISA: use loops for lesser CPUs: baseline, v3, v4")
      ->type_name("LEVEL")
      ->check(valueOf(detail::environment::Variable::kIsa));
  addCommonSettings(*run, options->common);
  return {run, [options, run] { return runProgram(*run, *options); }};
}

}  // namespace shunt::cli
