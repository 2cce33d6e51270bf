#include <shunt/core/error.h>
#include <shunt/core/types.h>

#include <array>
#include <ostream>

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
  for (int i = 0; i < kNumTypeKinds; ++i) {
    if (kSpellings[i].kind != static_cast<TypeKind>(i) || kSpellings[i].symbolic) return false;
  }
  return true;
}
static_assert(spellingsFollowKinds());

}  // namespace

std::string_view toString(TypeKind kind) {
  const auto index = static_cast<int>(kind);
  SHUNT_INTERNAL_ASSERT(index < kNumTypeKinds, "TypeKind ", index);
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

std::string_view Type::kindName() const {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.kind == kind && spelling.symbolic == symbolic) return spelling.name;
  }
  return toString(kind);
}

std::string Type::str() const {
  std::string text(kindName());
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
