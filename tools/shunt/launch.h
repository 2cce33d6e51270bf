// Starting a program in the place of bin/shunt, with settings of Shunt's in its environment.
#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

namespace shunt::cli {

/// A program with its arguments, and variables to set: by name, "SHUNT_JIT".
struct Launch {
  std::vector<std::string> words;
  std::map<std::string, std::string> variables;
};

/// Settings that run and profile share.
struct CommonSettings {
  std::string threads, log;
};
void addCommonSettings(CLI::App& command, CommonSettings& settings);

/// The words of a command line without the "--" between the options of a command that starts a program and the program.
std::vector<char*> withoutMark(const CLI::App& app, std::vector<char*> words);

/// What stands behind the command's options; throws Mistake if there is no program. The command passes its words on as
/// they are (prefix_command).
Launch launchOf(const CLI::App& command, const CommonSettings& settings);

/// Becomes the program, which is looked for in PATH as a shell does. Returns 127 where there is none, 126 where it
/// can't be run, with a message on stderr.
int become(const Launch& launch);

}  // namespace shunt::cli
