#include "tests/parity/schemas.h"

#include "tests/parity/case.h"

#include <shunt/core/dispatcher.h>

namespace parity {
namespace {

// libtorch spells enumerations by number and knows symbolic ints; neither matters to a caller.
shunt::DefaultValue plain(const shunt::DefaultValue& v) {
  if (v.isInt()) return shunt::DefaultValue(v.toInt());
  if (v.isList() && v.toList().empty()) return shunt::DefaultValue(shunt::DefaultValue::List());
  return v;
}

shunt::Argument plain(shunt::Argument a) {
  a.type.symbolic = false;
  // dtype=long is the int 4 in a schema that libtorch printed.
  if (a.default_value) a.default_value = plain(*a.default_value);
  return a;
}

shunt::FunctionSchema plain(const shunt::FunctionSchema& s) {
  std::vector<shunt::Argument> arguments, returns;
  for (const auto& a : s.arguments()) arguments.push_back(plain(a));
  for (const auto& r : s.returns()) returns.push_back(plain(r));
  return shunt::FunctionSchema(s.operator_name(), std::move(arguments), std::move(returns), s.is_vararg(), s.is_varret());
}

}  // namespace

SchemaReport compareSchemas() {
  SchemaReport report;
  const shunt::Dispatcher& dispatcher = shunt::Dispatcher::singleton();
  for (const shunt::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (!op || name.getNamespace() != "aten") continue;
    const shunt::FunctionSchema schema = op->schema();
    const std::string text = torchSchema(name.name, name.overload_name);
    if (text.empty()) report.unknown.push_back(schema);
    else if (plain(schema) == plain(shunt::parseSchema(text))) report.common.push_back(schema);
    else report.mismatches.push_back({schema, text});
  }
  return report;
}

}  // namespace parity
