// Type: a type in an operator schema, which is a kind with modifiers (optional, list, fixed-size list). Dictionaries,
// tuples and lists of lists contain further types.
//
// Types are plain values that don't depend on tensors, so the code generator uses them too. Any thread may read them.
// One table defines how kinds are spelt (types.cpp).
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt {

/// A schema type without its list and optional modifiers.
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
  // Made of the types in Type::elements:
  Dict,
  Tuple,
  List,
};
/// How many kinds there are.
inline constexpr int kNumTypeKinds = static_cast<int>(TypeKind::List) + 1;
/// Kinds spelt by a single name; they are the first ones.
inline constexpr int kNumNamedTypeKinds = static_cast<int>(TypeKind::Stream) + 1;

/// A kind as schemas spell it: "Tensor", "int", "str", ...; "Dict", "Tuple" and "List" for kinds made of others.
SHUNT_API std::string_view toString(TypeKind kind);
SHUNT_API std::ostream& operator<<(std::ostream& out, TypeKind kind);

/// Every single name that spells a type, in the order of TypeKind, then the aliases (SymInt).
SHUNT_API const std::vector<std::string_view>& knownTypeNames();

/// The largest N of a sized list (`int[N]`). Such a list also takes a single value, which it repeats. N doesn't limit
/// the length of a list (as in PyTorch, where `int[1] dim=[-2, -1]` is legal).
inline constexpr int64_t kMaxFixedListSize = 1024;

/// A schema type. `Tensor?[]` is a list of optionals (element_optional), `int[]?` an optional list (optional).
struct SHUNT_API Type {
  TypeKind kind = TypeKind::Tensor;
  bool optional = false;
  bool list = false;
  bool element_optional = false;
  /// Spelt `SymInt`. The kind is Int, and values are int64_t.
  bool symbolic = false;
  /// Set only with `list`: the N of `int[N]`.
  std::optional<int64_t> fixed_size;
  /// - Dict: key and value. Tuple: its parts.
  /// - List, a list of lists: the inner list's type, not optional. Other lists have their elements' type as `kind`.
  /// - Other kinds: empty.
  std::vector<Type> elements;

  /// The plain (not optional, not list) type that `name` spells; nullopt if there is none.
  static std::optional<Type> fromName(std::string_view name);

  /// `Dict(key, value)`. Throws unless key.canBeKey().
  static Type dict(Type key, Type value);
  /// `(A, B, ...)`
  static Type tuple(std::vector<Type> parts);
  /// `element[]`
  static Type listOf(Type element);
  /// The type of a list's elements; `list` must be set.
  Type elementType() const;
  /// Whether dictionaries may have keys of this type: str, int, float, bool or Tensor.
  bool canBeKey() const;

  /// The spelling without modifiers: `SymInt` for a symbolic Int, `Dict(str, int)`, `int[]` for an `int[][]`.
  std::string kindName() const;
  /// `Tensor?[]`, `int[2]?`, ...
  std::string str() const;

  /// Whether it is this kind without modifiers, an optional of it, or a list of it (optional or not).
  bool isPlain(TypeKind k) const { return kind == k && !optional && !list; }
  bool isOptional(TypeKind k) const { return kind == k && optional && !list; }
  bool isList(TypeKind k) const { return kind == k && list; }

  bool operator==(const Type&) const = default;
};

SHUNT_API std::ostream& operator<<(std::ostream& out, const Type& type);

}  // namespace shunt
