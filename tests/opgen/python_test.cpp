// Python's signatures of operators, their doc strings and stubs.
#include "tests/opgen/temporary_yaml.h"
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/model/aliases.h"
#include "tools/opgen/model/python_signature.h"

#include <shunt/core/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace opgen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> calls(const PythonSignatures& all, const std::string& name) {
  std::vector<std::string> texts;
  if (const auto it = all.find(name); it != all.end())
    for (const PythonSignature& s : it->second) texts.push_back(pythonCall(name, s));
  return texts;
}

TEST(PythonSignature, FunctionsHaveInputAndOut) {
  const Model m(
      "- func: f.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
      "  variants: function, method, inplace, out\n  elementwise: F\n"
      "- func: pair(Tensor self, int dim=-1) -> (Tensor values, Tensor indices)\n  variants: function, out\n"
      "  out: cast\n  dispatch: {CPU: pair_cpu}\n");
  EXPECT_THAT(calls(pythonFunctions(m.dictionary), "f"),
              ElementsAre("f(input, other, *, alpha=1, out=None) -> Tensor"));
  EXPECT_THAT(calls(pythonMethods(m.dictionary), "f"), ElementsAre("f(other, *, alpha=1) -> Tensor"));
  EXPECT_THAT(calls(pythonMethods(m.dictionary), "f_"), ElementsAre("f_(other, *, alpha=1) -> Tensor"));
  EXPECT_THAT(calls(pythonFunctions(m.dictionary), "pair"),
              ElementsAre("pair(input, dim=-1, *, out=None) -> (values, indices)"));
}

TEST(PythonSignature, OneListMayBeSeveralArguments) {
  const Model m(
      "- func: z(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
      "bool? pin_memory=None) -> Tensor\n"
      "- func: order(Tensor self, int[] dims) -> Tensor\n  variants: function, method\n");
  EXPECT_THAT(calls(pythonFunctions(m.dictionary), "z"),
              ElementsAre("z(size, *, dtype=None, layout=None, device=None, pin_memory=None, requires_grad=False) "
                          "-> Tensor",
                          "z(*size, dtype=None, layout=None, device=None, pin_memory=None, requires_grad=False) "
                          "-> Tensor"));
  EXPECT_THAT(calls(pythonFunctions(m.dictionary), "order"), ElementsAre("order(input, dims) -> Tensor"));
  EXPECT_THAT(calls(pythonMethods(m.dictionary), "order"),
              ElementsAre("order(dims) -> Tensor", "order(*dims) -> Tensor"));
}

TEST(PythonSignature, WhatIsForShuntItselfIsLeftOut) {
  const Model m(
      "- func: _f(Tensor self) -> Tensor\n- func: f_backward(Tensor grad) -> Tensor\n"
      "- func: f(Tensor self) -> Tensor\n");
  EXPECT_EQ(pythonFunctions(m.dictionary).size(), 1u);
  EXPECT_THAT(calls(pythonFunctions(m.dictionary), "_f"), IsEmpty());
}

TEST(PythonSignature, FunctionsOfAModuleStandThere) {
  const Model m(
      "- func: f(Tensor self) -> Tensor\n"
      "- func: g(Tensor self) -> Tensor\n  python_module: nn\n  variants: function, inplace\n  elementwise: G\n");
  EXPECT_EQ(pythonFunctions(m.dictionary).size(), 1u);
  EXPECT_THAT(calls(pythonFunctions(m.dictionary, "nn"), "g"), ElementsAre("g(input) -> Tensor"));
  EXPECT_THAT(calls(pythonFunctions(m.dictionary, "nn"), "g_"), ElementsAre("g_(input) -> Tensor"));
  EXPECT_THAT(calls(pythonMethods(m.dictionary), "g_"), IsEmpty());
}

TEST(PythonSignature, ArgumentsMayBeLeftOutInPythonAlone) {
  const Model m(
      "- func: f(Tensor self, int? dim, *, int? correction) -> Tensor\n  python_optional: [dim, correction]\n");
  EXPECT_THAT(calls(pythonFunctions(m.dictionary), "f"),
              ElementsAre("f(input, dim=None, *, correction=None) -> Tensor"));
}

TEST(PythonSignature, AnAliasHasTheSignaturesOfItsOperator) {
  Model m(
      "- func: f.Tensor(Tensor self, Tensor other) -> Tensor\n  variants: function, method, inplace\n"
      "  elementwise: F\n");
  readAliases(m.files.write("aliases.yaml", "- {name: h, of: f}\n"), m.dictionary);
  EXPECT_THAT(calls(pythonFunctions(m.dictionary), "h"), ElementsAre("h(input, other) -> Tensor"));
  EXPECT_THAT(calls(pythonMethods(m.dictionary), "h_"), ElementsAre("h_(other) -> Tensor"));
  const auto literals = pythonDocLiterals(m.dictionary, {{"f", "Does it."}}, pythonFunctions(m.dictionary));
  EXPECT_THAT(literals.at("h"), HasSubstr("Another name of f()."));
  EXPECT_THAT(literals.at("h"), HasSubstr("Does it."));
}

