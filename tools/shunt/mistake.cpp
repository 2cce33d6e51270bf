// What is wrong with a command line, and which commands, options or values may have been meant.
#include "tools/shunt/command.h"

#include <shunt/core/near_names.h>

#include <algorithm>
#include <iostream>

namespace shunt::cli {
namespace {

/// The command that was named last.
const CLI::App& innermost(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app : innermost(*named.front());
}

/// The outermost of the commands that were named which has words that it doesn't take; else the innermost one.
const CLI::App& withWordsLeft(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() || !app.remaining().empty() ? app : withWordsLeft(*named.front());
}

/// The command to which the words belong: one that passes words on has left them to its parent.
const CLI::App& subject(const CLI::App& command) {
  const auto named = command.get_subcommands();
  return named.empty() || !named.front()->get_fallthrough() ? command : subject(*named.front());
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

/// The option of the command, or of those above it, with whose name the parser's message begins.
const CLI::Option* optionOf(const CLI::App& command, const std::string& message) {
  const std::string name = message.substr(0, message.find_first_of(": "));
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options())
      if (option->check_name(name) || (!name.starts_with('-') && option->check_lname(name))) return option;
  return nullptr;
}

/// "option '--threads'", "argument 'file'"
std::string nameOf(const CLI::Option& option) {
  return (option.get_positional() ? "argument '" : "option '") + option.get_name() + "'";
}

std::string missing(const CLI::App& command, const CLI::ParseError& error) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_required() && option->count() == 0)
      return "'" + fullName(command) + "' needs the " + nameOf(*option) + ": " + option->get_description();
  const std::vector<std::string> commands = commandsOf(command);
  return commands.empty() ? error.what() : "name a command: " + joined(commands);
}

std::string wrongOption(const CLI::Option& option, const CLI::ParseError& error) {
  const std::string message = error.what();
  if (option.count() > 1 && option.get_multi_option_policy() == CLI::MultiOptionPolicy::Throw)
    return nameOf(option) + " is given " + std::to_string(option.count()) + " times";
  if (option.get_items_expected_max() == 0) return nameOf(option) + " takes no value";
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr)
    return nameOf(option) + message.substr(std::min(message.find(": "), message.size()));
  return nameOf(option) + " needs a value: " + option.get_type_name();
}

std::string messageOf(const CLI::App& command, const CLI::ParseError& error) {
  const std::string message = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return missing(command, error);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    constexpr std::string_view kBetween = " excludes ";
    const size_t at = message.find(kBetween);
    if (at != message.npos)
      return "give either " + message.substr(0, at) + " or " + message.substr(at + kBetween.size()) + ", not both";
  }
  const CLI::Option* option = optionOf(command, message);
  return option != nullptr ? wrongOption(*option, error) : message;
}

int report(const CLI::App& command, const std::string& message) {
  std::cerr << "shunt: " << message << "\nRun '" << fullName(command) << " --help' for its options.\n";
  return kMistakeStatus;
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
  // A word that nobody takes explains why something is missing. It explains no wrong value: words that follow one
  // have not been looked at.
  const bool by_words = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                        dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const CLI::App& holder = withWordsLeft(app);
  std::vector<std::string> words = holder.remaining();
  std::erase(words, "--");
  if (by_words && !words.empty()) return report(subject(holder), unknownWord(subject(holder), words.front()));
  return report(innermost(app), messageOf(innermost(app), error));
}

int reportMistake(const CLI::App& app, const Mistake& mistake) { return report(innermost(app), mistake.what()); }

}  // namespace shunt::cli
