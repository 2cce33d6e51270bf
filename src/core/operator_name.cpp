#include <shunt/core/operator_name.h>

#include <ostream>

namespace shunt {

std::optional<std::string_view> OperatorName::getNamespace() const {
  const auto pos = name.find("::");
  if (pos == std::string::npos) return std::nullopt;
  return std::string_view(name).substr(0, pos);
}

std::string_view OperatorName::baseName() const {
  const auto pos = name.find("::");
  return pos == std::string::npos ? std::string_view(name) : std::string_view(name).substr(pos + 2);
}

bool OperatorName::setNamespaceIfNotSet(std::string_view ns) {
  if (getNamespace()) return false;
  name = std::string(ns) + "::" + name;
  return true;
}

std::string OperatorName::str() const { return overload_name.empty() ? name : name + "." + overload_name; }

std::string toString(const OperatorName& name) { return name.str(); }

std::ostream& operator<<(std::ostream& out, const OperatorName& name) { return out << name.str(); }

}  // namespace shunt
