// Operators by the names that a person types, and the libraries that register them.
#include "tools/shunt/command.h"
#include "tools/shunt/value.h"

namespace shunt::cli {
namespace {

OperatorName nameOf(const std::string& text) {
  if (text.empty()) throw Mistake("the name of the operator is empty");
  try {
    return parseName(withNamespace(text));
  } catch (const Error& e) {
    const std::string_view why = e.what();
    constexpr std::string_view kOfSchemas = "can't parse the schema: ";
    throw Mistake(detail::str(
        "'", text, "' is no name of an operator: ", why.substr(why.starts_with(kOfSchemas) ? kOfSchemas.size() : 0)));
  }
}

}  // namespace

void addLibraryOption(CLI::App& command, std::function<void(const std::string&)> add) {
  command
      .add_option_function<std::vector<std::string>>(
          "-l,--library",
          [add](const std::vector<std::string>& files) {
            for (const std::string& file : files) add(file);
          },
          "Load this shared object first, for the operators that it registers")
      ->type_name("FILE")
      ->check(notEmpty("a shared object"))
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

std::string withLibraryHint(std::string message) {
  if (message.find("nor any other in the namespace") != std::string::npos)
    message += "\nIf a library of yours defines it, name its shared object: --library FILE";
  return message;
}

std::string withNamespace(const std::string& text) {
  return text.find("::") == std::string::npos ? "aten::" + text : text;
}

std::vector<OperatorHandle> findOperators(const std::string& text) {
  const OperatorName name = nameOf(text);
  const Dispatcher& dispatcher = Dispatcher::singleton();
  if (const auto op = dispatcher.findSchema(name)) return {*op};
  std::vector<OperatorHandle> overloads;
  if (name.overload_name.empty())
    for (const OperatorName& each : dispatcher.getAllOpNames())
      if (const auto op = each.name == name.name ? dispatcher.findSchema(each) : std::nullopt) overloads.push_back(*op);
  if (!overloads.empty()) return overloads;
  try {
    return {dispatcher.findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str())};
  } catch (const Error& e) {
    throw Error(withLibraryHint(e.what()));
  }
}

}  // namespace shunt::cli
