// Rewriting of formulas: what is saved, under which names, for which gradient; names and numbers of nodes.
#include "tests/opgen/temporary_yaml.h"

#include "tools/opgen/model/saved_values.h"

#include <gtest/gtest.h>

namespace opgen {
namespace {

struct Rewritten {
  std::string expression, saved;
};

/// `f` with one formula for self; `saved` lists name=expression.
Rewritten rewrite(const std::string& formula) {
  const std::string schema =
      "f(Tensor self, Tensor other, Tensor? w, Tensor[] list, int dim, int[] sizes, Scalar alpha) -> Tensor";
  const Model m("- func: " + schema + "\n  dispatch: {CPU: f_cpu}\n",
                "- name: " + schema + "\n  self: \"" + formula + "\"\n  other, w, list: non_differentiable\n");
  const Derivative& d = *m.derivatives[0];
  Rewritten r{d.formulas[0].expression, ""};
  for (const SavedValue& s : d.saved) r.saved += (r.saved.empty() ? "" : " ") + s.name + "=" + s.expression;
  return r;
}

struct Case {
  const char* formula;
  const char* expression;
  const char* saved;
};
const Case kCases[] = {
    {"grad", "grad", ""},
    {"grad * other", "grad * other", "other=other"},
    {"grad.reshape(self.sizes())", "grad.reshape(self_sizes)", "self_sizes=self.sizes()"},
    {"f(grad, self.sizes(), self)", "f(grad, self_sizes, self)", "self_sizes=self.sizes() self=self"},
    {"f(self.size(dim), self.size(-1))", "f(self_argsize_dim, self_argsize_m1)",
     "self_argsize_dim=self.size(dim) self_argsize_m1=self.size(-1)"},
    {"g(to_args_sizes(list), dim)", "g(list_args_sizes, dim)", "list_args_sizes=to_args_sizes(list) dim=dim"},
    {"g(TensorGeometry(self), sizes)", "g(self_geometry, sizes)", "self_geometry=TensorGeometry(self) sizes=sizes"},
    {"grad.to(self.scalar_type())", "grad.to(self_scalar_type)", "self_scalar_type=self.scalar_type()"},
    {"grad * result", "grad * result", "result=result"},
    {"grad.sizes(), result.sizes()", "grad.sizes(), result_sizes", "result_sizes=result.sizes()"},
    {"x.self + ns::self + myself + self_", "x.self + ns::self + myself + self_", ""},
    {"g(w, alpha)", "g(w, alpha)", "w=w alpha=alpha"},
    {"grads[0] * self.numel() * self.dim()", "grads[0] * self_numel * self_dim",
     "self_numel=self.numel() self_dim=self.dim()"},
};

TEST(Formula, Rewriting) {
  for (const Case& c : kCases) {
    const Rewritten r = rewrite(c.formula);
    EXPECT_EQ(r.expression, c.expression) << c.formula;
    EXPECT_EQ(r.saved, c.saved) << c.formula;
  }
}

TEST(Formula, UsesAreCountedByFormula) {
  const Model m(
      "- func: mul(Tensor self, Tensor other) -> Tensor\n  elementwise: Mul\n",
      "- name: mul(Tensor self, Tensor other) -> Tensor\n  self: grad * other\n  other: grad * self * other\n");
  const Derivative& d = *m.derivatives[0];
  ASSERT_EQ(d.saved.size(), 2u);
  EXPECT_EQ(d.saved[0].name, "other");
  EXPECT_EQ(d.saved[0].used_by, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(d.saved[1].used_by, (std::vector<size_t>{1}));
}

TEST(Formula, InputsAreInTheSchemasOrder) {
  const Model m("- func: f(Tensor a, Tensor b, Tensor c) -> Tensor\n  dispatch: {CPU: f}\n",
                "- name: f(Tensor a, Tensor b, Tensor c) -> Tensor\n  c, a: g(grad, grad_input_mask)\n  b: grad\n");
  EXPECT_EQ(m.derivatives[0]->inputs, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Formula, InPlaceKeepsACloneOfSelf) {
  SavedValue s;
  s.name = s.expression = "self";
  s.of_self = true;
  const shunt::FunctionSchema schema = shunt::parseSchema("f(Tensor self) -> Tensor");
  s.argument = &schema.arguments()[0];
  EXPECT_EQ(savedExpression(s, true), "SavedVariable(self.clone(), false)");
  EXPECT_EQ(savedExpression(s, false), "SavedVariable(self, false)");
}

TEST(Formula, NodeNames) {
  // Names as PyTorch prints them, number by order of the entries; entries without formulas take none.
  const char* const names[][2] = {
      {"add", "AddBackward0"},     {"nll_loss_forward", "NllLossBackward0"}, {"_log_softmax", "LogSoftmaxBackward0"},
      {"log1p", "Log1PBackward0"}, {"index_select", "IndexSelectBackward0"}, {"fill_", "FillBackward0"}};
  for (const auto& [op, node] : names) {
    const std::string schema =
        std::string(op) +
        (op[std::string(op).size() - 1] == '_' ? "(Tensor(a!) self) -> Tensor(a!)" : "(Tensor self) -> Tensor");
    const Model m("- func: " + schema + "\n  dispatch: {CPU: k}\n", "- name: " + schema + "\n  self: grad\n");
    EXPECT_EQ(m.derivatives[0]->node_name, node);
  }
  const Model m(
      "- func: add.Tensor(Tensor self) -> Tensor\n  dispatch: {CPU: k}\n"
      "- func: add.int(Tensor self) -> Tensor\n  dispatch: {CPU: k}\n"
      "- func: add.Scalar(Tensor self) -> Tensor\n  dispatch: {CPU: k}\n",
      "- name: add.Tensor(Tensor self) -> Tensor\n  self: grad\n"
      "- name: add.int(Tensor self) -> Tensor\n  output_differentiability: [False]\n"
      "- name: add.Scalar(Tensor self) -> Tensor\n  self: grad\n");
  EXPECT_EQ(m.op("add", "Tensor").derivative->node_name, "AddBackward0");
  EXPECT_TRUE(m.op("add", "int").derivative->nothingDifferentiable());
  EXPECT_EQ(m.op("add", "Scalar").derivative->node_name, "AddBackward1");
  const Model given(
      "- func: copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)\n  dispatch: {CPU: k}\n",
      "- name: copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)\n  node: CopyBackwards\n  self, src: grad\n");
  EXPECT_EQ(given.derivatives[0]->node_name, "CopyBackwards");
}

TEST(Formula, NotImplementedIsNotTheSameAsNotDifferentiable) {
  const Model m("- func: f(Tensor self, Tensor other) -> Tensor\n  variants: function, inplace\n  elementwise: F\n",
                "- name: f(Tensor self, Tensor other) -> Tensor\n  self, other: not_implemented\n");
  for (const char* name : {"f", "f_"}) {
    EXPECT_TRUE(m.op(name).derivative->not_implemented);
    EXPECT_TRUE(m.op(name).derivative->formulas.empty());
  }
}

TEST(Formula, FormsShareTheFunctionalEntryUnlessTheyHaveTheirOwn) {
  const std::string functions =
      "- func: f(Tensor self) -> Tensor\n  variants: function, inplace\n  dispatch: {CPU: f}\n";
  const std::string entry = "- name: f(Tensor self) -> Tensor\n  self: grad\n";
  const Model shared(functions, entry);
  EXPECT_EQ(shared.op("f_").derivative, shared.op("f").derivative);
  const Model own(functions, entry + "- name: f_(Tensor(a!) self) -> Tensor(a!)\n  self: grad.neg()\n");
  EXPECT_NE(own.op("f_").derivative, own.op("f").derivative);
}

}  // namespace
}  // namespace opgen
