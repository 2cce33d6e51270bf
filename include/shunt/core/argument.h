// One argument or return of a schema: type, name, alias annotation, default value.
//
// Plain values; the parser (parseSchema) and registrations that infer a schema build them, everybody else reads.
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

/// `(a)`, `(a!)`, `(a -> *)`, `(a|b)`: which memory an argument may share, and whether the operator writes to it.
/// Both sets are sorted and without duplicates; a set that holds the wildcard "*" holds nothing else.
struct SHUNT_API AliasInfo {
  std::vector<std::string> before_sets;
  /// After the operator ran; equal to before_sets unless the annotation has an arrow.
  std::vector<std::string> after_sets;
  bool is_write = false;

  /// Normalises the sets.
  AliasInfo(std::vector<std::string> before, std::vector<std::string> after, bool is_write);

  /// Whether the set before (after) the operator ran is the wildcard "*".
  bool isWildcardBefore() const { return before_sets.size() == 1 && before_sets.front() == "*"; }
  bool isWildcardAfter() const { return after_sets.size() == 1 && after_sets.front() == "*"; }
  bool operator==(const AliasInfo&) const = default;
};

SHUNT_API std::ostream& operator<<(std::ostream& out, const AliasInfo& alias);

/// A name that stands for an int in a default: `Mean`, `contiguous_format`, `long`, `strided`.
/// Compares by name and value: the spelling is part of the schema.
struct EnumConstant {
  std::string name;
  int64_t value = 0;
  bool operator==(const EnumConstant&) const = default;
};

/// A default value as the schema gives it, already of the argument's type: `float p=2` holds a double, `int[2] s=1` the
/// list [1, 1], `Device d="cpu"` and `Dimname d="N"` a string. NaN equals NaN, and 0.0 differs from -0.0.
struct SHUNT_API DefaultValue {
  /// The types of values that are no plain C++ types.
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

  /// Which kind of value it is.
  bool isNone() const { return std::holds_alternative<None>(value); }
  bool isBool() const { return std::holds_alternative<bool>(value); }
  /// An int or the name of one.
  bool isInt() const { return std::holds_alternative<int64_t>(value) || std::holds_alternative<EnumConstant>(value); }
  bool isDouble() const { return std::holds_alternative<double>(value); }
  bool isString() const { return std::holds_alternative<std::string>(value); }
  bool isList() const { return std::holds_alternative<List>(value); }

  // Each throws shunt::Error when the value is something else.
  bool toBool() const;
  int64_t toInt() const;
  double toDouble() const;  // an int converts
  const std::string& toStringRef() const;
  const List& toList() const;
  std::vector<int64_t> toIntVector() const;
  std::vector<double> toDoubleVector() const;
  std::vector<bool> toBoolVector() const;

  bool operator==(const DefaultValue& other) const;
};

/// The schema's spelling: None, True, 1, 1e-05, "text", [1, 2], Mean. Doubles take the shortest text that reads back to
/// the same bits and always show that they are doubles (1.0); PyTorch's own printer gives 17 digits and `1.`.
SHUNT_API std::ostream& operator<<(std::ostream& out, const DefaultValue& value);

/// An argument or a return of a schema.
struct SHUNT_API Argument {
  /// Empty for an unnamed return.
  std::string name;
  Type type;
  /// Of the value, or of a list's elements: `Tensor(a!) self`, `Tensor(a!)[] self`.
  std::optional<AliasInfo> alias;
  /// Of the list itself: `Tensor[](a!) self`.
  std::optional<AliasInfo> container_alias;
  std::optional<DefaultValue> default_value;
  bool kwarg_only = false;

  /// Whether it has an alias annotation, and whether the operator writes it.
  bool hasAlias() const { return alias.has_value() || container_alias.has_value(); }
  bool is_write() const { return (alias && alias->is_write) || (container_alias && container_alias->is_write); }
  /// An out= argument: written and keyword-only.
  bool is_out() const { return kwarg_only && is_write(); }

  bool operator==(const Argument&) const = default;
};

/// `Tensor(a!)? self`, `int[2] stride=1`, or the type alone. The `*` before keyword-only arguments is the schema's.
SHUNT_API std::ostream& operator<<(std::ostream& out, const Argument& argument);

}  // namespace shunt
