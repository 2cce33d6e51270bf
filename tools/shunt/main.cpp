// shunt: what operators there are, what one call does and costs, what a program runs, what its reports and saved graphs
// say, what the disk cache holds, and what Shunt runs with.
#include "tools/shunt/command.h"
#include "tools/shunt/launch.h"

#include <shunt/version.h>

#include <dlfcn.h>

#include <filesystem>
#include <iostream>

namespace shunt::cli {
namespace {

/// dlopen looks for a name without a slash in the system's directories only.
std::string pathOf(const std::string& library) {
  std::error_code ignored;
  const bool here = library.find('/') == std::string::npos && std::filesystem::exists(library, ignored);
  return here ? "./" + library : library;
}

void load(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries)
    SHUNT_CHECK(dlopen(pathOf(library).c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr, "can't load ", library, ": ",
                dlerror());
}

/// No value is dropped without a word, as in --no-jit=maybe.
void refuseValuesOfFlags(CLI::App& command) {
  for (CLI::Option* option : command.get_options())
    if (option->get_items_expected_max() == 0) option->disable_flag_override();
  for (CLI::App* sub : command.get_subcommands([](CLI::App*) { return true; })) refuseValuesOfFlags(*sub);
}

int run(int argc, char** argv) {
  CLI::App app{
      "Looks at Shunt's operators and at single calls, runs programs with settings of Shunt's, and prints what they "
      "leave: reports, profiles and graphs"};
  app.set_version_flag("-V,--version", "shunt " SHUNT_VERSION);
  app.require_subcommand(1);
  std::vector<std::string> libraries;
  const auto add_library = [&](const std::string& file) { libraries.push_back(file); };
  addLibraryOption(app, add_library);
  const std::vector<Command> commands{addOps(app),     addDump(app),  addExplain(app), addBench(app), addRun(app),
                                      addProfile(app), addStats(app), addGraph(app),   addCache(app), addInfo(app)};
  for (const char* name : {"ops", "dump", "explain", "bench", "graph"})
    addLibraryOption(*app.get_subcommand(name), add_library);
  refuseValuesOfFlags(app);
  try {
    const std::vector<char*> words = withoutMark(app, {argv, argv + argc});
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    return reportMistake(app, error);
  }
  load(libraries);
  try {
    for (const Command& command : commands)
      if (*command.app) return command.run();
  } catch (const Mistake& mistake) {
    return reportMistake(app, mistake);
  }
  return 1;
}

}  // namespace
}  // namespace shunt::cli

int main(int argc, char** argv) try { return shunt::cli::run(argc, argv); } catch (const std::exception& e) {
  std::cerr << "shunt: " << e.what() << '\n';
  return 1;
}
