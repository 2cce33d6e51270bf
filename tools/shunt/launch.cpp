#include "tools/shunt/launch.h"

#include <shunt/core/error.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "tools/shunt/command.h"
#include "tools/shunt/value.h"

namespace shunt::cli {
namespace {

/// The first word from `at` on that is neither an option of the command nor an option's value.
size_t endOfOptions(const CLI::App& command, const std::vector<char*>& words, size_t at) {
  for (; at < words.size() && words[at][0] == '-' && std::strcmp(words[at], "--") != 0; ++at) {
    const CLI::Option* option = command.get_option_no_throw(words[at]);
    if (option != nullptr && option->get_items_expected_max() > 0) ++at;
  }
  return std::min(at, words.size());
}

/// What took the word that may have been meant as the program: "; './s' is the value of '--report'".
std::string lastValue(const CLI::App& command) {
  if (command.parse_order().empty()) return "";
  const CLI::Option& last = *command.parse_order().back();
  if (last.get_items_expected_max() == 0 || last.results().empty()) return "";
  return "; '" + last.results().back() + "' is the value of '" + last.get_name() + "'";
}

/// A program of the current directory is not looked for there.
std::string pathHint(const std::string& program) {
  std::error_code ignored;
  const bool here = program.find('/') == std::string::npos && std::filesystem::exists(program, ignored);
  return here ? "; the one in this directory is ./" + program : "";
}

}  // namespace

void addCommonSettings(CLI::App& command, CommonSettings& settings) {
  using detail::environment::Variable;
  command.add_option("--threads", settings.threads, "SHUNT_NUM_THREADS: threads that share a large operator's work")
      ->type_name("N")
      ->check(valueOf(Variable::kNumThreads));
  command
      .add_option("--log", settings.log,
                  "SHUNT_LOG: the least important level that is logged: error, warning, info, debug")
      ->type_name("LEVEL")
      ->check(valueOf(Variable::kLog));
}

std::vector<char*> withoutMark(const CLI::App& app, std::vector<char*> words) {
  const size_t at = endOfOptions(app, words, 1);
  const auto named = app.get_subcommands([&](const CLI::App* command) {
    return at < words.size() && command->get_name() == words[at] && command->get_prefix_command();
  });
  if (named.empty()) return words;
  const size_t mark = endOfOptions(*named.front(), words, at + 1);
  if (mark < words.size() && std::strcmp(words[mark], "--") == 0)
    words.erase(words.begin() + static_cast<ptrdiff_t>(mark));
  return words;
}

Launch launchOf(const CLI::App& command, const CommonSettings& settings) {
  Launch launch{command.remaining(), {}};
  if (launch.words.empty())
    throw Mistake("name the program to run: shunt " + command.get_name() + " [OPTION]... PROGRAM [ARGUMENT]..." +
                  lastValue(command));
  if (launch.words.front().empty()) throw Mistake("the name of the program to run is empty");
  if (launch.words.front().starts_with('-')) throw Mistake(unknownWord(command, launch.words.front()));
  if (!settings.threads.empty()) launch.variables["SHUNT_NUM_THREADS"] = settings.threads;
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
  std::cerr << "shunt: can't run " << launch.words[0] << ": " << std::strerror(why)
            << (why == ENOENT ? pathHint(launch.words[0]) : "") << '\n';
  return why == ENOENT ? 127 : 126;
}

}  // namespace shunt::cli
