// What is wrong with a command line, and which commands or options may have been meant.
#include "tools/shunt/command.h"

#include <shunt/core/near_names.h>

#include <iostream>

namespace shunt::cli {
namespace {

/// The outermost of the commands that were named which has words that it doesn't take; else the innermost one.
const CLI::App& mistaken(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() || !app.remaining().empty() ? app : mistaken(*named.front());
}

/// "shunt cache list"
std::string fullName(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? "shunt" : fullName(*parent) + " " + command.get_name();
}

std::vector<std::string> longOptions(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  if (command.get_fallthrough() && command.get_parent() != nullptr)
    for (std::string& name : longOptions(*command.get_parent())) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> commandsOf(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string unknownWord(const CLI::App& command, const std::string& word) {
  const std::string of = command.get_parent() == nullptr ? "" : " of '" + fullName(command) + "'";
  if (word.starts_with('-'))
    return "unknown option '" + word + "'" + of +
           detail::didYouMean(word.substr(0, word.find('=')), longOptions(command));
  const std::vector<std::string> commands = commandsOf(command);
  if (commands.empty()) return "'" + fullName(command) + "' takes no further argument '" + word + "'";
  const std::string near = detail::didYouMean(word, commands);
  return "unknown command '" + word + "'" + of + (near.empty() ? "; there are " + joined(commands) : near);
}

int reportMistake(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  const CLI::App& command = mistaken(app);
  const std::vector<std::string> words = command.remaining();
  std::cerr << "shunt: " << (words.empty() ? error.what() : unknownWord(command, words.front())) << "\nRun '"
            << fullName(command) << " --help' for its options.\n";
  return error.get_exit_code();
}

}  // namespace shunt::cli
