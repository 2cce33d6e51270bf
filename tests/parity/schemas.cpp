#include "tests/parity/schemas.h"

#include "tests/parity/case.h"
#include "tests/parity/rules.h"

#include <shunt/core/dispatcher.h>

#include <set>

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
  return shunt::FunctionSchema(s.operator_name(), std::move(arguments), std::move(returns), s.is_vararg(),
                               s.is_varret());
}

// add for add_ too: "aten::add_.Tensor(..." gives name "aten::add_", overload "Tensor".
SchemaReport::Missing named(const std::string& schema) {
  const std::string full = schema.substr(0, schema.find('('));
  const size_t dot = full.find('.');
  return {full.substr(0, dot), dot == std::string::npos ? "" : full.substr(dot + 1), schema};
}

std::vector<SchemaReport::Missing> missingForms(const shunt::Dispatcher& dispatcher) {
  std::set<std::string, std::less<>> names;
  for (const shunt::OperatorName& name : dispatcher.getAllOpNames())
    if (name.getNamespace() == "aten") names.emplace(baseName(name.name));
  std::vector<SchemaReport::Missing> missing;
  for (const std::string& schema : torchSchemas()) {
    SchemaReport::Missing form = named(schema);
    if (names.contains(baseName(form.name)) && !dispatcher.findSchema({form.name, form.overload}))
      missing.push_back(std::move(form));
  }
  return missing;
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
    if (text.empty())
      report.unknown.push_back(schema);
    else if (plain(schema) == plain(shunt::parseSchema(text)))
      report.common.push_back(schema);
    else
      report.mismatches.push_back({schema, text});
  }
  report.missing = missingForms(dispatcher);
  return report;
}

}  // namespace parity
