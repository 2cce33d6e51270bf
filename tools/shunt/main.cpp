// shunt: what operators there are, what one call does, what the report of a program that runs or ran says, what the
// disk cache holds, and what Shunt runs with.
#include "tools/shunt/commands.h"

#include <shunt/version.h>

#include <dlfcn.h>
#include <CLI/CLI.hpp>

#include <iostream>

namespace shunt::cli {
namespace {

void load(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries)
    SHUNT_CHECK(dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr, "can't load ", library, ": ", dlerror());
}

int run(int argc, char** argv) {
  CLI::App app{
      "Looks at Shunt's operators, at single calls, and at the reports that programs leave under "
      "SHUNT_STATS=file.json"};
  app.set_version_flag("-V,--version", "shunt " SHUNT_VERSION);
  app.require_subcommand(1);
  std::vector<std::string> libraries;
  app.add_option("-l,--library", libraries, "Load this shared object first, for the operators that it registers");

  std::string file, filter, op, directory;
  bool json = false, schemas = false, fallbacks = false;
  CLI::App* stats = app.add_subcommand("stats", "Print the table of a report");
  stats->add_option("file", file, "Written by SHUNT_STATS=file.json or jit::statsJson")->required();
  stats->add_flag("--json", json, "Print it as JSON");

  CLI::App* ops = app.add_subcommand("ops", "List operators");
  ops->add_option("filter", filter, "Only those whose name contains this");
  ops->add_flag("-s,--schemas", schemas, "Print their schemas");

  CLI::App* dump = app.add_subcommand(
      "dump", "Print what is registered for an operator, and the table computed from it, with reasons");
  CLI::Option* dumped = dump->add_option("op", op, "add.Tensor, aten::add.Tensor");
  dump->add_flag("--fallbacks", fallbacks, "Print the fallbacks, which serve every operator, instead")
      ->excludes(dumped);

  CLI::App* cache = app.add_subcommand("cache", "Look at the disk cache of compiled code (SHUNT_JIT_CACHE)");
  cache->require_subcommand(1);
  cache->add_option("-d,--directory", directory, "Where it is, if not where the environment says");
  CLI::App* list = cache->add_subcommand("list", "List what is in it");
  list->add_flag("--json", json, "Print it as JSON");
  CLI::App* verify = cache->add_subcommand("verify", "Read all of it; fails if a file is damaged");
  CLI::App* clear = cache->add_subcommand("clear", "Remove all of it");
  for (CLI::App* command : {list, verify, clear}) command->fallthrough();  // --directory may stand behind them

  ExplainOptions options;
  CLI::App* explain = app.add_subcommand("explain", "Show what a call does, and why it is compiled or is not");
  explain->add_option("op", options.op, "add.Tensor, aten::add.Tensor")->required();
  explain
      ->add_option("-a,--arg", options.arguments,
                   "float32[2,3], float32[4,4]:grad,strided, 2.5, alpha=2, [1,2]; in the schema's order")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  explain->add_option("-r,--report", options.report,
                      "Explain the pairs of a program that runs or ran, by its report, instead");
  explain->add_option("--autocast", options.autocast, "In autocast to this dtype: bfloat16 or float16");
  explain->add_flag("--no-grad", options.no_grad, "With grad mode off");
  explain->add_flag("--inference", options.inference, "In inference mode");
  explain->add_flag("--json", options.json, "Print it as JSON");

  InfoOptions info_options;
  CLI::App* info =
      app.add_subcommand("info", "Show version, build, CPU, libraries, compiler, disk cache and variables");
  CLI::Option* as_json = info->add_flag("--json", info_options.json, "Print it as JSON");
  info->add_flag("--environment", info_options.environment, "Print the page docs/environment.md instead")
      ->excludes(as_json);

  CLI11_PARSE(app, argc, argv);
  load(libraries);
  if (*stats)
    printStats(file, json);
  else if (*info)
    printInfo(info_options);
  else if (*ops)
    printOperators(filter, schemas);
  else if (*dump)
    fallbacks ? printFallbacks() : printTables(op);
  else if (*list)
    listCache(directory, json);
  else if (*verify)
    return verifyCache(directory) ? 0 : 1;
  else if (*cache)
    clearCache(directory);
  else
    printExplanation(options);
  return 0;
}

}  // namespace
}  // namespace shunt::cli

int main(int argc, char** argv) try { return shunt::cli::run(argc, argv); } catch (const std::exception& e) {
  std::cerr << "shunt: " << e.what() << '\n';
  return 1;
}
