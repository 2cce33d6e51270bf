// OperatorName: an operator's identity, its qualified name and overload name ("aten::add.Tensor").
//
// A plain value. It is hashable and ordered, so registries can key on it and dumps can sort by it.
#pragma once

#include <shunt/core/macros.h>

#include <compare>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace shunt {

/// An operator's qualified name and overload name.
struct SHUNT_API OperatorName {
  /// With the namespace, if it has one: "aten::add".
  std::string name;
  /// Empty for the default overload.
  std::string overload_name;

  OperatorName() = default;
  OperatorName(std::string full_name, std::string overload)
      : name(std::move(full_name)), overload_name(std::move(overload)) {}

  /// "aten" of "aten::add"; nothing for "add".
  std::optional<std::string_view> getNamespace() const;
  /// "add" of "aten::add".
  std::string_view baseName() const;
  /// Adds the namespace unless the name has one. Returns whether it did.
  bool setNamespaceIfNotSet(std::string_view ns);

  /// "aten::add.Tensor", or "aten::relu" for a default overload.
  std::string str() const;

  bool operator==(const OperatorName&) const = default;
  std::strong_ordering operator<=>(const OperatorName&) const = default;
};

SHUNT_API std::string toString(const OperatorName& name);
SHUNT_API std::ostream& operator<<(std::ostream& out, const OperatorName& name);

}  // namespace shunt

template <>
struct std::hash<shunt::OperatorName> {
  std::size_t operator()(const shunt::OperatorName& op) const noexcept {
    const std::size_t seed = std::hash<std::string>{}(op.name);
    if (op.overload_name.empty()) return seed;
    const std::size_t overload = std::hash<std::string>{}(op.overload_name);
    return seed ^ (overload + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
  }
};
