#include "tools/shunt/launch.h"

#include <shunt/core/error.h>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "tools/shunt/command.h"

namespace shunt::cli {

void addCommonSettings(CLI::App& command, CommonSettings& settings) {
  command.add_option("--threads", settings.threads, "SHUNT_NUM_THREADS: threads that share a large operator's work")
      ->check(CLI::PositiveNumber);
  command.add_option("--log", settings.log, "SHUNT_LOG: the least important level that is logged")
      ->check(CLI::IsMember({"error", "warning", "info", "debug"}));
}

Launch launchOf(const CLI::App& command, const CommonSettings& settings) {
  Launch launch{command.remaining(), {}};
  if (!launch.words.empty() && launch.words.front().starts_with('-'))
    throw Error(unknownWord(command, launch.words.front()));
  SHUNT_CHECK(!launch.words.empty(), "name the program to run: shunt ", command.get_name(), " PROGRAM [ARGUMENT]...");
  if (settings.threads) launch.variables["SHUNT_NUM_THREADS"] = std::to_string(*settings.threads);
  if (!settings.log.empty()) launch.variables["SHUNT_LOG"] = settings.log;
  return launch;
}

int become(const Launch& launch) {
  for (const auto& [name, value] : launch.variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : launch.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  std::cout.flush();
  execvp(words[0], words.data());
  const int why = errno;
  std::cerr << "shunt: can't run " << launch.words[0] << ": " << std::strerror(why) << '\n';
  return why == ENOENT ? 127 : 126;
}

}  // namespace shunt::cli
