// What `variants` derives: schemas, kernels, names; which operators belong together.
#include "tests/opgen/temporary_yaml.h"

#include "tools/opgen/model/cpp_types.h"
#include "tools/opgen/model/tensor_form.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace opgen {
namespace {

TEST(DerivedForms, NamesOfOutArguments) {
  const Model m(
      "- func: loss(Tensor self) -> (Tensor output, Tensor weight)\n  variants: function, out\n  out_name: output\n"
      "  out_args: output, total\n  dispatch: {CPU: loss_cpu}\n  out: copy\n");
  EXPECT_EQ(m.op("loss", "output").schema.str(),
            "aten::loss.output(Tensor self, *, Tensor(a!) output, Tensor(b!) total) -> (Tensor(a!), Tensor(b!))");
}

TEST(DerivedForms, ElementwiseSchemas) {
  const Model m(
      "- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
      "  variants: function, method, inplace, out\n  out_name: out\n  elementwise: Add\n");
  EXPECT_EQ(m.op("add_", "Tensor").schema.str(),
            "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  EXPECT_EQ(m.op("add", "out").schema.str(),
            "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(m.op("add_", "Tensor").cpp_name, "add__Tensor");
  EXPECT_EQ(m.op("add_", "Tensor").functional, &m.op("add", "Tensor"));
  for (const char* key : {"CPU", "Meta"}) {
    const auto& kernels = m.op("add", "out").kernels;
    EXPECT_TRUE(std::any_of(kernels.begin(), kernels.end(), [&](const Kernel& k) {
      return k.key == key && k.kind == KernelKind::kElementwise && k.name == "Add";
    }));
  }
}

TEST(DerivedForms, OutNames) {
  const Model m(
      "- func: neg(Tensor self) -> Tensor\n  variants: function, out\n  elementwise: Neg\n"
      "- func: eq.Scalar(Tensor self, Scalar other) -> Tensor\n  variants: function, out\n  elementwise: Eq\n");
  EXPECT_NE(m.dictionary.find("neg", "out"), nullptr);
  EXPECT_NE(m.dictionary.find("eq", "Scalar_out"), nullptr);
}

TEST(DerivedForms, OfANumberCallThoseOfATensor) {
  const Model m(
      "- func: f.Tensor(Tensor self, Tensor other) -> Tensor\n  variants: function, inplace, out\n  elementwise: F\n"
      "- func: f.Scalar(Tensor self, Scalar other) -> Tensor\n  variants: function, inplace, out\n  elementwise: F\n"
      "  direct_while: f.Tensor\n"
      "- func: g(Tensor self, Scalar other) -> Tensor\n  variants: function, inplace, out\n  elementwise: F\n"
      "  direct_while: f.Tensor(other, self)\n  inplace_direct_while: f.Tensor_out(self, other, self)\n  out: cast\n");
  EXPECT_EQ(tensorFormCall(m.op("f", "Scalar")), "ops::f_Tensor::call(self, wrapped_scalar_tensor(other))");
  EXPECT_EQ(tensorFormCall(m.op("f_", "Scalar")), "ops::f__Tensor::call(self, wrapped_scalar_tensor(other))");
  EXPECT_EQ(tensorFormCall(m.op("f", "Scalar_out")),
            "ops::f_Tensor_out::call(self, wrapped_scalar_tensor(other), out)");
  EXPECT_EQ(tensorFormCall(m.op("g", "")), "ops::f_Tensor::call(wrapped_scalar_tensor(other), self)");
  EXPECT_EQ(tensorFormCall(m.op("g_", "")), "ops::f_Tensor_out::call(self, wrapped_scalar_tensor(other), self)");
  EXPECT_FALSE(m.op("g", "out").hasTensorForm()) << "it copies";
  EXPECT_FALSE(m.op("f", "Tensor").hasTensorForm());
}

TEST(DerivedForms, SeveralReturnsBecomeSeveralOuts) {
  const Model m(
      "- func: max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)\n  variants: function, out\n"
      "  dispatch: {CPU: max_dim_cpu}\n");
  EXPECT_EQ(m.op("max", "dim_out").schema.str(),
            "aten::max.dim_out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> "
            "(Tensor(a!) values, Tensor(b!) indices)");
}

TEST(DerivedForms, FactoriesLoseTheirOptions) {
  const Model m(
      "- func: ones(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
      "bool? pin_memory=None) -> Tensor\n  variants: function, out\n  dispatch: {CompositeExplicitAutograd: ones}\n");
  EXPECT_EQ(m.op("ones", "out").schema.str(), "aten::ones.out(int[] size, *, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_TRUE(m.op("ones").isFactory());
}

TEST(DerivedForms, KernelNames) {
  const Model m(
      "- func: addmm(Tensor self, Tensor mat) -> Tensor\n  variants: function, inplace, out\n"
      "  dispatch: {CPU: addmm_cpu, Meta: special}\n"
      "- func: mv(Tensor self, Tensor vec) -> Tensor\n  variants: function, inplace, out\n  inplace: copy\n"
      "  out: my_mv_out\n  dispatch: {CPU: mv_cpu}\n");
  EXPECT_EQ(m.op("addmm_").kernels[0].name, "addmm__cpu");
  EXPECT_EQ(m.op("addmm", "out").kernels[0].name, "addmm_out_cpu");
  EXPECT_EQ(m.op("addmm_").kernels[1].name, "special_");
  EXPECT_EQ(m.op("addmm", "out").kernels[1].name, "special_out");
  EXPECT_EQ(m.op("mv_").kernels[0].kind, KernelKind::kCopy);
  EXPECT_EQ(m.op("mv", "out").kernels[0].name, "my_mv_out");
}

TEST(DerivedForms, CompositeByDefault) {
  const Model m(
      "- func: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor\n"
      "- func: stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)\n");
  EXPECT_TRUE(m.op("linear").isCompositeImplicit());
  EXPECT_EQ(m.op("linear").kernels[0].name, "linear");
  EXPECT_EQ(m.op("stack", "out").kernels[0].name, "stack_out");
}

TEST(DerivedForms, WrittenFormsFindTheirFunctionalOperator) {
  const Model m(
      "- func: pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor\n  elementwise: Pow\n"
      "- func: pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)\n  elementwise: Pow\n"
      "- func: pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> Tensor(a!)\n  elementwise: "
      "Pow\n"
      "- func: pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)\n  elementwise: Pow\n");
  EXPECT_EQ(m.op("pow_", "Scalar").functional, &m.op("pow", "Tensor_Scalar"));
  EXPECT_EQ(m.op("pow", "Tensor_Scalar_out").functional, &m.op("pow", "Tensor_Scalar"));
  EXPECT_EQ(m.op("pow_", "Tensor").functional, nullptr);
}

TEST(DerivedForms, CppSignatures) {
  const Model m(
      "- func: f.x(Tensor self, Tensor? w, Tensor[] l, Tensor?[] o, Scalar s, Scalar? t, int i, int? j, int[2] k, "
      "int[]? d, float e, float[] g, bool b, bool[3] c, str n, str? q, ScalarType? dtype, MemoryFormat? m, "
      "Generator? r) -> (Tensor, Tensor[], Scalar)\n");
  EXPECT_EQ(
      signature(m.op("f", "x"), true),
      "std::tuple<Tensor, std::vector<Tensor>, Scalar>(DispatchKeySet, const Tensor&, const std::optional<Tensor>&, "
      "TensorList, TensorOptList, const Scalar&, const std::optional<Scalar>&, int64_t, std::optional<int64_t>, "
      "IntArrayRef, OptionalIntArrayRef, double, ArrayRef<double>, bool, std::array<bool, 3>, std::string_view, "
      "std::optional<std::string_view>, std::optional<ScalarType>, std::optional<MemoryFormat>, "
      "std::optional<Generator>)");
}

TEST(DerivedForms, Defaults) {
  const Model m(
      "- func: f(Tensor self, Tensor? w=None, int? i=None, int[2] k=1, int[1] dim=[], float p=0.5, float q=2, "
      "bool b=False, str s=\"none\", int reduction=Mean, MemoryFormat m=contiguous_format, Scalar a=1.5) -> Tensor\n");
  std::vector<std::string> defaults;
  for (const shunt::Argument& a : m.op("f").arguments()) defaults.push_back(defaultExpression(a));
  EXPECT_EQ(defaults, (std::vector<std::string>{"", "{}", "std::nullopt", "{1, 1}", "{}", "0.5", "2.0", "false",
                                                "\"none\"", "1", "static_cast<MemoryFormat>(0)", "1.5"}));
}

}  // namespace
}  // namespace opgen
