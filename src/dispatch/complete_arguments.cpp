#include <shunt/core/complete_arguments.h>

#include "src/dispatch/boxed_arguments.h"
#include "src/dispatch/default_value.h"
#include "src/dispatch/unknown_operator.h"

namespace shunt {
namespace {

/// " (did you mean 'alpha'?)", or nothing.
std::string nearInBrackets(const FunctionSchema& schema, const std::string& name) {
  const std::string near = nearArguments(schema, name);
  return near.empty() ? near : " (" + near.substr(2) + ")";
}

void checkNames(const FunctionSchema& schema, size_t given, const std::map<std::string, IValue>& named,
                const char* who) {
  for (const auto& [name, value] : named) {
    const auto index = schema.argumentIndexWithName(name);
    SHUNT_CHECK(index.has_value(), who, ": ", schema.operator_name(), " has no argument '", name, "'",
                nearInBrackets(schema, name), "; its schema is ", schema);
    SHUNT_CHECK(*index >= given, who, ": argument '", name, "' of ", schema.operator_name(), " is given twice");
  }
}

}  // namespace

Stack completeArguments(const OperatorHandle& op, Stack stack, const std::map<std::string, IValue>& named,
                        const char* who) {
  const FunctionSchema& schema = op.schema();
  const auto& arguments = schema.arguments();
  SHUNT_CHECK(stack.size() <= arguments.size(), who, ": ", schema.operator_name(), " has ", arguments.size(),
              " arguments, got ", stack.size());
  checkNames(schema, stack.size(), named, who);
  while (stack.size() < arguments.size()) {
    const Argument& a = arguments[stack.size()];
    const auto given = named.find(a.name);
    if (given != named.end())
      stack.push_back(given->second);
    else if (a.default_value)
      stack.push_back(defaultValueOf(a));
    else if (a.type.optional)
      stack.push_back(IValue());
    else
      SHUNT_CHECK(false, who, ": argument '", a.name, "' of ", schema.operator_name(),
                  " is missing and has no default; the schema is ", schema);
  }
  boxed::prepare(op, stack);
  return stack;
}

}  // namespace shunt
