// Dictionaries, tuples and lists of lists: what kernels take and return, boxed and unboxed, and the errors of bad ones.
#include <shunt/core/dict.h>

#include "src/dispatch/default_value.h"
#include "tests/dispatch/round_trip.h"

namespace shunt {
namespace {

using namespace test;
using testing::HasSubstr;

using Numbers = std::unordered_map<std::string, int64_t>;
using Lists = std::vector<std::vector<int64_t>>;

IValue callBoxed(const OperatorHandle& op, IValue argument) {
  Stack stack{std::move(argument)};
  op.callBoxed(&stack);
  EXPECT_EQ(stack.size(), 1u);
  return stack.at(0);
}

std::string textOf(const IValue& v) { return detail::str(v); }

TEST(Containers, DictThereAndBack) {
  RoundTrip rt("dict(Tensor x, Dict(str, int) d) -> Dict(int, str)", [](const Tensor&, Dict<std::string, int64_t> d) {
    Dict<int64_t, std::string> out;
    for (const auto& [key, value] : d.items()) out.insert(value, key);
    return out;
  });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  Dict<std::string, int64_t> given;
  given.insert("one", 1);
  given.insert("two", 2);
  const auto out = rt.typed().call(cpuTensor(), given);
  EXPECT_EQ(rt.boxed_calls, 1);
  EXPECT_EQ(out.size(), 2u);
  EXPECT_EQ(out.at(1), "one");
  EXPECT_EQ(out.at(2), "two");
}

TEST(Containers, ADictArgumentIsShared) {
  RoundTrip rt("put(Tensor x, Dict(str, int) d) -> ()",
               [](const Tensor&, Dict<std::string, int64_t> d) { d.insert("put", 7); });
  Dict<std::string, int64_t> given;
  rt.typed().call(cpuTensor(), given);
  EXPECT_EQ(given.at("put"), 7);
  given.clear();
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  rt.typed().call(cpuTensor(), given);
  EXPECT_EQ(given.at("put"), 7);
}

TEST(Containers, MapsOfListsOfMaps) {
  using Map = std::unordered_map<std::string, std::vector<Numbers>>;
  RoundTrip rt("maps(Tensor x, Dict(str, Dict(str, int)[]) d) -> Dict(str, Dict(str, int)[])",
               [](const Tensor&, Map d) {
                 d["more"].push_back({{"a", 1}});
                 return d;
               });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  const Map out = rt.typed().call(cpuTensor(), {{"k", {{{"b", 2}}, {}}}});
  EXPECT_EQ(out, (Map{{"k", {{{"b", 2}}, {}}}, {"more", {{{"a", 1}}}}}));
}

TEST(Containers, ListsOfLists) {
  RoundTrip rt("lists(Tensor x, int[][] l, str[][] s, bool[][] b) -> int[][]",
               [](const Tensor&, Lists l, std::vector<std::vector<std::string>> s, std::vector<std::vector<bool>> b) {
                 l.push_back({static_cast<int64_t>(s.at(1).at(0).size()), b.at(0).at(1)});
                 return l;
               });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  EXPECT_EQ(rt.typed().call(cpuTensor(), {{1, 2}, {}}, {{}, {"four"}}, {{false, true}}), (Lists{{1, 2}, {}, {4, 1}}));
}

TEST(Containers, TypedHandlesOnListsOfLists) {
  RoundTrip rt("handles(Tensor x, int[][] l) -> int[][]", [](const Tensor&, List<List<int64_t>> l) {
    l.get(0).push_back(3);
    return l;
  });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  const List<List<int64_t>> given({List<int64_t>({1, 2})});
  const List<List<int64_t>> out = rt.typed().call(cpuTensor(), given);
  EXPECT_TRUE(out.is(given));
  EXPECT_EQ(given.get(0).vec(), (std::vector<int64_t>{1, 2, 3}));
}

TEST(Containers, Tuples) {
  using Tuple = std::tuple<std::string, int64_t, double>;
  RoundTrip rt("tuple(Tensor x, (str, int, float) t, (str, int, float)[] l) -> str",
               [](const Tensor&, Tuple t, std::vector<Tuple> l) {
                 return detail::str(std::get<0>(t), std::get<1>(t), " ", std::get<2>(l.at(1)));
               });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  EXPECT_EQ(rt.typed().call(cpuTensor(), {"a", 5, 0.5}, {{"", 0, 0}, {"", 0, 1.5}}), "a5 1.5");
}

TEST(Containers, OneTupleReturnedAndSeveral) {
  Library library = fragment("box");
  library.def("pair(int a) -> (int, (int, str))",
              [](int64_t a) { return std::tuple(a, std::tuple(a + 1, std::string("b"))); });
  Stack stack{1};
  findOp("box::pair").callBoxed(&stack);
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack[0].toInt(), 1);
  EXPECT_TRUE(stack[1].isTuple());
  EXPECT_EQ(textOf(stack[1]), "(2, \"b\")");
  EXPECT_THAT(errorOf([&] { stack[1].toInt(); }), HasSubstr("expected int, got tuple"));
}

TEST(Containers, OptionalsOfAndWithin) {
  RoundTrip rt("maybe(Tensor x, Dict(str, int?)? d, int[]?[] l, int?[] i, (int, str)? t) -> Dict(str, int)?",
               [](const Tensor&, std::optional<Dict<std::string, std::optional<int64_t>>> d,
                  List<std::optional<List<int64_t>>> l, List<std::optional<int64_t>> i,
                  std::optional<std::tuple<int64_t, std::string>> t) -> std::optional<Numbers> {
                 if (!d) return std::nullopt;
                 return Numbers{{"none", !d->at("none")},
                                {"list", l.get(0).has_value() + 2 * l.get(1).has_value()},
                                {"int", i.get(0).value_or(5) + i.get(1).value_or(5)},
                                {"tuple", t.has_value()}};
               });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  const List<std::optional<List<int64_t>>> lists({std::nullopt, List<int64_t>()});
  const List<std::optional<int64_t>> ints({std::nullopt, 2});
  EXPECT_EQ(rt.typed().call(cpuTensor(), std::nullopt, lists, ints, std::nullopt), std::nullopt);
  Dict<std::string, std::optional<int64_t>> given;
  given.insert("none", std::nullopt);
  EXPECT_EQ(rt.typed().call(cpuTensor(), given, lists, ints, std::tuple(1, "")),
            (Numbers{{"none", 1}, {"list", 2}, {"int", 7}, {"tuple", 1}}));
}

TEST(Containers, SchemasAreInferred) {
  const auto inferred = [](auto kernel) {
    Library library = fragment("box");
    library.def("inferred", kernel);
    return findOp("box::inferred").schema().str();
  };
  EXPECT_EQ(inferred([](Dict<std::string, Tensor> d) { return d; }),
            "box::inferred(Dict(str, Tensor) _0) -> Dict(str, Tensor)");
  EXPECT_EQ(inferred([](std::vector<Numbers> m) { return m; }),
            "box::inferred(Dict(str, int)[] _0) -> Dict(str, int)[]");
  EXPECT_EQ(inferred([](Lists l, std::tuple<int64_t, Tensor>) { return std::tuple(l, int64_t{0}); }),
            "box::inferred(int[][] _0, (int, Tensor) _1) -> (int[][], int)");
  EXPECT_EQ(inferred([](std::array<double, 0>, List<std::optional<std::vector<int64_t>>>) {}),
            "box::inferred(float[0] _0, int[]?[] _1) -> ()");
}

TEST(Containers, DefaultsOfLists) {
  Library library = fragment("box");
  library.def("defaults(int[][] l=[[1, 2], []], str[] s=[\"a\"], Scalar[] n=[1, 2.5], int?[] o=[None, 3]) -> str",
              [](Lists l, List<std::string> s, List<Scalar> n, List<std::optional<int64_t>> o) {
                return textOf(IValue(std::vector<IValue>{IValue(l), s, n, o}));
              });
  Stack stack;
  const FunctionSchema& schema = findOp("box::defaults").schema();
  for (const Argument& a : schema.arguments()) stack.push_back(defaultValueOf(a));
  findOp("box::defaults").callBoxed(&stack);
  EXPECT_EQ(stack.at(0).toStringRef(), "[[[1, 2], []], [\"a\"], [1, 2.5], [None, 3]]");
}

TEST(Containers, KernelsThatDoNotFitTheSchema) {
  Library library = fragment("box");
  const auto misfit = [&](const char* schema, auto kernel) { return errorOf([&] { library.def(schema, kernel); }); };
  EXPECT_THAT(misfit("fits(Dict(str, int) d) -> ()", [](Dict<std::string, double>) {}),
              HasSubstr("argument 1 ('d') is 'Dict(str, int)' in the schema, 'Dict(str, float)' in C++"));
  EXPECT_THAT(misfit("fits(int[][] d) -> ()", [](std::vector<int64_t>) {}),
              HasSubstr("argument 1 ('d') is 'int[][]' in the schema, 'int[]' in C++"));
  EXPECT_THAT(misfit("fits((int, str) d) -> ()", [](std::tuple<int64_t>) {}),
              HasSubstr("argument 1 ('d') is '(int, str)' in the schema, '(int)' in C++"));
  EXPECT_THAT(misfit("fits() -> Dict(str, int)", [] { return Dict<int64_t, int64_t>(); }),
              HasSubstr("return 1 is 'Dict(str, int)' in the schema, 'Dict(int, int)' in C++"));
}

// ---- values of other types ----------------------------------------------------------------------------------------
template <class Kernel>
std::string errorOfCall(const std::string& type, Kernel kernel, const IValue& argument) {
  Library library = fragment("box");
  library.def(("bad(" + type + " d) -> ()").c_str(), kernel);
  Stack stack{argument};
  return errorOf([&] { findOp("box::bad").callBoxed(&stack); });
}

TEST(Containers, ValuesOfOtherTypes) {
  const auto dict = [](Numbers) { ADD_FAILURE() << "called"; };
  const std::string where = "operator box::bad: boxed argument 'd' (position 1): expected ";
  EXPECT_THAT(errorOfCall("Dict(str, int)", dict, 1), HasSubstr(where + "Dict(str, int), got int"));
  EXPECT_THAT(errorOfCall("Dict(str, int)", dict, IValue()), HasSubstr(where + "Dict(str, int), got None"));
  EXPECT_THAT(errorOfCall("Dict(str, int)", dict, std::unordered_map<std::string, Tensor>{{"a", cpuTensor()}}),
              HasSubstr(where + "int, got Tensor as value of key \"a\" of Dict(str, int)"));
  EXPECT_THAT(errorOfCall("Dict(str, int)", dict, std::unordered_map<int64_t, int64_t>{{1, 1}}),
              HasSubstr(where + "str, got int as key of Dict(str, int)"));
  EXPECT_THAT(errorOfCall("int[][]", [](Lists) {}, std::vector<int64_t>{1}), HasSubstr(where + "int[][], got int[]"));
  EXPECT_THAT(errorOfCall(
                  "int[][]", [](Lists) {}, std::vector<IValue>{std::vector<int64_t>(), 3}),
              HasSubstr(where + "int[], got int as element 1 of int[][]"));
  EXPECT_THAT(errorOfCall(
                  "(int, str)", [](std::tuple<int64_t, std::string>) {}, std::tuple<int64_t>(1)),
              HasSubstr(where + "(int, str), got a tuple of 1"));
  EXPECT_THAT(errorOfCall(
                  "(int, str)", [](std::tuple<int64_t, std::string>) {}, std::tuple<int64_t, bool>(1, true)),
              HasSubstr(where + "str, got bool as part 1 of (int, str)"));
  EXPECT_THAT(errorOfCall(
                  "str[]", [](List<std::string>) {}, std::vector<IValue>{"a", 1}),
              HasSubstr(where + "str, got int as element 1 of str[]"));
}

TEST(Containers, NumbersOfAnyWidthGoIntoTuples) {
  const IValue v = std::tuple<std::string, int, float>("a", 1, 0.5f);
  EXPECT_EQ(textOf(v), "(\"a\", 1, 0.5)");
  EXPECT_EQ((v.to<std::tuple<std::string, int64_t, double>>()),
            (std::tuple<std::string, int64_t, double>("a", 1, 0.5)));
  EXPECT_THAT(errorOf([&] { v.to<std::tuple<std::string>>(); }), HasSubstr("expected a tuple of 1 values, got 3"));
}

TEST(Containers, ADictOfListsSharesTheirElements) {
  Dict<std::string, List<int64_t>> dict;
  dict.insert("a", List<int64_t>({1}));
  const IValue value = dict;
  value.to<Dict<std::string, List<int64_t>>>().at("a").push_back(2);
  EXPECT_EQ(textOf(value), "{\"a\": [1, 2]}");
  EXPECT_EQ(callBoxed(
                [] {
                  static Library library = fragment("box");
                  library.def("same(Dict(str, int[]) d) -> Dict(str, int[])",
                              [](Dict<std::string, List<int64_t>> d) { return d; });
                  return findOp("box::same");
                }(),
                value)
                .toGenericDict()
                .is(value.toGenericDict()),
            true);
}

}  // namespace
}  // namespace shunt
