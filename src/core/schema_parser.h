// The grammar of operator schemas, by recursive descent; PyTorch's schema language without its TorchScript-only types.
//
//   schema    := name '(' arguments ')' '->' returns
//   name      := [ident '::'] ident ['.' ident]
//   arguments := [argument {',' argument}] with one '*,' before the keyword-only ones; '...' may end them
//   argument  := type ident ['=' default]
//   returns   := ret | '...' | '(' [ret {',' ret}] ')'          ret := type [ident]
//   type      := base [alias] ['?'] {'[' [number] ']' [alias] ['?']}
//   base      := ident | 'Dict' '(' type ',' type ')' | '(' type {',' type} ')'
//   alias     := '(' sets ['!'] ['->' sets] ')'                 sets := (ident | '*') {'|' (ident | '*')}
//
// One parser per text, used by one thread.
#pragma once

#include <shunt/core/function_schema.h>

#include <string_view>
#include <variant>
#include <vector>

#include "src/core/schema_lexer.h"

namespace shunt::detail {

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : lexer_(text) {}

  /// Each takes the whole text.
  FunctionSchema parseSchema();
  OperatorName parseNameOnly();
  std::variant<OperatorName, FunctionSchema> parseSchemaOrName();

 private:
  OperatorName parseName();
  FunctionSchema parseAfterName(OperatorName name);
  /// Returns whether the list ends in `...`.
  bool parseArguments(std::vector<Argument>& arguments);
  bool parseReturns(std::vector<Argument>& returns);
  Argument parseArgument(const std::vector<Argument>& previous, bool kwarg_only);
  Argument parseReturn(const std::vector<Argument>& previous);
  /// Fills type and aliases.
  void parseType(Argument& argument);
  Type parseBase();
  Type parseTuple();
  Type parseDict();
  /// A type within another, which has no alias annotation.
  Type parseInnerType();
  void parseListSuffix(Argument& argument);
  std::optional<int64_t> parseListSize();
  std::optional<AliasInfo> parseAlias();
  std::vector<std::string> parseAliasSets();

  SchemaLexer lexer_;
  int depth_ = 0;  // of types within types
};

}  // namespace shunt::detail
