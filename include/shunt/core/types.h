// The types that an operator schema can name: a kind, and how it is wrapped (optional, list, fixed-size list).
// Dictionaries, tuples and lists of lists are made of further types.
//
// Plain values without dependence on tensors, so that the code generator can use them too. Immutable once built;
// any thread may read them. The spelling of every kind stands in one table (types.cpp).
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt {

/// What a schema's type is, apart from lists and optionals of it.
enum class TypeKind : uint8_t {
  Tensor,
  Scalar,
  Int,
  Float,
  Bool,
  String,
  ScalarType,
  Layout,
  Device,
  MemoryFormat,
  Generator,
  Dimname,
  QScheme,
  Storage,
  Stream,
  // Made of other types, which stand in Type::elements:
  Dict,
  Tuple,
  List,
};
/// How many kinds there are.
inline constexpr int kNumTypeKinds = static_cast<int>(TypeKind::List) + 1;
/// Those that a single name spells; they come first.
inline constexpr int kNumNamedTypeKinds = static_cast<int>(TypeKind::Stream) + 1;

/// The schema's spelling of a kind: "Tensor", "int", "str", ...; "Dict", "Tuple" and "List" for those made of others.
SHUNT_API std::string_view toString(TypeKind kind);
SHUNT_API std::ostream& operator<<(std::ostream& out, TypeKind kind);

/// Every name that may stand for a type in a schema by itself, in the order of TypeKind, then the aliases (SymInt).
SHUNT_API const std::vector<std::string_view>& knownTypeNames();

/// A sized list (`int[2]`) takes a single value as well and repeats it; the size is a hint, not a bound (as in PyTorch,
/// where `int[1] dim=[-2, -1]` is legal).
inline constexpr int64_t kMaxFixedListSize = 1024;

/// `Tensor?[]` is a list of optionals (element_optional), `int[]?` an optional list (optional).
struct SHUNT_API Type {
  TypeKind kind = TypeKind::Tensor;
  bool optional = false;
  bool list = false;
  bool element_optional = false;
  /// Written `SymInt`; the kind is Int and values are int64_t all the same.
  bool symbolic = false;
  /// Only with `list`.
  std::optional<int64_t> fixed_size;
  /// Dict: the key and the value. Tuple: its parts. List: the one type that the elements of a list of lists have,
  /// itself a list that is not optional; what else a list may hold, `kind` says. Empty for every other kind.
  std::vector<Type> elements;

  /// The plain (not optional, not list) type that `name` spells, or nothing.
  static std::optional<Type> fromName(std::string_view name);

  /// `Dict(key, value)`; an error where dictionaries can't have such keys.
  static Type dict(Type key, Type value);
  /// `(A, B, ...)`
  static Type tuple(std::vector<Type> parts);
  /// `element[]`
  static Type listOf(Type element);
  /// The type of a list's elements; `list` must be set.
  Type elementType() const;
  /// Whether a dictionary may have keys of this type: str, int, float, bool, Tensor.
  bool canBeKey() const;

  /// The spelling without list and optional: `SymInt` for a symbolic Int, `Dict(str, int)`, `int[]` for an `int[][]`.
  std::string kindName() const;
  /// `Tensor?[]`, `int[2]?`, ...
  std::string str() const;

  /// Whether it is this kind alone, an optional one, or a list of it.
  bool isPlain(TypeKind k) const { return kind == k && !optional && !list; }
  bool isOptional(TypeKind k) const { return kind == k && optional && !list; }
  bool isList(TypeKind k) const { return kind == k && list; }

  bool operator==(const Type&) const = default;
};

SHUNT_API std::ostream& operator<<(std::ostream& out, const Type& type);

}  // namespace shunt