struct BadAliases {
  const char* name;
  const char* text;
  const char* message;
};
class BadAliasesTest : public testing::TestWithParam<BadAliases> {};

TEST_P(BadAliasesTest, AreRefusedWithTheirPlace) {
  Model m("- func: f(Tensor self) -> Tensor\n- func: g(Tensor self) -> Tensor\n");
  try {
    readAliases(m.files.write("aliases.yaml", GetParam().text), m.dictionary);
    FAIL() << "no error";
  } catch (const shunt::Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("aliases.yaml:"));
    EXPECT_THAT(e.what(), HasSubstr(GetParam().message));
  }
}

const BadAliases kBadAliases[] = {
    {"UnknownOperator", "- {name: h, of: k}\n", "no operator 'k'"},
    {"NameOfAnOperator", "- {name: g, of: f}\n", "'g' is taken"},
    {"Twice", "- {name: h, of: f}\n- {name: h, of: g}\n", "'h' is taken"},
    {"NoOperator", "- {name: h}\n", "has 'name' and 'of'"},
    {"UnknownKey", "- {name: h, of: f, doc: a}\n", "unknown key 'doc'"},
};
INSTANTIATE_TEST_SUITE_P(PythonAliases, BadAliasesTest, testing::ValuesIn(kBadAliases),
                         [](const testing::TestParamInfo<BadAliases>& info) { return info.param.name; });

std::string stubOf(const Model& m, const Docs& docs) {
  const TemporaryYaml folder;
  emitPythonStubs(m.dictionary, docs, Output(folder.directory()));
  std::ostringstream text;
  text << std::ifstream(folder.directory() + "/python/_operators.pyi").rdbuf();
  return text.str();
}

TEST(PythonDocs, SignaturesComeBeforeTheText) {
  const Model m(
      "- func: f.Tensor(Tensor self, Tensor other) -> Tensor\n  variants: function, inplace\n  elementwise: F\n"
      "- func: f.Scalar(Tensor self, Scalar other) -> Tensor\n  elementwise: F\n"
      "- func: g(Tensor self) -> Tensor\n");
  const Docs docs = {{"f", "Does it.\n\n>>> shunt.f()"}};
  const auto functions = pythonDocLiterals(m.dictionary, docs, pythonFunctions(m.dictionary));
  EXPECT_EQ(
      functions.at("f"),
      "\n    \"f(input, other) -> Tensor\\n\"\n    \"\\n\"\n    \"Does it.\\n\"\n    \"\\n\"\n    \">>> shunt.f()\"");
  EXPECT_EQ(functions.at("g"), "\n    \"g(input) -> Tensor\"");
  EXPECT_THAT(functions.at("f_"), HasSubstr("The in-place form of f()"));
  const std::string stub = stubOf(m, docs);
  EXPECT_THAT(stub, HasSubstr("@overload\ndef f(input: Tensor, other: Number) -> Tensor: ...\n"));
  EXPECT_THAT(stub, HasSubstr("def g(input: Tensor) -> Tensor: ...\n"));
  EXPECT_THAT(stub, HasSubstr("    \"\"\"Does it.\n\n    >>> shunt.f()\n    \"\"\"\n"));
}

struct BadDocs {
  const char* name;
  const char* text;
  const char* message;
};
class BadDocsTest : public testing::TestWithParam<BadDocs> {};

TEST_P(BadDocsTest, IsRefusedWithItsPlace) {
  const Model m("- func: f(Tensor self) -> Tensor\n");
  try {
    readDocs({m.files.write("f_docs.yaml", GetParam().text)}, m.dictionary);
    FAIL() << "no error";
  } catch (const shunt::Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("f_docs.yaml:"));
    EXPECT_THAT(e.what(), HasSubstr(GetParam().message));
  }
}

const BadDocs kBadDocs[] = {
    {"UnknownName", "- name: g\n  doc: |\n    A.\n\n    >>> 1\n", "no operator 'g'"},
    {"NoText", "- name: f\n", "has 'name' and 'doc'"},
    {"UnknownKey", "- name: f\n  text: A.\n", "unknown key 'text'"},
    {"NoExample", "- name: f\n  doc: A.\n", "has no example"},
    {"Twice", "- name: f\n  doc: |\n    A.\n    >>> 1\n- name: f\n  doc: |\n    A.\n    >>> 1\n", "has two texts"},
};
INSTANTIATE_TEST_SUITE_P(PythonDocs, BadDocsTest, testing::ValuesIn(kBadDocs),
                         [](const testing::TestParamInfo<BadDocs>& info) { return info.param.name; });

TEST(PythonDocs, TextsOfTheDictionaryAreRead) {
  const Model m("- func: f(Tensor self) -> Tensor\n");
  const Docs docs =
      readDocs({m.files.write("f_docs.yaml", "- name: f\n  doc: |\n    A.\n\n    >>> 1\n    1\n")}, m.dictionary);
  EXPECT_EQ(docs.at("f"), "A.\n\n>>> 1\n1");
}

}  // namespace
}  // namespace opgen
