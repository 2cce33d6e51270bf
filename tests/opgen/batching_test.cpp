// batching.yaml: what follows for each form of an operator, and every mistake is an error that names file, line and
// mistake.
#include "tests/opgen/temporary_yaml.h"

#include "tools/opgen/model/batching.h"

#include <shunt/core/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opgen {
namespace {

using testing::HasSubstr;

constexpr const char* kOperators =
    "- func: mine(Tensor self, int dim) -> Tensor\n  variants: function, inplace, out\n  dispatch: {CPU: mine_cpu}\n"
    "- func: relu(Tensor self) -> Tensor\n  variants: function, inplace\n  elementwise: Relu\n"
    "- func: parts(Tensor self) -> Tensor\n"
    "- func: draw_(Tensor(a!) self) -> Tensor(a!)\n  tags: [nondeterministic_seeded]\n  dispatch: {CPU: draw_cpu_}\n"
    "- func: make(int[] size) -> Tensor\n  dispatch: {CPU: make_cpu}\n";

const BatchRule* ruleFor(const BatchRules& rules, const OperatorDef& op) {
  for (const BatchRule& rule : rules)
    if (rule.op == &op) return &rule;
  return nullptr;
}

std::string errorOf(const std::string& batching) {
  const Model m(kOperators);
  try {
    readBatching(m.files.write("batching.yaml", batching), m.dictionary);
  } catch (const shunt::Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Batching, FormsShareTheFunctionalRule) {
  const Model m(kOperators);
  const BatchRules rules = readBatching(m.files.write("batching.yaml", "dims: {mine: [dim]}\n"), m.dictionary);
  const BatchRule *mine = ruleFor(rules, m.op("mine")), *in_place = ruleFor(rules, m.op("mine_"));
  ASSERT_TRUE(mine != nullptr && in_place != nullptr);
  EXPECT_EQ(mine->kind, BatchKind::kDims);
  ASSERT_EQ(mine->arguments.size(), 1u);
  EXPECT_EQ(mine->arguments[0].position, 1u);
  EXPECT_EQ(mine->arguments[0].role, 'd');
  EXPECT_EQ(mine->functional, nullptr);
  EXPECT_EQ(in_place->functional, &m.op("mine"));
  EXPECT_EQ(ruleFor(rules, m.op("mine", "out")), nullptr);
  for (const char* name : {"relu", "relu_"}) EXPECT_EQ(ruleFor(rules, m.op(name))->kind, BatchKind::kPointwise);
  EXPECT_EQ(ruleFor(rules, m.op("draw_"))->kind, BatchKind::kRandom);
  EXPECT_EQ(ruleFor(rules, m.op("make")), nullptr);
  EXPECT_EQ(batchingOf(rules, m.op("parts")), "composite");
  EXPECT_EQ(batchingOf(rules, m.op("mine", "out")), "refused");
  EXPECT_EQ(batchingOf(rules, m.op("make")), "");
}

TEST(Batching, RolesOfArguments) {
  const Model m(kOperators);
  const std::pair<const char*, char> roles[] = {{"dim", 'd'}, {"dim+1", 'e'}, {"dim+all", 'a'}, {"dim+batch", 's'}};
  for (const auto& [text, role] : roles) {
    const std::string yaml = std::string("dims: {mine: [") + text + "]}\n";
    const BatchRules rules = readBatching(m.files.write("batching.yaml", yaml), m.dictionary);
    EXPECT_EQ(ruleFor(rules, m.op("mine"))->arguments[0].role, role) << text;
  }
}

TEST(Batching, MistakesAreErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}\n", "aten::mine has no rule in batching.yaml"},
      {"- mine\n", "expected operators by kind of rule"},
      {"rule: {mine: f}\n", "unknown key 'rule'"},
      {"dims: [mine]\n", "batching.yaml:1: error: 'dims' is a map by operator"},
      {"rules:\n  mine: f\n  your: g\n", "batching.yaml:3: error: no operator 'your' needs a rule for vmap"},
      {"rules: {mine: f, parts: g}\n", "no operator 'parts' needs a rule"},
      {"rules: {mine: f, relu: g}\n", "no operator 'relu' needs a rule"},
      {"rules: {mine: f, draw_: g}\n", "no operator 'draw_' needs a rule"},
      {"rules: {mine: f, mine.out: g}\n", "no operator 'mine.out' needs a rule"},
      {"pointwise: [mine]\nrules: {mine: f}\n", "aten::mine is listed twice"},
      {"dims: {mine: [axis]}\n", "aten::mine has no argument 'axis'"},
      {"dims: {mine: [dimm]}\n", "aten::mine has no argument 'dimm'; did you mean 'dim'?"},
      {"rule: {mine: f}\n", "; did you mean 'rules'?"},
      {"rules: {mnie: f}\n", "no operator 'mnie' needs a rule for vmap; did you mean 'mine'?"},
      {"dims: {mine: [dim+2]}\n", "'dim+2': expected an argument's name, with +1, +all or +batch"},
  };
  for (const auto& [yaml, part] : cases) EXPECT_THAT(errorOf(yaml), HasSubstr(part)) << yaml;
}

}  // namespace
}  // namespace opgen
