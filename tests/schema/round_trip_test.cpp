// Printing gives PyTorch's canonical text, and what is printed parses to the same schema.
#include <gtest/gtest.h>
#include <shunt/core/error.h>
#include <shunt/core/function_schema.h>

#include <set>
#include <sstream>

#include "tests/schema/schema_list.h"

namespace shunt {
namespace {

TEST(SchemaRoundTrip, EveryListedSignature) {
  std::set<std::string> names;
  for (const std::string& text : test::schemaList()) {
    const FunctionSchema schema = parseSchema(text);
    EXPECT_EQ(schema.str(), text);
    EXPECT_EQ(parseSchema(schema.str()), schema) << text;
    EXPECT_TRUE(names.insert(schema.operator_name().str()).second) << "listed twice: " << text;
  }
}

TEST(SchemaRoundTrip, NamespaceIsKept) {
  for (const std::string& text : test::schemaList()) {
    FunctionSchema schema = parseSchema(text);
    EXPECT_TRUE(schema.setNamespaceIfNotSet("aten"));
    EXPECT_EQ(schema.str(), "aten::" + text);
    EXPECT_EQ(parseSchema("aten::" + text), schema);
    EXPECT_FALSE(schema.setNamespaceIfNotSet("other"));
    EXPECT_EQ(schema.getNamespace(), "aten");
  }
}

TEST(SchemaRoundTrip, DifferentTextsDiffer) {
  const auto& list = test::schemaList();
  for (size_t i = 1; i < list.size(); ++i) EXPECT_NE(parseSchema(list[i - 1]), parseSchema(list[i]));
}

struct Spelling {
  const char* text;
  const char* canonical;
};

TEST(SchemaRoundTrip, OtherSpellingsBecomeCanonical) {
  const Spelling cases[] = {
      {"f() -> (Tensor)", "f() -> Tensor"},
      {"f()->(Tensor a)", "f() -> Tensor a"},
      {" f ( ) \t-> (  ) \n", "f() -> ()"},
      {"a :: f . b (int x) -> ()", "a::f.b(int x) -> ()"},
      {"f(...) -> ...", "f(...) -> ..."},
      {"f(int a,...)->(int,...)", "f(int a, ...) -> (int, ...)"},
      {"f(str mode='reduced') -> Tensor", "f(str mode=\"reduced\") -> Tensor"},
      {R"(f(str a='"\'\\') -> ())", R"(f(str a="\"'\\") -> ())"},
      {R"(f(str a="\x41\n\x01\t\r") -> ())", R"(f(str a="A\n\x01\t\x0d") -> ())"},
      {"f(str a=\"h\xc3\xa9\") -> ()", "f(str a=\"h\xc3\xa9\") -> ()"},
      {"cdist(Tensor x1, float p=2) -> Tensor", "cdist(Tensor x1, float p=2.0) -> Tensor"},
      {"f(float a=1.) -> ()", "f(float a=1.0) -> ()"},
      {"f(float a=1e-5) -> ()", "f(float a=1e-05) -> ()"},
      {"f(float a=0.00001) -> ()", "f(float a=1e-05) -> ()"},
      {"f(float a=0.1000) -> ()", "f(float a=0.1) -> ()"},
      {"f(float a=1e3) -> ()", "f(float a=1000.0) -> ()"},
      {"f(float a=1E+20) -> ()", "f(float a=1e+20) -> ()"},
      {"f(float a=-0) -> ()", "f(float a=-0.0) -> ()"},
      {"f(float a=- inf) -> ()", "f(float a=-inf) -> ()"},
      {"f(float a=nan) -> ()", "f(float a=nan) -> ()"},
      {"f(int a=007) -> ()", "f(int a=7) -> ()"},
      {"f(int a=-0) -> ()", "f(int a=0) -> ()"},
      {"f(Scalar a=2.) -> ()", "f(Scalar a=2.0) -> ()"},
      {"f(int[1] dim=[-2,-1]) -> ()", "f(int[1] dim=[-2, -1]) -> ()"},
      {"f(int[2] s=[3,3]) -> ()", "f(int[2] s=3) -> ()"},
      {"f(int[1] s=[3]) -> ()", "f(int[1] s=3) -> ()"},
      {"f(int[2] s=[3]) -> ()", "f(int[2] s=[3]) -> ()"},
      {"f(int[2] s=[]) -> ()", "f(int[2] s=[]) -> ()"},
      {"f(int[] s=[3,3]) -> ()", "f(int[] s=[3, 3]) -> ()"},
      {"f(bool[3] m=[True,True,False]) -> ()", "f(bool[3] m=[True, True, False]) -> ()"},
      {"f(float[2]? s=0) -> ()", "f(float[2]? s=0.0) -> ()"},
      {"f(Tensor (a ! -> b | c) x) -> ()", "f(Tensor(a! -> b|c) x) -> ()"},
      {"f(Tensor(b|a|b) x) -> ()", "f(Tensor(a|b) x) -> ()"},
      {"f(Tensor(a|*) x) -> ()", "f(Tensor(*) x) -> ()"},
      {"f(Tensor(a -> a) x) -> ()", "f(Tensor(a) x) -> ()"},
  };
  for (const Spelling& c : cases) {
    const FunctionSchema schema = parseSchema(c.text);
    EXPECT_EQ(schema.str(), c.canonical) << c.text;
    EXPECT_EQ(parseSchema(c.canonical), schema) << c.text;
  }
}

TEST(SchemaRoundTrip, EveryTypeInEveryWrapping) {
  for (const std::string_view name : knownTypeNames()) {
    for (const char* suffix : {"", "?", "[]", "?[]", "[]?", "?[]?", "[2]", "[2]?", "?[2]"}) {
      for (const char* alias : {"", "(a)", "(a!)", "(a -> *)", "(a! -> a|b)", "(*)"}) {
        const std::string text =
            "f(" + std::string(name) + alias + suffix + " x) -> " + std::string(name) + alias + suffix;
        EXPECT_EQ(parseSchema(text).str(), text);
      }
    }
    const std::string container = "f(" + std::string(name) + "(a)[](b!)? x) -> ()";
    EXPECT_EQ(parseSchema(container).str(), container);
  }
}

TEST(SchemaRoundTrip, StreamStateDoesNotChangeTheText) {
  const std::string text = "f(int[3] a=[1000, 2, 3], float b=1234.5, int c=255) -> Tensor[16]";
  std::ostringstream out;
  out.setf(std::ios::hex, std::ios::basefield);
  out.setf(std::ios::showpos | std::ios::showbase);
  out << parseSchema(text);
  EXPECT_EQ(out.str(), text);
}

TEST(OperatorName, RoundTrips) {
  for (const char* text : {"add", "aten::add", "aten::add.Tensor", "add.out", "_a::__and__.b_1"}) {
    const OperatorName name = parseName(text);
    EXPECT_EQ(name.str(), text);
    EXPECT_EQ(toString(name), text);
    const auto either = parseSchemaOrName(text);
    ASSERT_TRUE(std::holds_alternative<OperatorName>(either)) << text;
    EXPECT_EQ(std::get<OperatorName>(either), name);
  }
  EXPECT_TRUE(std::holds_alternative<FunctionSchema>(parseSchemaOrName("add.Tensor() -> ()")));
}

}  // namespace
}  // namespace shunt
