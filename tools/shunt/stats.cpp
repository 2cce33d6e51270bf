// shunt stats: the table of a report that a program left under SHUNT_STATS=file.json.
#include "tools/shunt/command.h"
#include "tools/shunt/value.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

namespace shunt::cli {

namespace {

constexpr size_t kMostBytes = size_t{1} << 26;  // of a report; /dev/zero never ends

std::string contentOf(const std::string& file) {
  std::error_code ignored;
  SHUNT_CHECK(!std::filesystem::is_directory(file, ignored), "can't read ", file, ": it is a directory");
  std::ifstream in(file, std::ios::binary);
  SHUNT_CHECK(in.good(), "can't read ", file, ": ", std::strerror(errno));
  std::string text;
  char part[1 << 16];
  while (in.read(part, sizeof part) || in.gcount() != 0) {
    text.append(part, static_cast<size_t>(in.gcount()));
    SHUNT_CHECK(text.size() <= kMostBytes, file, ": not a report of jit::stats: it has more than ", kMostBytes,
                " bytes");
  }
  SHUNT_CHECK(!text.empty(), file, ": not a report of jit::stats: it is empty");
  return text;
}

}  // namespace

jit::Stats readReport(const std::string& file) {
  const std::string text = contentOf(file);
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
  stats->add_option("file", options->file, "Written by SHUNT_STATS=file.json or jit::statsJson")
      ->type_name("FILE")
      ->check(notEmpty("a file name"))
      ->required();
  stats->add_flag("--json", options->json, "Print it as JSON");
  return {stats, [options] {
            const jit::Stats read = readReport(options->file);
            std::cout << (options->json ? jit::statsJson(read) : jit::statsTable(read));
            return 0;
          }};
}

}  // namespace shunt::cli
