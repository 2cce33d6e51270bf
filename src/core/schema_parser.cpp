#include "src/core/schema_parser.h"

#include <shunt/core/error.h>
#include <shunt/core/near_names.h>

#include <algorithm>
#include <charconv>

#include "src/core/schema_default.h"
#include "src/core/schema_rules.h"

namespace shunt {
namespace detail {
namespace {

// Schemas may come from files; a parser by recursive descent must not run out of stack.
constexpr int kMaxTypeDepth = 32;

std::string expectedType() {
  std::string text = "a type (one of";
  for (const std::string_view name : knownTypeNames())
    text.append(name == knownTypeNames().front() ? " " : ", ").append(name);
  return text + "), Dict(key, value) or a tuple (type, type)";
}

[[noreturn]] void failAtType(const SchemaLexer& lexer, const Token& token) {
  const std::vector<std::string> known(knownTypeNames().begin(), knownTypeNames().end());
  const std::string near = token.kind == TokenKind::Identifier ? didYouMean(token.text, known) : "";
  if (near.empty()) lexer.fail(token, expectedType());
  lexer.failAt(token.position, expectedType(), str("'", token.text, "' (", near.substr(2), ")"));
}

}  // namespace

FunctionSchema SchemaParser::parseSchema() { return parseAfterName(parseName()); }

OperatorName SchemaParser::parseNameOnly() {
  OperatorName name = parseName();
  if (lexer_.cur().kind != TokenKind::End) lexer_.fail(lexer_.cur(), "the end of the operator's name");
  return name;
}

std::variant<OperatorName, FunctionSchema> SchemaParser::parseSchemaOrName() {
  OperatorName name = parseName();
  if (lexer_.cur().kind == TokenKind::End) return name;
  return parseAfterName(std::move(name));
}

OperatorName SchemaParser::parseName() {
  const auto part = [this](std::string_view expected) {
    if (!isSchemaIdentifier(lexer_.cur().text)) lexer_.fail(lexer_.cur(), expected);
    return std::string(lexer_.next().text);
  };
  OperatorName name;
  name.name = part("an operator's name");
  if (lexer_.nextIf("::")) name.name += "::" + part("an operator's name after its namespace");
  if (lexer_.nextIf(".")) {
    const Token overload = lexer_.cur();
    name.overload_name = part("an overload name after '.'");
    if (const auto expected = checkOverloadName(overload.text)) lexer_.fail(overload, *expected);
  }
  return name;
}

FunctionSchema SchemaParser::parseAfterName(OperatorName name) {
  lexer_.expectSymbol("(", "'(' before the arguments");
  std::vector<Argument> arguments;
  const bool is_vararg = parseArguments(arguments);
  lexer_.expectSymbol("->", "'->' and the returns");
  std::vector<Argument> returns;
  const bool is_varret = parseReturns(returns);
  if (lexer_.cur().kind != TokenKind::End) lexer_.fail(lexer_.cur(), "the end of the schema");
  return FunctionSchema(std::move(name), std::move(arguments), std::move(returns), is_vararg, is_varret);
}

bool SchemaParser::parseArguments(std::vector<Argument>& arguments) {
  if (lexer_.nextIf(")")) return false;
  bool kwarg_only = false;
  while (true) {
    if (!kwarg_only && lexer_.nextIf("*")) {
      kwarg_only = true;
      lexer_.expectSymbol(",", "',' and a keyword-only argument after '*'");
    } else if (lexer_.nextIf("...")) {
      lexer_.expectSymbol(")", "')' after '...'");
      return true;
    }
    arguments.push_back(parseArgument(arguments, kwarg_only));
    if (lexer_.nextIf(")")) return false;
    const bool has_default = arguments.back().default_value.has_value();
    lexer_.expectSymbol(",", has_default ? "',' or ')' after the argument" : "'=', ',' or ')' after the argument");
  }
}

bool SchemaParser::parseReturns(std::vector<Argument>& returns) {
  if (lexer_.nextIf("...")) return true;
  if (!lexer_.nextIf("(")) {
    returns.push_back(parseReturn(returns));
    return false;
  }
  if (lexer_.nextIf(")")) return false;
  while (true) {
    if (lexer_.nextIf("...")) {
      lexer_.expectSymbol(")", "')' after '...'");
      return true;
    }
    returns.push_back(parseReturn(returns));
    if (lexer_.nextIf(")")) return false;
    lexer_.expectSymbol(",", "',' or ')' after the return");
  }
}

Argument SchemaParser::parseArgument(const std::vector<Argument>& previous, bool kwarg_only) {
  Argument argument;
  argument.kwarg_only = kwarg_only;
  parseType(argument);
  if (const auto expected = checkArgumentName(previous, lexer_.cur().text)) lexer_.fail(lexer_.cur(), *expected);
  argument.name = lexer_.next().text;
  if (lexer_.nextIf("=")) argument.default_value = parseDefaultValue(lexer_, argument.type);
  if (const auto expected = checkDefaultOrder(previous, argument)) lexer_.fail(lexer_.cur(), *expected);
  return argument;
}

Argument SchemaParser::parseReturn(const std::vector<Argument>& previous) {
  Argument ret;
  parseType(ret);
  if (lexer_.cur().kind != TokenKind::Identifier) return ret;
  if (const auto expected = checkArgumentName(previous, lexer_.cur().text)) lexer_.fail(lexer_.cur(), *expected);
  ret.name = lexer_.next().text;
  return ret;
}

void SchemaParser::parseType(Argument& argument) {
  argument.type = parseBase();
  argument.alias = parseAlias();
  argument.type.optional = lexer_.nextIf("?");
  while (lexer_.cur().isSymbol("[")) {
    if (argument.type.list && argument.hasAlias())
      lexer_.fail(lexer_.cur(), "no list of lists after an alias annotation");
    lexer_.next();
    parseListSuffix(argument);
  }
  if (argument.type.kind == TypeKind::List && argument.hasAlias())
    lexer_.fail(lexer_.cur(), "no alias annotation of a list of lists");
  if (argument.type.optional && lexer_.cur().isSymbol("(")) {
    lexer_.fail(lexer_.cur(), "an alias annotation before the '?', as in Tensor(a)?");
  }
}

Type SchemaParser::parseBase() {
  const Token token = lexer_.cur();
  if (token.isSymbol("(")) return parseTuple();
  if (token.isIdentifier("Dict")) return parseDict();
  const auto type = token.kind == TokenKind::Identifier ? Type::fromName(token.text) : std::nullopt;
  if (!type) failAtType(lexer_, token);
  lexer_.next();
  return *type;
}

Type SchemaParser::parseTuple() {
  lexer_.next();
  std::vector<Type> parts{parseInnerType()};
  while (!lexer_.nextIf(")")) {
    lexer_.expectSymbol(",", "',' or ')' in the tuple");
    parts.push_back(parseInnerType());
  }
  return Type::tuple(std::move(parts));
}

Type SchemaParser::parseDict() {
  lexer_.next();
  lexer_.expectSymbol("(", "'(' and the types of keys and values after 'Dict'");
  const Token where = lexer_.cur();
  Type key = parseInnerType();
  if (!key.canBeKey()) lexer_.fail(where, "a key of type str, int, float, bool or Tensor");
  lexer_.expectSymbol(",", "',' and the type of the values");
  Type value = parseInnerType();
  lexer_.expectSymbol(")", "')' after the type of the values");
  return Type::dict(std::move(key), std::move(value));
}

Type SchemaParser::parseInnerType() {
  const Token where = lexer_.cur();
  if (depth_ == kMaxTypeDepth) lexer_.fail(where, str("a type of at most ", kMaxTypeDepth, " levels"));
  ++depth_;
  Argument inner;
  parseType(inner);
  --depth_;
  if (inner.hasAlias()) lexer_.fail(where, "a type without an alias annotation within another type");
  return std::move(inner.type);
}

void SchemaParser::parseListSuffix(Argument& argument) {
  // Each level of lists is within the next.
  int levels = depth_;
  for (const Type* t = &argument.type; t->kind == TypeKind::List; t = &t->elements[0]) ++levels;
  if (levels >= kMaxTypeDepth) lexer_.fail(lexer_.cur(), str("a type of at most ", kMaxTypeDepth, " levels"));
  Type& type = argument.type;
  type = Type::listOf(std::move(type));
  type.fixed_size = parseListSize();
  lexer_.expectSymbol("]", type.fixed_size ? "']' after the list's size" : "']' or the list's size");
  argument.container_alias = parseAlias();
  type.optional = lexer_.nextIf("?");
}

std::optional<int64_t> SchemaParser::parseListSize() {
  const Token size = lexer_.cur();
  if (size.kind != TokenKind::Number) return std::nullopt;
  int64_t value = 0;
  const char* end = size.text.data() + size.text.size();
  const auto result = std::from_chars(size.text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value > kMaxFixedListSize)
    lexer_.fail(size, str("a list size from 0 to ", std::to_string(kMaxFixedListSize)));
  lexer_.next();
  return value;
}

std::optional<AliasInfo> SchemaParser::parseAlias() {
  if (!lexer_.nextIf("(")) return std::nullopt;
  std::vector<std::string> before = parseAliasSets();
  const bool is_write = lexer_.nextIf("!");
  std::vector<std::string> after = lexer_.nextIf("->") ? parseAliasSets() : before;
  lexer_.expectSymbol(")", "')' after the alias annotation");
  return AliasInfo(std::move(before), std::move(after), is_write);
}

std::vector<std::string> SchemaParser::parseAliasSets() {
  std::vector<std::string> sets;
  do {
    if (lexer_.nextIf("*")) {
      sets.emplace_back("*");
    } else {
      sets.emplace_back(lexer_.expectIdentifier("an alias set's name or '*'").text);
    }
  } while (lexer_.nextIf("|"));
  return sets;
}

}  // namespace detail

FunctionSchema parseSchema(std::string_view text) { return detail::SchemaParser(text).parseSchema(); }

OperatorName parseName(std::string_view text) { return detail::SchemaParser(text).parseNameOnly(); }

std::variant<OperatorName, FunctionSchema> parseSchemaOrName(std::string_view text) {
  return detail::SchemaParser(text).parseSchemaOrName();
}

}  // namespace shunt
