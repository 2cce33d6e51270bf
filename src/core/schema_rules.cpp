#include "src/core/schema_rules.h"

#include <shunt/core/error.h>

#include <algorithm>

namespace shunt::detail {
namespace {

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool isSchemaIdentifier(std::string_view name) {
  if (name.empty() || !isLetter(name.front())) return false;
  if (name == "True" || name == "False" || name == "None") return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return isLetter(c) || isDigit(c); });
}

std::optional<std::string> checkArgumentName(const std::vector<Argument>& previous, std::string_view name) {
  if (!isSchemaIdentifier(name)) return "a name (a letter or '_', then letters, digits and '_')";
  const bool used = std::any_of(previous.begin(), previous.end(), [&](const Argument& a) { return a.name == name; });
  if (used) return "a name that is not used before";
  return std::nullopt;
}

std::optional<std::string> checkDefaultOrder(const std::vector<Argument>& previous, const Argument& next) {
  if (next.default_value || next.kwarg_only || (next.type.list && !next.type.optional)) return std::nullopt;
  const auto with_default =
      std::find_if(previous.begin(), previous.end(), [](const Argument& a) { return a.default_value.has_value(); });
  if (with_default == previous.end()) return std::nullopt;
  return str("a default value for '", next.name, "', since '", with_default->name, "' before it has one");
}

std::optional<std::string> checkOverloadName(std::string_view overload_name) {
  const auto not_legal = [&] { return str(overload_name, " is not a legal overload name for aten operators"); };
  if (overload_name == "default")
    return str("an overload name other than 'default' (", not_legal(), "; leave it out for the default overload)");
  if (overload_name.starts_with("__")) return str("an overload name that does not start with '__' (", not_legal(), ")");
  return std::nullopt;
}

}  // namespace shunt::detail
