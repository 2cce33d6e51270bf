#include "src/core/schema_default.h"

#include <shunt/core/error.h>
#include <shunt/core/reduction.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

namespace shunt::detail {
namespace {

enum Accepts : unsigned { kNothing = 0, kBool = 1, kInt = 2, kFloat = 4, kString = 8, kNone = 16 };

/// In the order of TypeKind. None is taken by every optional type besides; a name of kEnumNames by its kind.
struct KindRule {
  TypeKind kind;
  unsigned accepts;
  const char* expected;
};
constexpr KindRule kRules[] = {
    {TypeKind::Tensor, kNone, "None (the only default of a Tensor)"},
    {TypeKind::Scalar, kBool | kInt | kFloat, "a number, True or False"},
    {TypeKind::Int, kInt, "an integer or Mean"},
    {TypeKind::Float, kFloat, "a number"},
    {TypeKind::Bool, kBool, "True or False"},
    {TypeKind::String, kString, "a quoted string"},
    {TypeKind::ScalarType, kInt, "a dtype's name, such as long or float"},
    {TypeKind::Layout, kInt, "strided"},
    {TypeKind::Device, kString, "a quoted device name"},
    {TypeKind::MemoryFormat, kInt, "contiguous_format, preserve_format, channels_last or channels_last_3d"},
    {TypeKind::Generator, kNone, "None (the only default of a Generator)"},
    {TypeKind::Dimname, kString, "a quoted dimension name"},
    {TypeKind::QScheme, kInt, "an integer"},
    {TypeKind::Storage, kNothing, "no default value (a Storage can't have one; Storage?=None can)"},
    {TypeKind::Stream, kNothing, "no default value (a Stream can't have one; Stream?=None can)"},
    {TypeKind::Dict, kNothing, "no default value (a Dict can't have one; a Dict that is optional can have None)"},
    {TypeKind::Tuple, kNothing, "no default value (a tuple can't have one; a tuple that is optional can have None)"},
    {TypeKind::List, kNothing, "a list in [ ]"},
};
static_assert(std::size(kRules) == kNumTypeKinds);

/// The values are PyTorch's: at::Reduction, c10::ScalarType, c10::Layout, c10::MemoryFormat.
struct EnumName {
  TypeKind kind;
  const char* name;
  int64_t value;
};
constexpr EnumName kEnumNames[] = {
    {TypeKind::Int, "Mean", Reduction::Mean},
    {TypeKind::ScalarType, "uint8", 0},
    {TypeKind::ScalarType, "int8", 1},
    {TypeKind::ScalarType, "short", 2},
    {TypeKind::ScalarType, "int16", 2},
    {TypeKind::ScalarType, "int", 3},
    {TypeKind::ScalarType, "int32", 3},
    {TypeKind::ScalarType, "long", 4},
    {TypeKind::ScalarType, "int64", 4},
    {TypeKind::ScalarType, "half", 5},
    {TypeKind::ScalarType, "float16", 5},
    {TypeKind::ScalarType, "float", 6},
    {TypeKind::ScalarType, "float32", 6},
    {TypeKind::ScalarType, "double", 7},
    {TypeKind::ScalarType, "float64", 7},
    {TypeKind::ScalarType, "bool", 11},
    {TypeKind::ScalarType, "bfloat16", 15},
    {TypeKind::Layout, "strided", 0},
    {TypeKind::MemoryFormat, "contiguous_format", 0},
    {TypeKind::MemoryFormat, "preserve_format", 1},
    {TypeKind::MemoryFormat, "channels_last", 2},
    {TypeKind::MemoryFormat, "channels_last_3d", 3},
};

const KindRule& ruleOf(TypeKind kind) {
  const KindRule& rule = kRules[static_cast<size_t>(kind)];
  SHUNT_INTERNAL_ASSERT(rule.kind == kind, "the rules for defaults are not in the order of TypeKind");
  return rule;
}

bool isIntegerText(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

/// `digits` is a Number token's text; the sign goes in front of it before conversion, for the sake of the least int64.
template <class T>
bool convert(bool negative, std::string_view digits, T& out) {
  const std::string text = (negative ? "-" : "") + std::string(digits);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), out);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

DefaultValue parseInt(const SchemaLexer& lexer, bool negative, const Token& number) {
  int64_t value = 0;
  if (!convert(negative, number.text, value)) lexer.fail(number, "an integer of at most 64 bits");
  return DefaultValue(value);
}

DefaultValue parseFloat(const SchemaLexer& lexer, bool negative, const Token& number) {
  double value = 0;
  if (!convert(negative, number.text, value)) lexer.fail(number, "a number that a double can hold (or inf)");
  return DefaultValue(value);
}

class ElementParser {
 public:
  ElementParser(SchemaLexer& lexer, const Type& type, bool none_allowed)
      : lexer_(lexer), type_(type), rule_(ruleOf(type.kind)), none_allowed_(none_allowed) {}

