#include "src/core/schema_lexer.h"

#include <shunt/core/error.h>

#include <algorithm>
#include <array>

namespace shunt::detail {
namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isIdentifierStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isIdentifierPart(char c) { return isIdentifierStart(c) || isDigit(c); }
bool isControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool isUtf8Continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Longer ones before their prefixes.
constexpr std::array<std::string_view, 15> kSymbols = {"...", "->", "::", "(", ")", "[", "]", ",",
                                                       ".",   "?",  "!",  "=", "|", "*", "-"};

struct Escape {
  char letter;
  char value;
};
constexpr Escape kEscapes[] = {{'\\', '\\'}, {'\'', '\''}, {'"', '"'},  {'n', '\n'}, {'t', '\t'}, {'r', '\r'},
                               {'a', '\a'},  {'b', '\b'},  {'f', '\f'}, {'v', '\v'}, {'0', '\0'}};

int hexDigit(char c) {
  if (isDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// On one line, so that the caret below it points at the right place.
std::string printable(std::string_view text) {
  std::string out(text);
  std::replace_if(out.begin(), out.end(), isControl, ' ');
  return out;
}

std::string describe(const Token& token) {
  if (token.kind == TokenKind::End) return "the end of the text";
  if (token.kind == TokenKind::String) return "the string " + printable(token.text);
  if (token.kind == TokenKind::Invalid && (isControl(token.text.front()) || (token.text.front() & 0x80))) {
    return "byte " + std::to_string(static_cast<unsigned char>(token.text.front()));
  }
  return "'" + std::string(token.text) + "'";
}

}  // namespace

SchemaLexer::SchemaLexer(std::string_view text) : text_(text) { cur_ = lex(0); }

Token SchemaLexer::next() {
  const Token token = cur_;
  cur_ = lex(token.position + token.text.size());
  return token;
}

bool SchemaLexer::nextIf(std::string_view symbol) {
  if (!cur_.isSymbol(symbol)) return false;
  next();
  return true;
}

void SchemaLexer::expectSymbol(std::string_view symbol, std::string_view expected) {
  if (!nextIf(symbol)) fail(cur_, expected);
}

Token SchemaLexer::expectIdentifier(std::string_view expected) {
  if (cur_.kind != TokenKind::Identifier) fail(cur_, expected);
  return next();
}

void SchemaLexer::fail(const Token& where, std::string_view expected) const {
  failAt(where.position, expected, describe(where));
}

void SchemaLexer::failAt(size_t position, std::string_view expected, std::string_view found) const {
  // A multi-byte character takes one column.
  const auto before = text_.substr(0, position);
  const auto continued = std::count_if(before.begin(), before.end(), isUtf8Continuation);
  const size_t column = before.size() - static_cast<size_t>(continued);
  throw Error(str("can't parse the schema: expected ", expected, ", found ", found, " at column ",
                  std::to_string(column + 1), ":\n  ", printable(text_), "\n  ", std::string(column, ' '), "^"));
}

Token SchemaLexer::lex(size_t position) const {
  while (position < text_.size() && isSpace(text_[position])) ++position;
  if (position == text_.size()) return token(TokenKind::End, position, position);
  const char c = text_[position];
  if (isIdentifierStart(c)) {
    size_t end = position + 1;
    while (end < text_.size() && isIdentifierPart(text_[end])) ++end;
    return token(TokenKind::Identifier, position, end);
  }
  if (isDigit(c)) return lexNumber(position);
  if (c == '"' || c == '\'') return lexString(position);
  return lexSymbol(position);
}

Token SchemaLexer::lexNumber(size_t start) const {
  size_t end = start;
  const auto digits = [&] {
    while (end < text_.size() && isDigit(text_[end])) ++end;
  };
  digits();
  if (end < text_.size() && text_[end] == '.') {
    ++end;
    digits();
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    ++end;
    if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
    const size_t exponent = end;
    digits();
    if (end == exponent) fail(lex(end), "the digits of an exponent");
  }
  return token(TokenKind::Number, start, end);
}

Token SchemaLexer::lexString(size_t start) const {
  const char quote = text_[start];
  for (size_t end = start + 1; end < text_.size(); ++end) {
    if (text_[end] == '\\') {
      ++end;
    } else if (text_[end] == quote) {
      return token(TokenKind::String, start, end + 1);
    }
  }
  failAt(start, str("a closing ", quote, " for the string that starts here"), "the end of the text");
}

Token SchemaLexer::lexSymbol(size_t start) const {
  for (const std::string_view symbol : kSymbols) {
    if (text_.substr(start).starts_with(symbol)) return token(TokenKind::Symbol, start, start + symbol.size());
  }
  return token(TokenKind::Invalid, start, start + 1);
}

std::string unquote(const SchemaLexer& lexer, const Token& token) {
  const std::string_view body = token.text.substr(1, token.text.size() - 2);
  std::string out;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    const size_t escape = token.position + 1 + i;
    const char letter = body[++i];
    if (letter == 'x') {
      const int high = i + 1 < body.size() ? hexDigit(body[i + 1]) : -1;
      const int low = i + 2 < body.size() ? hexDigit(body[i + 2]) : -1;
      if (high < 0 || low < 0) {
        const std::string found = printable(body.substr(i + 1, 2));
        lexer.failAt(escape, "two hexadecimal digits after \\x",
                     found.empty() ? "the end of the string" : "'" + found + "'");
      }
      out += static_cast<char>(high * 16 + low);
      i += 2;
      continue;
    }
    const auto* known =
        std::find_if(std::begin(kEscapes), std::end(kEscapes), [&](const Escape& e) { return e.letter == letter; });
    if (known == std::end(kEscapes)) {
      lexer.failAt(escape, "one of the escapes \\\\ \\' \\\" \\n \\t \\r \\a \\b \\f \\v \\0 \\xHH",
                   "'" + printable(body.substr(i - 1, 2)) + "'");
    }
    out += known->value;
  }
  return out;
}

}  // namespace shunt::detail
