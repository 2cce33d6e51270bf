// What the parts of a parsed schema are, and what a schema built by hand must obey.
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <shunt/core/error.h>
#include <shunt/core/function_schema.h>

#include <cmath>
#include <limits>
#include <unordered_set>

namespace shunt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Argument argument(const std::string& text) { return parseSchema("f(" + text + ") -> ()").arguments().at(0); }
DefaultValue defaultOf(const std::string& text) { return argument(text).default_value.value(); }

using test::errorOf;

TEST(FunctionSchema, Parts) {
  const FunctionSchema s = parseSchema("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  EXPECT_EQ(s.name(), "aten::add");
  EXPECT_EQ(s.overload_name(), "Tensor");
  EXPECT_EQ(s.operator_name(), OperatorName("aten::add", "Tensor"));
  EXPECT_EQ(s.operator_name().baseName(), "add");
  EXPECT_EQ(s.getNamespace(), "aten");
  ASSERT_EQ(s.arguments().size(), 3u);
  EXPECT_FALSE(s.arguments()[1].kwarg_only);
  EXPECT_TRUE(s.arguments()[2].kwarg_only);
  EXPECT_EQ(s.argumentIndexWithName("alpha"), 2u);
  EXPECT_EQ(s.findArgument("other"), &s.arguments()[1]);
  EXPECT_EQ(s.findArgument("beta"), nullptr);
  EXPECT_EQ(s.argumentIndexWithName("beta"), std::nullopt);
  ASSERT_EQ(s.returns().size(), 1u);
  EXPECT_TRUE(s.returns()[0].type.isPlain(TypeKind::Tensor));
  EXPECT_EQ(s.returns()[0].name, "");
  EXPECT_FALSE(s.hasAnyAliasInfo() || s.is_mutable() || s.isInplace() || s.isOut() || s.is_vararg() || s.is_varret());
  EXPECT_EQ(s.cloneWithName({"x::y", ""}).str(), "x::y(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
}

TEST(FunctionSchema, Forms) {
  const FunctionSchema inplace = parseSchema("add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  EXPECT_TRUE(inplace.isInplace() && inplace.is_mutable() && inplace.hasAnyAliasInfo() && !inplace.isOut());
  EXPECT_TRUE(inplace.is_mutable("self"));
  EXPECT_FALSE(inplace.is_mutable("other"));
  EXPECT_THAT(errorOf([&] { inplace.is_mutable("none"); }), HasSubstr("no argument 'none' in add_.Tensor("));

  const FunctionSchema out = parseSchema("sin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_TRUE(out.isOut() && out.is_mutable() && !out.isInplace() && out.arguments()[1].is_out());
  EXPECT_TRUE(parseSchema("__ior__(Tensor(a!) self) -> Tensor(a!)").isInplace());
  EXPECT_FALSE(parseSchema("__or__(Tensor self) -> Tensor").isInplace());
  const FunctionSchema view = parseSchema("t(Tensor(a) self) -> Tensor(a)");
  EXPECT_TRUE(view.hasAnyAliasInfo() && !view.is_mutable() && !view.isInplace());
  EXPECT_TRUE(parseSchema("f() -> Tensor(a)").hasAnyAliasInfo());
  EXPECT_TRUE(parseSchema("_foreach_add_(Tensor(a!)[] self) -> ()").isInplace());
  EXPECT_TRUE(parseSchema("append_(Tensor[](a!) self) -> ()").isInplace());
}

TEST(FunctionSchema, Returns) {
  EXPECT_TRUE(parseSchema("f() -> ()").returns().empty());
  const auto named = parseSchema("f() -> (Tensor(a!) values, Tensor[] indices)").returns();
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0].name, "values");
  EXPECT_TRUE(named[0].is_write());
  EXPECT_EQ(named[1].name, "indices");
  EXPECT_TRUE(named[1].type.isList(TypeKind::Tensor));
  const FunctionSchema var = parseSchema("f(int a, ...) -> (int, ...)");
  EXPECT_TRUE(var.is_vararg() && var.is_varret());
}

TEST(Type, Wrappings) {
  EXPECT_TRUE(argument("int? x").type.isOptional(TypeKind::Int));
  const Type optional_list = argument("int[]? x").type;
  EXPECT_TRUE(optional_list.list && optional_list.optional && !optional_list.element_optional);
  const Type list_of_optional = argument("Tensor?[] x").type;
  EXPECT_TRUE(list_of_optional.list && !list_of_optional.optional && list_of_optional.element_optional);
  const Type sized = argument("int[2]? x").type;
  EXPECT_EQ(sized.fixed_size, 2);
  EXPECT_EQ(sized.str(), "int[2]?");
  const Type symbolic = argument("SymInt[] x").type;
  EXPECT_TRUE(symbolic.isList(TypeKind::Int) && symbolic.symbolic);
  EXPECT_NE(symbolic, argument("int[] x").type);
  EXPECT_EQ(toString(TypeKind::String), "str");
  EXPECT_EQ(Type::fromName("MemoryFormat")->kind, TypeKind::MemoryFormat);
  EXPECT_EQ(Type::fromName("tensor"), std::nullopt);
  EXPECT_EQ(knownTypeNames().size(), static_cast<size_t>(kNumNamedTypeKinds) + 1);
}

TEST(Type, MadeOfOthers) {
  const Type dict = argument("Dict(str, int[])? x").type;
  EXPECT_TRUE(dict.kind == TypeKind::Dict && dict.optional && !dict.list);
  ASSERT_EQ(dict.elements.size(), 2u);
  EXPECT_TRUE(dict.elements[0].isPlain(TypeKind::String) && dict.elements[1].isList(TypeKind::Int));
  const Type tuple = argument("(str, int?, float)[] x").type;
  EXPECT_TRUE(tuple.isList(TypeKind::Tuple) && tuple.elements.size() == 3 && tuple.elements[1].optional);
  EXPECT_EQ(tuple.elementType(),
            Type::tuple({argument("str x").type, argument("int? x").type, argument("float x").type}));
  const Type lists = argument("int[2]?[]? x").type;
  EXPECT_TRUE(lists.isList(TypeKind::List) && lists.optional && lists.element_optional && !lists.fixed_size);
  EXPECT_EQ(lists.elementType(), argument("int[2]? x").type);
  EXPECT_EQ(Type::listOf(lists.elementType()), argument("int[2]?[] x").type);
  EXPECT_NE(argument("Dict(str, int) x").type, argument("Dict(str, str) x").type);
  EXPECT_NE(argument("int[][] x").type, argument("int[] x").type);
  EXPECT_NE(argument("int[][] x").type, argument("int[][][] x").type);
  EXPECT_EQ(Type::fromName("Dict"), std::nullopt);
  EXPECT_EQ(toString(TypeKind::Dict), "Dict");
  EXPECT_THAT(errorOf([] { Type::dict(*Type::fromName("Device"), Type()); }),
              HasSubstr("expected a key of type str, int, float, bool or Tensor, got Device"));
}

TEST(Type, AsDeepAsTheParserMayRecurse) {
  const auto within = [](std::string open, std::string close, int levels) {
    std::string text = "f(";
    for (int i = 0; i < levels; ++i) text += open;
    text += "int";
    for (int i = 0; i < levels; ++i) text += close;
    return text + " x) -> ()";
  };
  for (const auto& [open, close] : {std::pair("Dict(int, ", ")"), std::pair("(int, ", ")"), std::pair("", "[]")}) {
    EXPECT_EQ(parseSchema(within(open, close, 32)).str(), within(open, close, 32));
    EXPECT_THAT(errorOf([&] { parseSchema(within(open, close, 100000)); }), HasSubstr("a type of at most 32 levels"));
  }
}

TEST(FunctionSchema, ATupleReturnIsOneReturn) {
  const FunctionSchema one = parseSchema("f() -> ((int, str))");
  ASSERT_EQ(one.returns().size(), 1u);
  EXPECT_TRUE(one.returns()[0].type.isPlain(TypeKind::Tuple));
  EXPECT_EQ(one.str(), "f() -> ((int, str))");
  EXPECT_EQ(parseSchema("f() -> (int, str)").returns().size(), 2u);
  EXPECT_EQ(parseSchema("f() -> ((int, str)[] pairs)").str(), "f() -> ((int, str)[] pairs)");
}

TEST(AliasInfo, Sets) {
  const AliasInfo a = *argument("Tensor(b|a! -> *) x").alias;
  EXPECT_THAT(a.before_sets, ElementsAre("a", "b"));
  EXPECT_THAT(a.after_sets, ElementsAre("*"));
  EXPECT_TRUE(a.is_write && a.isWildcardAfter() && !a.isWildcardBefore());
  const Argument list = argument("Tensor(a!)[] x");
  EXPECT_TRUE(list.is_write() && !list.is_out() && !list.container_alias);
  EXPECT_TRUE(argument("Tensor[](a!) x").container_alias->is_write);
  EXPECT_FALSE(argument("Tensor(a) x").is_write());
  EXPECT_THAT(AliasInfo({"x", "*"}, {"y", "y"}, false).before_sets, ElementsAre("*"));
}

TEST(DefaultValue, ScalarsOfEveryKind) {
  EXPECT_TRUE(defaultOf("Tensor? x=None").isNone());
  EXPECT_TRUE(defaultOf("Tensor x=None").isNone());
  EXPECT_TRUE(defaultOf("int[]? x=None").isNone());
  EXPECT_TRUE(defaultOf("bool x=True").toBool());
  EXPECT_EQ(defaultOf("int x=-1").toInt(), -1);
  EXPECT_EQ(defaultOf("int x=9223372036854775807").toInt(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(defaultOf("int x=-9223372036854775808").toInt(), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(defaultOf("float p=2").isDouble());
  EXPECT_EQ(defaultOf("float p=2").toDouble(), 2.0);
  EXPECT_EQ(defaultOf("float? p=1e-05").toDouble(), 1e-05);
  EXPECT_EQ(defaultOf("float p=-inf").toDouble(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(defaultOf("Scalar p=nan").toDouble()));
  EXPECT_TRUE(defaultOf("Scalar p=1").isInt());
  EXPECT_TRUE(defaultOf("Scalar p=1.0").isDouble());
  EXPECT_TRUE(defaultOf("Scalar p=True").isBool());
  EXPECT_EQ(defaultOf("str x=\"a\\tb\"").toStringRef(), "a\tb");
  EXPECT_EQ(defaultOf("Device x='cpu'").toStringRef(), "cpu");
}

TEST(DefaultValue, NamesStandForPyTorchsInts) {
  const std::pair<const char*, int64_t> cases[] = {
      {"int reduction=Mean", 1},
      {"MemoryFormat? memory_format=contiguous_format", 0},
      {"MemoryFormat memory_format=preserve_format", 1},
      {"ScalarType dtype=long", 4},
      {"ScalarType dtype=float", 6},
      {"ScalarType? dtype=bfloat16", 15},
      {"Layout layout=strided", 0},
  };
  for (const auto& [text, value] : cases) {
    EXPECT_TRUE(defaultOf(text).isInt()) << text;
    EXPECT_EQ(defaultOf(text).toInt(), value) << text;
  }
  EXPECT_NE(defaultOf("int x=Mean"), defaultOf("int x=1"));
}

TEST(DefaultValue, Lists) {
  EXPECT_THAT(defaultOf("int[2] stride=1").toIntVector(), ElementsAre(1, 1));
  EXPECT_THAT(defaultOf("int[1] dim=[-2,-1]").toIntVector(), ElementsAre(-2, -1));
  EXPECT_THAT(defaultOf("bool[3] mask=[True, False, True]").toBoolVector(), ElementsAre(true, false, true));
  EXPECT_THAT(defaultOf("bool[2] mask=True").toBoolVector(), ElementsAre(true, true));
  EXPECT_THAT(defaultOf("float[] s=[1, 0.5]").toDoubleVector(), ElementsAre(1.0, 0.5));
  EXPECT_TRUE(defaultOf("Tensor[] x=[]").toList().empty());
  EXPECT_TRUE(defaultOf("int?[] x=[None, 1]").toList()[0].isNone());
}

TEST(DefaultValue, WrongKindIsAnError) {
  EXPECT_THAT(errorOf([] { DefaultValue(int64_t{3}).toBool(); }), HasSubstr("default value 3 is not a bool"));
  EXPECT_THAT(errorOf([] { DefaultValue(true).toInt(); }), HasSubstr("default value True is not an int"));
  EXPECT_THAT(errorOf([] { DefaultValue("x").toDouble(); }), HasSubstr("is not a float"));
  EXPECT_THAT(errorOf([] { DefaultValue().toList(); }), HasSubstr("default value None is not a list"));
  EXPECT_THAT(errorOf([] { DefaultValue(1.5).toStringRef(); }), HasSubstr("default value 1.5 is not a string"));
}

TEST(DefaultValue, EqualityIsByBitsButForNan) {
  EXPECT_EQ(DefaultValue(std::nan("1")), DefaultValue(-std::nan("2")));
  EXPECT_NE(DefaultValue(0.0), DefaultValue(-0.0));
  EXPECT_NE(DefaultValue(1.0), DefaultValue(int64_t{1}));
}

TEST(OperatorName, HashAndOrder) {
  const std::unordered_set<OperatorName> set = {{"a::b", "c"}, {"a::b", ""}, {"a::b", "c"}};
  EXPECT_EQ(set.size(), 2u);
  EXPECT_LT(OperatorName("a::b", ""), OperatorName("a::b", "c"));
  OperatorName name("f", "");
  EXPECT_EQ(name.getNamespace(), std::nullopt);
  EXPECT_TRUE(name.setNamespaceIfNotSet("ns"));
  EXPECT_EQ(name.str(), "ns::f");
}

Argument made(const std::string& name, bool kwarg_only = false) {
  Argument a;
  a.name = name;
  a.kwarg_only = kwarg_only;
  return a;
}

TEST(FunctionSchema, BuiltByHandIsCheckedToo) {
  const auto build = [](std::vector<Argument> arguments, std::vector<Argument> returns = {},
                        OperatorName name = {"f", ""}) {
    return errorOf([&] { FunctionSchema(name, arguments, returns); });
  };
  EXPECT_EQ(build({made("a"), made("b", true)}, {Argument()}), "no error");
  EXPECT_EQ(build({}, {}, {"", ""}), "no error");
  EXPECT_THAT(build({made("a"), made("a")}), HasSubstr("argument 1 ('Tensor a'): expected a name that is not used"));
  EXPECT_THAT(build({made("")}), HasSubstr("argument 0 ('Tensor'): expected a name"));
  EXPECT_THAT(build({made("a", true), made("b")}), HasSubstr("'b' follows the keyword-only argument 'a'"));
  EXPECT_THAT(build({}, {made("a"), made("a")}), HasSubstr("return 'Tensor a': expected a name that is not used"));
  EXPECT_THAT(build({}, {made("a", true)}), HasSubstr("can't have a default value or be keyword-only"));
  EXPECT_THAT(build({}, {}, {"a::b::c", ""}), HasSubstr("operator name 'a::b::c'"));
  EXPECT_THAT(build({}, {}, {"f", "a b"}), HasSubstr("overload name 'a b'"));
  EXPECT_THAT(build({}, {}, {"f", "default"}), HasSubstr("other than 'default'"));
  Argument sized = made("a");
  sized.type.fixed_size = 2;
  EXPECT_THAT(build({sized}), HasSubstr("'a' is no list"));
  sized.type.list = true;
  sized.type.fixed_size = 1025;
  EXPECT_THAT(build({sized}), HasSubstr("must be from 0 to 1024"));
  Argument with_default = made("a");
  with_default.default_value = DefaultValue();
  EXPECT_THAT(build({with_default, made("b")}), HasSubstr("expected a default value for 'b', since 'a' before it"));
}

}  // namespace
}  // namespace shunt
