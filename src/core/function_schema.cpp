#include <shunt/core/error.h>
#include <shunt/core/function_schema.h>

#include <algorithm>
#include <ostream>
#include <sstream>

#include "src/core/schema_rules.h"

namespace shunt {
namespace {

void checkOperatorName(const OperatorName& name) {
  if (name.name.empty()) return;  // an inferred schema gets its name by cloneWithName
  const auto ns = name.getNamespace();
  SHUNT_CHECK((!ns || detail::isSchemaIdentifier(*ns)) && detail::isSchemaIdentifier(name.baseName()),
              "operator name '", name.name,
              "': expected namespace::name or name, each a letter or '_', then letters, "
              "digits and '_'");
  if (name.overload_name.empty()) return;
  SHUNT_CHECK(detail::isSchemaIdentifier(name.overload_name), "overload name '", name.overload_name, "' of '",
              name.name, "': expected a letter or '_', then letters, digits and '_'");
  const auto expected = detail::checkOverloadName(name.overload_name);
  SHUNT_CHECK(!expected, "overload name '", name.overload_name, "' of '", name.name, "': expected ", *expected);
}

void checkType(const OperatorName& name, const Argument& argument) {
  const Type& type = argument.type;
  SHUNT_CHECK(type.list || (!type.fixed_size && !type.element_optional && !argument.container_alias), "schema of '",
              name, "': argument '", argument.name,
              "' is no list and can't have a size, optional elements or a list's "
              "alias annotation");
  SHUNT_CHECK(!type.fixed_size || (*type.fixed_size >= 0 && *type.fixed_size <= kMaxFixedListSize), "schema of '", name,
              "': the size of list '", argument.name, "' must be from 0 to ", kMaxFixedListSize);
  SHUNT_CHECK(!argument.hasAlias() || type.kind != TypeKind::List, "schema of '", name, "': argument '", argument.name,
              "' is a list of lists and can't have an alias annotation");
}

void checkArguments(const OperatorName& name, const std::vector<Argument>& arguments) {
  std::vector<Argument> previous;
  previous.reserve(arguments.size());
  for (const Argument& argument : arguments) {
    checkType(name, argument);
    auto expected = detail::checkArgumentName(previous, argument.name);
    if (!expected) expected = detail::checkDefaultOrder(previous, argument);
    SHUNT_CHECK(!expected, "schema of '", name, "', argument ", previous.size(), " ('", argument, "'): expected ",
                *expected);
    SHUNT_CHECK(argument.kwarg_only || previous.empty() || !previous.back().kwarg_only, "schema of '", name,
                "': positional argument '", argument.name, "' follows the keyword-only argument '",
                previous.back().name, "'");
    previous.push_back(argument);
  }
}

void checkReturns(const OperatorName& name, const std::vector<Argument>& returns) {
  std::vector<Argument> named;
  for (const Argument& ret : returns) {
    checkType(name, ret);
    SHUNT_CHECK(!ret.default_value && !ret.kwarg_only, "schema of '", name, "': the return '", ret,
                "' can't have a default value or be keyword-only");
    if (ret.name.empty()) continue;
    const auto expected = detail::checkArgumentName(named, ret.name);
    SHUNT_CHECK(!expected, "schema of '", name, "', return '", ret, "': expected ", *expected);
    named.push_back(ret);
  }
}

void printArguments(std::ostream& out, const FunctionSchema& schema) {
  bool kwarg_only = false;
  const char* separator = "";
  for (const Argument& argument : schema.arguments()) {
    out << separator;
    separator = ", ";
    if (argument.kwarg_only && !kwarg_only) out << "*, ";
    kwarg_only = argument.kwarg_only;
    out << argument;
  }
  if (schema.is_vararg()) out << separator << "...";
}

void printReturns(std::ostream& out, const FunctionSchema& schema) {
  const auto& returns = schema.returns();
  // A single tuple in parentheses of its own, lest its parts be taken for the returns.
  const bool tuple = returns.size() == 1 && returns[0].type.kindName().starts_with('(');
  const bool parentheses = tuple || returns.size() + (schema.is_varret() ? 1 : 0) != 1;
  const char* separator = "";
  if (parentheses) out << '(';
  for (const Argument& ret : returns) {
    out << separator << ret;
    separator = ", ";
  }
  if (schema.is_varret()) out << separator << "...";
  if (parentheses) out << ')';
}

}  // namespace

FunctionSchema::FunctionSchema(OperatorName name, std::vector<Argument> arguments, std::vector<Argument> returns,
                               bool is_vararg, bool is_varret)
    : name_(std::move(name)),
      arguments_(std::move(arguments)),
      returns_(std::move(returns)),
      is_vararg_(is_vararg),
      is_varret_(is_varret) {
  checkOperatorName(name_);
  checkArguments(name_, arguments_);
  checkReturns(name_, returns_);
}

bool FunctionSchema::hasAnyAliasInfo() const {
  const auto aliased = [](const Argument& a) { return a.hasAlias(); };
  return std::any_of(arguments_.begin(), arguments_.end(), aliased) ||
         std::any_of(returns_.begin(), returns_.end(), aliased);
}

bool FunctionSchema::is_mutable() const {
  return std::any_of(arguments_.begin(), arguments_.end(), [](const Argument& a) { return a.is_write(); });
}

bool FunctionSchema::is_mutable(std::string_view argument_name) const {
  const Argument* argument = findArgument(argument_name);
  SHUNT_CHECK(argument, "no argument '", argument_name, "' in ", *this);
  return argument->is_write();
}

bool FunctionSchema::isInplace() const {
  return name_.name.ends_with('_') && !arguments_.empty() && arguments_.front().is_write() && !isOut();
}

bool FunctionSchema::isOut() const {
  return std::any_of(arguments_.begin(), arguments_.end(), [](const Argument& a) { return a.is_out(); });
}

const Argument* FunctionSchema::findArgument(std::string_view name) const {
  const auto index = argumentIndexWithName(name);
  return index ? &arguments_[*index] : nullptr;
}

std::optional<size_t> FunctionSchema::argumentIndexWithName(std::string_view name) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i].name == name) return i;
  }
  return std::nullopt;
}

FunctionSchema FunctionSchema::cloneWithName(OperatorName name) const {
  FunctionSchema out(std::move(name), arguments_, returns_, is_vararg_, is_varret_);
  out.alias_analysis_ = alias_analysis_;
  return out;
}

std::string FunctionSchema::str() const {
  std::ostringstream out;
  out << name_ << '(';
  printArguments(out, *this);
  out << ") -> ";
  printReturns(out, *this);
  return std::move(out).str();
}

std::string toString(const FunctionSchema& schema) { return schema.str(); }

std::ostream& operator<<(std::ostream& out, const FunctionSchema& schema) { return out << schema.str(); }

}  // namespace shunt
