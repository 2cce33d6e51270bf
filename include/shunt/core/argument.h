// One argument or return of a schema: its type, name, alias annotation and default value.
//
// Value types. parseSchema and registrations that infer a schema build them; all other code only reads them.
#pragma once

#include <shunt/core/types.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace shunt {

/// An alias annotation: which memory an argument may share, and whether the operator writes to it. `(a)`, `(a!)`,
/// `(a -> *)`, `(a|b)`. Both sets are sorted and without duplicates. A set with the wildcard "*" has no other member.
struct SHUNT_API AliasInfo {
  std::vector<std::string> before_sets;
  /// After the operator has run. Equal to before_sets unless the annotation has an arrow.
  std::vector<std::string> after_sets;
  bool is_write = false;

  /// Sorts the sets, removes duplicates, and reduces a set with "*" to "*".
  AliasInfo(std::vector<std::string> before, std::vector<std::string> after, bool is_write);

  /// Whether the set before (after) the operator runs is the wildcard "*".
  bool isWildcardBefore() const { return before_sets.size() == 1 && before_sets.front() == "*"; }
  bool isWildcardAfter() const { return after_sets.size() == 1 && after_sets.front() == "*"; }
  bool operator==(const AliasInfo&) const = default;
};

SHUNT_API std::ostream& operator<<(std::ostream& out, const AliasInfo& alias);

/// A name for an int in a default value: `Mean`, `contiguous_format`, `long`, `strided`.
/// Equal if name and value are equal: the spelling is part of the schema.
struct EnumConstant {
  std::string name;
  int64_t value = 0;
  bool operator==(const EnumConstant&) const = default;
};

/// A default value, already converted to the argument's type. NaN equals NaN, and 0.0 differs from -0.0.
/// - `float p=2` holds a double.
/// - `int[2] s=1` holds the list [1, 1].
/// - `Device d="cpu"` and `Dimname d="N"` hold a string.
struct SHUNT_API DefaultValue {
  /// Names for two alternatives of `value`.
  using None = std::monostate;
  using List = std::vector<DefaultValue>;
  std::variant<None, bool, int64_t, double, std::string, EnumConstant, List> value;

  DefaultValue() = default;
  explicit DefaultValue(bool v) : value(v) {}
  explicit DefaultValue(int64_t v) : value(v) {}
  explicit DefaultValue(double v) : value(v) {}
  explicit DefaultValue(std::string v) : value(std::move(v)) {}
  explicit DefaultValue(EnumConstant v) : value(std::move(v)) {}
  explicit DefaultValue(List v) : value(std::move(v)) {}

  /// Whether the value is of this kind.
  bool isNone() const { return std::holds_alternative<None>(value); }
  bool isBool() const { return std::holds_alternative<bool>(value); }
  /// Whether the value is an int or an EnumConstant.
  bool isInt() const { return std::holds_alternative<int64_t>(value) || std::holds_alternative<EnumConstant>(value); }
  bool isDouble() const { return std::holds_alternative<double>(value); }
  bool isString() const { return std::holds_alternative<std::string>(value); }
  bool isList() const { return std::holds_alternative<List>(value); }

  // Each throws shunt::Error if the value has another kind.
  bool toBool() const;
  int64_t toInt() const;
  double toDouble() const;  // also from an int
  const std::string& toStringRef() const;
  const List& toList() const;
  std::vector<int64_t> toIntVector() const;
  std::vector<double> toDoubleVector() const;
  std::vector<bool> toBoolVector() const;

  bool operator==(const DefaultValue& other) const;
};

/// Prints the schema's spelling: None, True, 1, 1e-05, "text", [1, 2], Mean. A double has the shortest text that reads
/// back to the same bits, and never looks like an int (1.0). PyTorch prints 17 digits, and `1.`.
SHUNT_API std::ostream& operator<<(std::ostream& out, const DefaultValue& value);

/// An argument or return of a schema.
struct SHUNT_API Argument {
  /// Empty for unnamed returns.
  std::string name;
  Type type;
  /// The annotation of the value or of a list's elements: `Tensor(a!) self`, `Tensor(a!)[] self`.
  std::optional<AliasInfo> alias;
  /// The annotation of the list itself: `Tensor[](a!) self`.
  std::optional<AliasInfo> container_alias;
  std::optional<DefaultValue> default_value;
  bool kwarg_only = false;

  /// Whether there is an alias annotation, and whether the operator writes to the value or the list.
  bool hasAlias() const { return alias.has_value() || container_alias.has_value(); }
  bool is_write() const { return (alias && alias->is_write) || (container_alias && container_alias->is_write); }
  /// Whether this is an out= argument: keyword-only and written.
  bool is_out() const { return kwarg_only && is_write(); }

  bool operator==(const Argument&) const = default;
};

/// Prints `Tensor(a!)? self`, `int[2] stride=1`, or the type alone. The schema prints the `*` before keyword-only ones.
SHUNT_API std::ostream& operator<<(std::ostream& out, const Argument& argument);

}  // namespace shunt
