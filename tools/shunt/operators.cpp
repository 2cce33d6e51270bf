// Operators by the names that a person types.
#include "tools/shunt/command.h"

namespace shunt::cli {

std::string withNamespace(const std::string& text) {
  return text.find("::") == std::string::npos ? "aten::" + text : text;
}

std::vector<OperatorHandle> findOperators(const std::string& text) {
  const OperatorName name = parseName(withNamespace(text));
  const Dispatcher& dispatcher = Dispatcher::singleton();
  if (const auto op = dispatcher.findSchema(name)) return {*op};
  std::vector<OperatorHandle> overloads;
  if (name.overload_name.empty())
    for (const OperatorName& each : dispatcher.getAllOpNames())
      if (const auto op = each.name == name.name ? dispatcher.findSchema(each) : std::nullopt) overloads.push_back(*op);
  if (overloads.empty())
    overloads.push_back(dispatcher.findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str()));
  return overloads;
}

}  // namespace shunt::cli
