// shunt: what operators there are, what one call does and costs, what a program runs, what its reports and saved graphs
// say, what the disk cache holds, and what Shunt runs with.
#include "tools/shunt/command.h"

#include <shunt/version.h>

#include <dlfcn.h>

#include <iostream>

namespace shunt::cli {
namespace {

void load(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries)
    SHUNT_CHECK(dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr, "can't load ", library, ": ", dlerror());
}

int run(int argc, char** argv) {
  CLI::App app{
      "Looks at Shunt's operators and at single calls, runs programs with settings of Shunt's, and prints what they "
      "leave: reports, profiles and graphs"};
  app.set_version_flag("-V,--version", "shunt " SHUNT_VERSION);
  app.require_subcommand(1);
  std::vector<std::string> libraries;
  app.add_option("-l,--library", libraries, "Load this shared object first, for the operators that it registers");
  const std::vector<Command> commands{addOps(app),     addDump(app),  addExplain(app), addBench(app), addRun(app),
                                      addProfile(app), addStats(app), addGraph(app),   addCache(app), addInfo(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return reportMistake(app, error);
  }
  load(libraries);
  for (const Command& command : commands)
    if (*command.app) return command.run();
  return 1;
}

}  // namespace
}  // namespace shunt::cli

int main(int argc, char** argv) try { return shunt::cli::run(argc, argv); } catch (const std::exception& e) {
  std::cerr << "shunt: " << e.what() << '\n';
  return 1;
}
