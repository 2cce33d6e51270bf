// What bin/shunt's subcommands have in common. Each has a file of its own, which adds it to the command line; it prints
// to stdout, and throws Mistake if the command line is wrong and another shunt::Error if the work fails.
#pragma once

#include <shunt/core/dispatcher.h>
#include <shunt/jit/jit.h>

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace shunt::cli {

/// A subcommand that was added, and what runs it when it was named; it returns the exit status.
struct Command {
  CLI::App* app;
  std::function<int()> run;
};

Command addOps(CLI::App& app);
Command addDump(CLI::App& app);
Command addExplain(CLI::App& app);
Command addBench(CLI::App& app);
Command addRun(CLI::App& app);
Command addProfile(CLI::App& app);
Command addStats(CLI::App& app);
Command addGraph(CLI::App& app);
Command addCache(CLI::App& app);
Command addInfo(CLI::App& app);

/// The command line is wrong, whatever files and operators there are. Other errors are failures of the work.
class Mistake : public Error {
 public:
  using Error::Error;
};

/// The exit status of a mistake in the command line; a failure of the work gives 1.
inline constexpr int kMistakeStatus = 100;

/// "unknown option '--jsn' of 'shunt stats'; did you mean '--json'?", of a word that the command doesn't take.
std::string unknownWord(const CLI::App& command, const std::string& word);
/// Reports a command line that can't be parsed, with the commands or options that are near; returns the exit status.
int reportMistake(const CLI::App& app, const CLI::ParseError& error);
/// The same for one that a command found wrong.
int reportMistake(const CLI::App& app, const Mistake& mistake);

/// Adds --library to a command. `add` gets each file that is named.
void addLibraryOption(CLI::App& command, std::function<void(const std::string&)> add);

/// The operators that a name means, by overload: one where there is just that operator, all of a name without overload
/// otherwise. The namespace may be left out if it is aten.
std::vector<OperatorHandle> findOperators(const std::string& text);
/// "aten::add" of "add".
std::string withNamespace(const std::string& text);
/// The message of a failed lookup, with a hint at --library if nothing is registered in the operator's namespace.
std::string withLibraryHint(std::string message);

jit::Stats readReport(const std::string& file);

}  // namespace shunt::cli
