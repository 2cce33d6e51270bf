// Every malformed schema is a shunt::Error that shows the text, a caret under the position, what was expected, what
// stands there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <shunt/core/error.h>
#include <shunt/core/function_schema.h>

#include <string>

namespace shunt {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

struct Case {
  /// The first '^' marks where the error is and is not part of the text.
  const char* marked;
  const char* expected;
  const char* found;
};

constexpr const char* kEnd = "the end of the text";

const Case kCases[] = {
    // names
    {"^", "an operator's name", kEnd},
    {"^(Tensor a) -> Tensor", "an operator's name", "'('"},
    {"^1add() -> ()", "an operator's name", "'1'"},
    {"^None() -> ()", "an operator's name", "'None'"},
    {"aten::^() -> ()", "an operator's name after its namespace", "'('"},
    {"aten^:add() -> ()", "'(' before the arguments", "':'"},
    {"a::b^::c() -> ()", "'(' before the arguments", "'::'"},
    {"add.^(Tensor a) -> Tensor", "an overload name after '.'", "'('"},
    {"add.^2() -> ()", "an overload name after '.'", "'2'"},
    {"add.^default() -> ()", "an overload name other than 'default'", "'default'"},
    {"add.^__x() -> ()", "an overload name that does not start with '__'", "'__x'"},
    {"add.a^.b() -> ()", "'(' before the arguments", "'.'"},
    {"add^@() -> ()", "'(' before the arguments", "'@'"},
    {"add^\x01() -> ()", "'(' before the arguments", "byte 1"},
    {"add^\xff() -> ()", "'(' before the arguments", "byte 255"},
    {"add ^Tensor a) -> ()", "'(' before the arguments", "'Tensor'"},
    // argument lists
    {"f(^", "a type (one of Tensor, Scalar, int,", kEnd},
    {"f(Tensor a^", "'=', ',' or ')' after the argument", kEnd},
    {"f(Tensor a^ -> Tensor", "'=', ',' or ')' after the argument", "'->'"},
    {"f(Tensor a^ Tensor b) -> ()", "'=', ',' or ')' after the argument", "'Tensor'"},
    {"f(int a=1^ Tensor b) -> ()", "',' or ')' after the argument", "'Tensor'"},
    {"f(Tensor a, ^) -> ()", "a type", "')'"},
    {"f(^, Tensor a) -> ()", "a type", "','"},
    {"f(Tensor^) -> ()", "a name (a letter or '_'", "')'"},
    {"f(Tensor ^1a) -> ()", "a name (a letter or '_'", "'1'"},
    {"f(Tensor ^True) -> ()", "a name (a letter or '_'", "'True'"},
    {"f(Tensor ^'a') -> ()", "a name (a letter or '_'", "the string 'a'"},
    {"f(Tensor a, int ^a) -> ()", "a name that is not used before", "'a'"},
    {"f(Tensor a, *, int b, int ^a) -> ()", "a name that is not used before", "'a'"},
    {"f(*^) -> ()", "',' and a keyword-only argument after '*'", "')'"},
    {"f(*^ int a) -> ()", "',' and a keyword-only argument after '*'", "'int'"},
    {"f(*, ^*, int a) -> ()", "a type", "'*'"},
    {"f(*, int a, ^*, int b) -> ()", "a type", "'*'"},
    {"f(*, int a, ^*) -> ()", "a type", "'*'"},
    {"f(...^, int a) -> ()", "')' after '...'", "','"},
    {"f(int a=1, int b^) -> ()", "a default value for 'b', since 'a' before it has one", "')'"},
    {"f(int a=1, int[] b, int[]? c^, int d=1) -> ()", "a default value for 'c', since 'a' before it has one", "','"},
    // types
    {"f(^tensor a) -> ()",
     "a type (one of Tensor, Scalar, int, float, bool, str, ScalarType, Layout, Device, MemoryFormat, Generator, "
     "Dimname, QScheme, Storage, Stream, SymInt)",
     "'tensor' (did you mean 'Tensor'?)"},
    {"f(^complex a) -> ()", "a type", "'complex'"},
    {"f(Tensor?^? a) -> ()", "a name", "'?'"},
    {"f(Tensor?^(a!) x) -> ()", "an alias annotation before the '?', as in Tensor(a)?", "'('"},
    {"f(int[^ a) -> ()", "']' or the list's size", "'a'"},
    {"f(int[^1025] a) -> ()", "a list size from 0 to 1024", "'1025'"},
    {"f(int[^99999999999999999999] a) -> ()", "a list size from 0 to 1024", "'99999999999999999999'"},
    {"f(int[^1.5] a) -> ()", "a list size from 0 to 1024", "'1.5'"},
    {"f(int[^-1] a) -> ()", "']' or the list's size", "'-'"},
    {"f(int[2^ a) -> ()", "']' after the list's size", "'a'"},
    {"f(Dict^ a) -> ()", "'(' and the types of keys and values after 'Dict'", "'a'"},
    {"f(Dict(^) a) -> ()", "a type (one of Tensor", "')'"},
    {"f(Dict(^Device, int) a) -> ()", "a key of type str, int, float, bool or Tensor", "'Device'"},
    {"f(Dict(^int[], int) a) -> ()", "a key of type str, int, float, bool or Tensor", "'int'"},
    {"f(Dict(str^) a) -> ()", "',' and the type of the values", "')'"},
    {"f(Dict(str, int^, int) a) -> ()", "')' after the type of the values", "','"},
    {"f(Dict(str, ^Tensor(a)) a) -> ()", "a type without an alias annotation within another type", "'Tensor'"},
    {"f((^) a) -> ()", "a type (one of Tensor", "')'"},
    {"f((int^ str) a) -> ()", "',' or ')' in the tuple", "'str'"},
    {"f((int, str^", "',' or ')' in the tuple", kEnd},
    {"f(int[][^ a) -> ()", "']' or the list's size", "'a'"},
    {"f(int[]?^? a) -> ()", "a name", "'?'"},
    {"f(Tensor(a)[]^[] x) -> ()", "no list of lists after an alias annotation", "'['"},
    {"f(Tensor[][](a)^ x) -> ()", "no alias annotation of a list of lists", "'x'"},
    {"f(Dict(str, int) a=^1) -> ()", "no default value (a Dict can't have one;", "'1'"},
    {"f((int, str)? a=^1) -> ()", "no default value (a tuple can't have one;", "'1'"},
    {"f(int[][] a=^1) -> ()", "a list in [ ] as default value of type int[][]", "'1'"},
    {"f(int[][] a=[^1]) -> ()", "a list in [ ] as default value of type int[]", "'1'"},
    {"f(int[0] a=^1) -> ()", "a list in [ ] as default value of type int[0]", "'1'"},
    // alias annotations
    {"f(Tensor(^) a) -> ()", "an alias set's name or '*'", "')'"},
    {"f(Tensor(^!) a) -> ()", "an alias set's name or '*'", "'!'"},
    {"f(Tensor(a|^) x) -> ()", "an alias set's name or '*'", "')'"},
    {"f(Tensor(a!^!) x) -> ()", "')' after the alias annotation", "'!'"},
    {"f(Tensor(a -> ^) x) -> ()", "an alias set's name or '*'", "')'"},
    {"f(Tensor(a^ x) -> ()", "')' after the alias annotation", "'x'"},
    {"f(Tensor(a -> b ^-> c) x) -> ()", "')' after the alias annotation", "'->'"},
    {"f(Tensor^! x) -> ()", "a name", "'!'"},
    // default values
    {"f(int a=^) -> ()", "an integer or Mean as default value of type int", "')'"},
    {"f(int a=^1.5) -> ()", "an integer or Mean as default value of type int", "'1.5'"},
    {"f(int a=^-1.5) -> ()", "an integer or Mean as default value of type int", "'-'"},
    {"f(int a=^True) -> ()", "an integer or Mean", "'True'"},
    {"f(int a=^None) -> ()", "an integer or Mean", "'None'"},
    {"f(int a=^'x') -> ()", "an integer or Mean", "the string 'x'"},
    {"f(int a=^Median) -> ()", "an integer or Mean", "'Median'"},
    {"f(int a=-^-1) -> ()", "a number after '-'", "'-'"},
    {"f(int a=-^inf) -> ()", "a number after '-'", "'inf'"},
    {"f(int a=^9223372036854775808) -> ()", "an integer of at most 64 bits", "'9223372036854775808'"},
    {"f(int a=-^9223372036854775809) -> ()", "an integer of at most 64 bits", "'9223372036854775809'"},
    {"f(Scalar a=^9223372036854775808) -> ()", "an integer of at most 64 bits", "'9223372036854775808'"},
    {"f(float a=^1e999) -> ()", "a number that a double can hold", "'1e999'"},
    {"f(float a=1e^) -> ()", "the digits of an exponent", "')'"},
    {"f(float a=1e+^x) -> ()", "the digits of an exponent", "'x'"},
    {"f(float a=^True) -> ()", "a number as default value of type float", "'True'"},
    {"f(bool a=^1) -> ()", "True or False as default value of type bool", "'1'"},
    {"f(bool a=^true) -> ()", "True or False", "'true'"},
    {"f(bool? a=^maybe) -> ()", "True or False, or None as default value of type bool?", "'maybe'"},
    {"f(str a=^x) -> ()", "a quoted string", "'x'"},
    {"f(str a=^'abc) -> ()", "a closing ' for the string that starts here", kEnd},
    {"f(str a=^\"abc\\\") -> ()", "a closing \" for the string that starts here", kEnd},
    {"f(str a='^\\q') -> ()", "one of the escapes", "'\\q'"},
    {"f(str a='ab^\\x4') -> ()", "two hexadecimal digits after \\x", "'4'"},
    {"f(str a='^\\x') -> ()", "two hexadecimal digits after \\x", "the end of the string"},
    {"f(Tensor a=^1) -> ()", "None (the only default of a Tensor)", "'1'"},
    {"f(ScalarType a=^quux) -> ()", "a dtype's name", "'quux'"},
    {"f(Layout a=^sparse) -> ()", "strided", "'sparse'"},
    {"f(MemoryFormat a=^strided) -> ()", "contiguous_format, preserve_format", "'strided'"},
    {"f(Storage a=^None) -> ()", "no default value", "'None'"},
    {"f(int[] a=^1) -> ()", "a list in [ ] as default value of type int[]", "'1'"},
    {"f(int[]? a=^1) -> ()", "a list in [ ], or None as default value of type int[]?", "'1'"},
    {"f(int[] a=^None) -> ()", "a list in [ ]", "'None'"},
    {"f(int[2] a=^None) -> ()", "an integer or Mean", "'None'"},
    {"f(int[] a=[1^ 2]) -> ()", "',' or ']' in the list", "'2'"},
    {"f(int[] a=[1, ^]) -> ()", "an integer or Mean", "']'"},
    {"f(int[] a=[^None]) -> ()", "an integer or Mean", "'None'"},
    {"f(int[] a=[^[1]]) -> ()", "an integer or Mean", "'['"},
    {"f(int[] a=[1, 2^", "',' or ']' in the list", kEnd},
    // returns
    {"f()^", "'->' and the returns", kEnd},
    {"f() ^- > ()", "'->' and the returns", "'-'"},
    {"f() -> ^", "a type", kEnd},
    {"f() -> (^", "a type", kEnd},
    {"f() -> (Tensor^", "',' or ')' after the return", kEnd},
    {"f() -> (Tensor, ^)", "a type", "')'"},
    {"f() -> (Tensor a, Tensor ^a)", "a name that is not used before", "'a'"},
    {"f() -> (Tensor a^=None)", "',' or ')' after the return", "'='"},
    {"f() -> Tensor^, Tensor", "the end of the schema", "','"},
    {"f() -> () ^x", "the end of the schema", "'x'"},
    {"f() -> ()^;", "the end of the schema", "';'"},
    {"f() -> Tensor a ^b", "the end of the schema", "'b'"},
    {"f() -> (...^, Tensor)", "')' after '...'", "','"},
};

std::string messageOf(const std::string& text) {
  try {
    const auto schema = parseSchema(text);
    return "no error, parsed as " + schema.str();
  } catch (const Error& e) {
    return e.what();
  }
}

void check(const std::string& marked, const std::string& expected, const std::string& found) {
  const size_t position = marked.find('^');
  ASSERT_NE(position, std::string::npos) << marked;
  std::string text = marked;
  text.erase(position, 1);
  // The parser reports a token, not the blank before it.
  size_t token = position;
  while (token < text.size() && text[token] == ' ') ++token;
  const std::string message = messageOf(text);
  EXPECT_THAT(message, HasSubstr("expected " + expected)) << marked;
  EXPECT_THAT(message, HasSubstr(", found " + found + " at column " + std::to_string(token + 1) + ":\n")) << marked;
  std::string shown = text;
  for (char& c : shown) c = c == '\x01' ? ' ' : c;
  EXPECT_THAT(message, EndsWith(":\n  " + shown + "\n  " + std::string(token, ' ') + "^")) << marked;
}

TEST(SchemaErrors, Table) {
  for (const Case& c : kCases) check(c.marked, c.expected, c.found);
}

TEST(SchemaErrors, NameAlone) {
  try {
    parseName("aten::add.Tensor(Tensor a) -> Tensor");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("expected the end of the operator's name, found '(' at column 17:"));
  }
}

TEST(SchemaErrors, CaretCountsCharactersAndLinesBecomeOne) {
  EXPECT_THAT(messageOf("f(str a='h\xc3\xa9', x b) -> ()"),
              EndsWith("\n  f(str a='h\xc3\xa9', x b) -> ()\n                ^"));
  EXPECT_THAT(messageOf("f(\n\tx b)"), EndsWith("at column 5:\n  f(  x b)\n      ^"));
}

}  // namespace
}  // namespace shunt