  DefaultValue parse() {
    const Token& token = lexer_.cur();
    if (token.kind == TokenKind::Number || token.isSymbol("-")) return parseNumber();
    if (token.kind == TokenKind::String && (rule_.accepts & kString))
      return DefaultValue(unquote(lexer_, lexer_.next()));
    if (token.kind == TokenKind::Identifier) return parseName();
    fail(token);
  }

 private:
  [[noreturn]] void fail(const Token& where) const {
    const bool say_none = none_allowed_ && !(rule_.accepts & kNone);
    lexer_.fail(where, str(rule_.expected, say_none ? ", or None" : "", " as default value of type ", type_));
  }

  DefaultValue parseNumber() {
    const Token first = lexer_.cur();
    if (!(rule_.accepts & (kInt | kFloat))) fail(first);
    const bool negative = lexer_.nextIf("-");
    const Token number = lexer_.cur();
    if (negative && (rule_.accepts & kFloat) && number.isIdentifier("inf")) {
      lexer_.next();
      return DefaultValue(-std::numeric_limits<double>::infinity());
    }
    if (number.kind != TokenKind::Number) lexer_.fail(number, "a number after '-'");
    if (!isIntegerText(number.text) && !(rule_.accepts & kFloat)) fail(first);
    const bool as_int = isIntegerText(number.text) && (rule_.accepts & kInt);
    const DefaultValue value = as_int ? parseInt(lexer_, negative, number) : parseFloat(lexer_, negative, number);
    lexer_.next();
    return value;
  }

  DefaultValue parseName() {
    const Token token = lexer_.cur();
    std::optional<DefaultValue> value;
    if (token.text == "None" && (none_allowed_ || (rule_.accepts & kNone))) value.emplace();
    if ((token.text == "True" || token.text == "False") && (rule_.accepts & kBool)) value.emplace(token.text == "True");
    if (token.text == "inf" && (rule_.accepts & kFloat)) value.emplace(std::numeric_limits<double>::infinity());
    if (token.text == "nan" && (rule_.accepts & kFloat)) value.emplace(std::numeric_limits<double>::quiet_NaN());
    for (const EnumName& e : kEnumNames) {
      if (e.kind == type_.kind && e.name == token.text) value.emplace(EnumConstant{e.name, e.value});
    }
    if (!value) fail(token);
    lexer_.next();
    return *std::move(value);
  }

  SchemaLexer& lexer_;
  const Type& type_;
  const KindRule& rule_;
  const bool none_allowed_;
};

DefaultValue parseList(SchemaLexer& lexer, const Type& type) {
  lexer.next();
  DefaultValue::List list;
  if (lexer.nextIf("]")) return DefaultValue(std::move(list));
  while (true) {
    if (type.kind == TypeKind::List)
      list.push_back(parseDefaultValue(lexer, type.elementType()));
    else
      list.push_back(ElementParser(lexer, type, type.element_optional).parse());
    if (lexer.nextIf("]")) return DefaultValue(std::move(list));
    lexer.expectSymbol(",", "',' or ']' in the list");
  }
}

}  // namespace

DefaultValue parseDefaultValue(SchemaLexer& lexer, const Type& type) {
  if (!type.list) return ElementParser(lexer, type, type.optional).parse();
  if (lexer.cur().isSymbol("[")) return parseList(lexer, type);
  if (type.optional && lexer.cur().isIdentifier("None")) {
    lexer.next();
    return DefaultValue();
  }
  if (type.fixed_size.value_or(0) == 0 || type.kind == TypeKind::List) {
    lexer.fail(lexer.cur(), str("a list in [ ]", type.optional ? ", or None" : "", " as default value of type ", type));
  }
  DefaultValue value = ElementParser(lexer, type, /*none_allowed=*/false).parse();
  return DefaultValue(DefaultValue::List(static_cast<size_t>(*type.fixed_size), std::move(value)));
}

}  // namespace shunt::detail
