// Tokens of schema text, one at a time, and the one place that words the parser's errors.
//
// A lexer belongs to one parse and one thread; the text must outlive it. Whitespace separates tokens and is otherwise
// ignored, as in PyTorch.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shunt::detail {

enum class TokenKind { Identifier, Number, String, Symbol, Invalid, End };

struct Token {
  TokenKind kind = TokenKind::End;
  /// A part of the text, quotes and escapes included; empty at the end.
  std::string_view text;
  /// Byte offset of its first character.
  size_t position = 0;

  bool isSymbol(std::string_view symbol) const { return kind == TokenKind::Symbol && text == symbol; }
  bool isIdentifier(std::string_view name) const { return kind == TokenKind::Identifier && text == name; }
};

class SchemaLexer {
 public:
  explicit SchemaLexer(std::string_view text);

  const Token& cur() const { return cur_; }
  /// Returns the current token and moves on.
  Token next();
  /// Moves on and returns true if the current token is this symbol.
  bool nextIf(std::string_view symbol);
  void expectSymbol(std::string_view symbol, std::string_view expected);
  Token expectIdentifier(std::string_view expected);

  /// Throws shunt::Error with the text and a caret under `where`.
  [[noreturn]] void fail(const Token& where, std::string_view expected) const;
  [[noreturn]] void failAt(size_t position, std::string_view expected, std::string_view found) const;

 private:
  Token lex(size_t position) const;
  Token lexNumber(size_t start) const;
  Token lexString(size_t start) const;
  Token lexSymbol(size_t start) const;
  Token token(TokenKind kind, size_t start, size_t end) const {
    return {kind, text_.substr(start, end - start), start};
  }

  std::string_view text_;
  Token cur_;
};

/// The string that a String token spells; fails at a bad escape.
std::string unquote(const SchemaLexer& lexer, const Token& token);

}  // namespace shunt::detail
