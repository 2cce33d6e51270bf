#include <shunt/core/error.h>
#include <shunt/core/types.h>

#include <array>
#include <iterator>
#include <ostream>
#include <utility>

namespace shunt {
namespace {

struct Spelling {
  std::string_view name;
  TypeKind kind;
  bool symbolic = false;
};

// Canonical spellings first, in the order of TypeKind; then aliases.
constexpr Spelling kSpellings[] = {
    {"Tensor", TypeKind::Tensor},
    {"Scalar", TypeKind::Scalar},
    {"int", TypeKind::Int},
    {"float", TypeKind::Float},
    {"bool", TypeKind::Bool},
    {"str", TypeKind::String},
    {"ScalarType", TypeKind::ScalarType},
    {"Layout", TypeKind::Layout},
    {"Device", TypeKind::Device},
    {"MemoryFormat", TypeKind::MemoryFormat},
    {"Generator", TypeKind::Generator},
    {"Dimname", TypeKind::Dimname},
    {"QScheme", TypeKind::QScheme},
    {"Storage", TypeKind::Storage},
    {"Stream", TypeKind::Stream},
    {"SymInt", TypeKind::Int, true},
};

constexpr bool spellingsFollowKinds() {
  for (int i = 0; i < kNumNamedTypeKinds; ++i) {
    if (kSpellings[i].kind != static_cast<TypeKind>(i) || kSpellings[i].symbolic) return false;
  }
  return true;
}
static_assert(spellingsFollowKinds());

// The rest, which schemas spell with their elements.
constexpr std::string_view kCompoundNames[] = {"Dict", "Tuple", "List"};
static_assert(std::size(kCompoundNames) == kNumTypeKinds - kNumNamedTypeKinds);

std::string joined(const std::vector<Type>& types) {
  std::string text = "(";
  for (const Type& type : types) text.append(text.size() > 1 ? ", " : "").append(type.str());
  return text + ")";
}

}  // namespace

std::string_view toString(TypeKind kind) {
  const auto index = static_cast<int>(kind);
  SHUNT_INTERNAL_ASSERT(index < kNumTypeKinds, "TypeKind ", index);
  if (index >= kNumNamedTypeKinds) return kCompoundNames[index - kNumNamedTypeKinds];
  return kSpellings[index].name;
}

std::ostream& operator<<(std::ostream& out, TypeKind kind) { return out << toString(kind); }

const std::vector<std::string_view>& knownTypeNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Spelling& spelling : kSpellings) all.push_back(spelling.name);
    return all;
  }();
  return names;
}

std::optional<Type> Type::fromName(std::string_view name) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.name != name) continue;
    Type type;
    type.kind = spelling.kind;
    type.symbolic = spelling.symbolic;
    return type;
  }
  return std::nullopt;
}

Type Type::dict(Type key, Type value) {
  SHUNT_CHECK(key.canBeKey(), "Dict(", key, ", ", value,
              "): expected a key of type str, int, float, bool or Tensor, got ", key);
  Type type;
  type.kind = TypeKind::Dict;
  type.elements = {std::move(key), std::move(value)};
  return type;
}

Type Type::tuple(std::vector<Type> parts) {
  Type type;
  type.kind = TypeKind::Tuple;
  type.elements = std::move(parts);
  return type;
}

Type Type::listOf(Type element) {
  const bool optional = std::exchange(element.optional, false);
  Type type;
  if (element.list) {
    type.kind = TypeKind::List;
    type.elements.push_back(std::move(element));
  } else {
    type = std::move(element);
  }
  type.list = true;
  type.element_optional = optional;
  return type;
}

Type Type::elementType() const {
  SHUNT_INTERNAL_ASSERT(list, "elementType() of ", *this);
  Type type = *this;
  if (kind == TypeKind::List) {
    type = elements[0];
  } else {
    type.list = type.element_optional = false;
    type.fixed_size.reset();
  }
  type.optional = element_optional;
  return type;
}

bool Type::canBeKey() const {
  return isPlain(TypeKind::String) || isPlain(TypeKind::Int) || isPlain(TypeKind::Float) || isPlain(TypeKind::Bool) ||
         isPlain(TypeKind::Tensor);
}

std::string Type::kindName() const {
  if (kind == TypeKind::Dict) return "Dict" + joined(elements);
  if (kind == TypeKind::Tuple) return joined(elements);
  if (kind == TypeKind::List && !elements.empty()) return elements[0].str();
  for (const Spelling& spelling : kSpellings) {
    if (spelling.kind == kind && spelling.symbolic == symbolic) return std::string(spelling.name);
  }
  return std::string(toString(kind));
}

std::string Type::str() const {
  std::string text = kindName();
  if (list) {
    if (element_optional) text += '?';
    text += '[';
    if (fixed_size) text += std::to_string(*fixed_size);
    text += ']';
  }
  if (optional) text += '?';
  return text;
}

std::ostream& operator<<(std::ostream& out, const Type& type) { return out << type.str(); }

}  // namespace shunt
