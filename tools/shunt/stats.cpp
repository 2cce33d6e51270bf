// shunt stats: the table of a report that a program left under SHUNT_STATS=file.json.
#include "tools/shunt/command.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

namespace shunt::cli {

jit::Stats readReport(const std::string& file) {
  std::ifstream in(file);
  SHUNT_CHECK(in.good(), "can't read ", file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  try {
    return jit::statsFromJson(text);
  } catch (const Error& e) {
    throw Error(file + ": " + e.what());
  }
}

Command addStats(CLI::App& app) {
  struct Options {
    std::string file;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* stats = app.add_subcommand("stats", "Print the table of a report");
  stats->add_option("file", options->file, "Written by SHUNT_STATS=file.json or jit::statsJson")->required();
  stats->add_flag("--json", options->json, "Print it as JSON");
  return {stats, [options] {
            const jit::Stats read = readReport(options->file);
            std::cout << (options->json ? jit::statsJson(read) : jit::statsTable(read));
            return 0;
          }};
}

}  // namespace shunt::cli
