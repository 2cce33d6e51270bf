// Every mistake in the YAML files is an error that names the file, the line and the mistake.
#include "tests/opgen/temporary_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opgen {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct BadInput {
  const char* name;
  const char* functions;
  const char* derivatives;
  const char* autocast;
  const char* place;    // how the message begins
  const char* message;  // and what it says
};

// One valid operator that the cases of derivatives and autocast refer to.
constexpr const char* kRelu = "- func: relu(Tensor self) -> Tensor\n  elementwise: Relu\n";
constexpr const char* kReluGradient = "- name: relu(Tensor self) -> Tensor\n  self: grad\n";

class BadInputTest : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsRefusedWithItsPlace) {
  const BadInput& c = GetParam();
  const std::string message = readAll(c.functions, c.derivatives, c.autocast);
  EXPECT_THAT(message, StartsWith(c.place));
  EXPECT_THAT(message, HasSubstr(c.message));
}

// A form with a number, beside the one with a tensor.
#define SCALAR_FORM(direct_while)                                             \
  "- func: f.Tensor(Tensor self, Tensor other) -> Tensor\n  elementwise: F\n" \
  "- func: f.Scalar(Tensor self, Scalar other) -> Tensor\n  elementwise: F\n" \
  "  direct_while: " direct_while "\n"

const BadInput kFunctions[] = {
    {"NotYaml", "- func: [relu\n- x", "", "{}", "functions.yaml:2: error:", "not valid YAML"},
    {"NotAList", "func: relu(Tensor self) -> Tensor\n", "", "{}",
     "functions.yaml:1: error:", "expected a list of entries"},
    {"EntryWithoutKeys", "- relu\n", "", "{}", "functions.yaml:1: error:", "expected an entry with keys"},
    {"NoFunc", "- variants: method\n", "", "{}", "functions.yaml:1: error:", "entry without 'func'"},
    {"BadSchema", "\n- func: relu(Tensr self) -> Tensor\n", "", "{}", "functions.yaml:2: error:", "Tensr"},
    {"UnknownKey", "- func: relu(Tensor self) -> Tensor\n  varants: method\n", "", "{}",
     "functions.yaml:2: error:", "unknown key 'varants'; known are func, variants"},
    {"KeyTwice", "- func: relu(Tensor self) -> Tensor\n  tags: a\n  tags: b\n", "", "{}",
     "functions.yaml:3: error:", "'tags' stands twice"},
    {"UnknownVariant", "- func: relu(Tensor self) -> Tensor\n  variants: function, inplac\n", "", "{}",
     "functions.yaml:2: error:", "unknown variant 'inplac'"},
    {"OutNameWithoutOut", "- func: relu(Tensor self) -> Tensor\n  variants: function\n  out_name: out\n", "", "{}",
     "functions.yaml:3: error:", "'out_name' needs the variant out"},
    {"OutArgsTooMany", "- func: relu(Tensor self) -> Tensor\n  variants: function, out\n  out_args: a, b\n", "", "{}",
     "functions.yaml:1: error:", "'out_args' needs a name for each returned Tensor"},
    {"InplaceOfInplace", "- func: relu_(Tensor(a!) self) -> Tensor(a!)\n  variants: function, inplace\n", "", "{}",
     "functions.yaml:1: error:", "only a functional operator"},
    {"InplaceWithoutSelf", "- func: cat(Tensor[] tensors) -> Tensor\n  variants: function, inplace\n", "", "{}",
     "functions.yaml:1: error:", "needs 'Tensor self' as first argument"},
    {"OutOfNothing", "- func: check(Tensor self) -> bool\n  variants: function, out\n", "", "{}",
     "functions.yaml:1: error:", "needs returns of type Tensor"},
    {"MethodWithoutSelf", "- func: cat(Tensor[] tensors) -> Tensor\n  variants: method\n", "", "{}",
     "functions.yaml:1: error:", "can't be a method"},
    {"StructuredWithoutOut",
     "- func: f(Tensor self) -> Tensor\n  structured_delegate: f.out\n  dispatch: {\"CPU, Meta\": f}\n", "", "{}",
     "functions.yaml:1: error:", "'structured_delegate' needs the variant out"},
    {"StructuredOtherName",
     "- func: f(Tensor self) -> Tensor\n  variants: function, out\n  structured_delegate: g.out\n"
     "  dispatch: {\"CPU, Meta\": f}\n",
     "", "{}", "functions.yaml:3: error:", "is the out form, f.out, not g.out"},
    {"StructuredWithOwnOut",
     "- func: f(Tensor self) -> Tensor\n  variants: function, out\n  out: copy\n"
     "  structured_delegate: f.out\n  dispatch: {\"CPU, Meta\": f}\n",
     "", "{}", "functions.yaml:4: error:", "no kernels of their own"},
    {"StructuredForCpuOnly",
     "- func: f(Tensor self) -> Tensor\n  variants: function, out\n  structured_delegate: f.out\n"
     "  dispatch: {CPU: f}\n",
     "", "{}", "functions.yaml:3: error:", "has one kernel for CPU and Meta"},
    {"StructuredOptionalTensor",
     "- func: f(Tensor self, Tensor? w) -> Tensor\n  variants: function, out\n"
     "  structured_delegate: f.out\n  dispatch: {\"CPU, Meta\": f}\n",
     "", "{}", "functions.yaml:3: error:", "'w' is not"},
    {"FunctorsWithoutKernels", "- func: f(Tensor self) -> Tensor\n  functors: [Copy]\n", "", "{}",
     "functions.yaml:2: error:", "what the kernels of 'dispatch' run"},
    {"AccumulatorsWithoutKernels", "- func: f(Tensor self) -> Tensor\n  accumulators: [Sum]\n", "", "{}",
     "functions.yaml:2: error:", "what the kernels of 'dispatch' run"},
    {"ReductionWithOtherArguments", "- func: f(Tensor self, Scalar p) -> Tensor\n  reduction: Sum\n", "", "{}",
     "functions.yaml:2: error:", "has 'p': write its kernel"},
    {"ReductionOfTwoResults", "- func: f(Tensor self) -> (Tensor, Tensor)\n  reduction: Sum\n", "", "{}",
     "functions.yaml:2: error:", "returns one Tensor"},
    {"ReductionWithoutOut", "- func: f(Tensor self) -> Tensor\n  variants: function, out\n  reduction: Sum\n", "", "{}",
     "functions.yaml:1: error:", "a reduction's other forms need a kernel"},
    {"ReductionAndCpu", "- func: f(Tensor self) -> Tensor\n  reduction: Sum\n  dispatch: {CPU: f_cpu}\n", "", "{}",
     "functions.yaml:3: error:", "has its kernel by 'reduction' already"},
    {"ReductionAndElementwise", "- func: f(Tensor self) -> Tensor\n  elementwise: F\n  reduction: Sum\n", "", "{}",
     "functions.yaml:3: error:", "'elementwise' or a 'reduction'"},
    {"NoFunctor", "- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: f}\n  functors: [a b]\n", "", "{}",
     "functions.yaml:3: error:", "'a b'"},
    {"DefinedTwice", "- func: relu(Tensor self) -> Tensor\n- func: relu(Tensor input) -> Tensor\n", "", "{}",
     "functions.yaml:2: error:", "aten::relu is defined twice; the other is at functions.yaml:1"},
    {"DerivedFormWrittenToo",
     "- func: relu(Tensor self) -> Tensor\n  variants: function, inplace\n"
     "- func: relu_(Tensor(a!) self) -> Tensor(a!)\n",
     "", "{}", "functions.yaml:3: error:", "aten::relu_ is defined twice"},
    {"UnknownDispatchKey", "- func: relu(Tensor self) -> Tensor\n  dispatch: {CPUU: relu_cpu}\n", "", "{}",
     "functions.yaml:2: error:", "unknown dispatch key 'CPUU'; did you mean 'CPU'"},
    {"DispatchKeyTwice", "- func: relu(Tensor self) -> Tensor\n  dispatch: {CPU: relu_cpu, 'Meta, CPU': relu_meta}\n",
     "", "{}", "functions.yaml:2: error:", "two kernels for the key CPU"},
    {"DispatchIsNoMap", "- func: relu(Tensor self) -> Tensor\n  dispatch: relu_cpu\n", "", "{}",
     "functions.yaml:2: error:", "expected kernels by key"},
    {"KernelIsNoName", "- func: relu(Tensor self) -> Tensor\n  dispatch: {CPU: 'native::relu'}\n", "", "{}",
     "functions.yaml:2: error:", "is not the name of a function"},
    {"ElementwiseAndCpu", "- func: relu(Tensor self) -> Tensor\n  elementwise: Relu\n  dispatch: {CPU: relu_cpu}\n", "",
     "{}", "functions.yaml:3: error:", "has its kernel by 'elementwise' already"},
    {"DeviceCheckValue", "- func: relu(Tensor self) -> Tensor\n  device_check: Yes\n", "", "{}",
     "functions.yaml:2: error:", "NoCheck"},
    {"NotABoolean", "- func: relu(Tensor self) -> Tensor\n  manual_cpp_binding: perhaps\n", "", "{}",
     "functions.yaml:2: error:", "expected True or False"},
    {"NoSuchDefault", "- func: f(Tensor self, int n) -> Tensor\n  cpp_no_default_args: [n]\n", "", "{}",
     "functions.yaml:2: error:", "no argument 'n' with a default"},
    {"TypeWithoutCppType", "- func: relu(Stream self) -> Tensor\n", "", "{}",
     "functions.yaml:1: error:", "has no C++ type"},
    {"ImplicitBesideOthers",
     "- func: relu(Tensor self) -> Tensor\n  dispatch: {CompositeImplicitAutograd: relu, CompositeExplicitAutograd: "
     "relu}\n",
     "", "{}", "functions.yaml:1: error:", "CompositeImplicitAutograd kernel and"},
    {"DirectWhileUnknown", SCALAR_FORM("f.Tenser"), "", "{}",
     "functions.yaml:5: error:", "'f.Tenser', which is no operator of the dictionary; did you mean 'f.Tensor'?"},
    {"DirectWhileOtherArguments", SCALAR_FORM("f.Tensor(self)"), "", "{}",
     "functions.yaml:5: error:", "it takes 2 arguments"},
    {"DirectWhileNoSuchArgument", SCALAR_FORM("f.Tensor(self, number)"), "", "{}",
     "functions.yaml:5: error:", "no argument 'number'"},
    {"DirectWhileNoParenthesis", SCALAR_FORM("f.Tensor(self"), "", "{}",
     "functions.yaml:5: error:", "name.overload(arguments)"},
    {"DirectWhileNothingToWrap", SCALAR_FORM("f.Tensor(self, self)"), "", "{}",
     "functions.yaml:5: error:", "no number becomes a tensor"},
    {"DirectWhileOfItself", SCALAR_FORM("f.Scalar"), "", "{}",
     "functions.yaml:5: error:", "no number becomes a tensor"},
    {"DirectWhileBesideComposite", "- func: f.Scalar(Tensor self, Scalar other) -> Tensor\n  direct_while: f.Tensor\n",
     "", "{}", "functions.yaml:2: error:", "is itself the composite"},
    {"DirectWhileWithoutInplace", SCALAR_FORM("f.Tensor\n  variants: inplace"), "", "{}",
     "functions.yaml:5: error:", "no form of aten::f.Tensor has its arguments"},
    {"InplaceDirectWhileAlone",
     "- func: f.Scalar(Tensor self, Scalar other) -> Tensor\n  variants: inplace\n"
     "  inplace_direct_while: f.Tensor\n",
     "", "{}", "functions.yaml:3: error:", "'inplace_direct_while' needs"},
};
#undef SCALAR_FORM

const BadInput kDerivatives[] = {
    {"MissingEntry", kRelu, "", "{}", "functions.yaml:1: error:", "\n  functions.yaml:1: aten::relu"},
    {"NoName", kRelu, "- self: grad\n", "{}", "derivatives.yaml:1: error:", "entry without 'name'"},
    {"UnknownOperator", kRelu, "- name: relo(Tensor self) -> Tensor\n  self: grad\n", "{}",
     "derivatives.yaml:1: error:", "aten::relo is not in the dictionary"},
    {"OtherSchema", kRelu, "- name: relu(Tensor input) -> Tensor\n  input: grad\n", "{}",
     "derivatives.yaml:1: error:", "the schema differs"},
    {"BadSchema", kRelu, "- name: relu(Tensor self -> Tensor\n  self: grad\n", "{}",
     "derivatives.yaml:1: error:", "expected"},
    {"UnknownArgument", kRelu, "- name: relu(Tensor self) -> Tensor\n  other: grad\n", "{}",
     "derivatives.yaml:2: error:", "aten::relu has no argument 'other'"},
    {"ArgumentIsNoTensor", "- func: pow(Tensor self, Scalar exponent) -> Tensor\n  elementwise: Pow\n",
     "- name: pow(Tensor self, Scalar exponent) -> Tensor\n  exponent: grad\n", "{}",
     "derivatives.yaml:2: error:", "'exponent' is no tensor"},
    {"TwoFormulas", kRelu, "- name: relu(Tensor self) -> Tensor\n  self: grad\n  self: grad.neg()\n", "{}",
     "derivatives.yaml:3: error:", "'self' stands twice"},
    {"FormulaAndMark", kRelu, "- name: relu(Tensor self) -> Tensor\n  non_differentiable: self\n  self: grad\n", "{}",
     "derivatives.yaml:3: error:", "'self' is marked non_differentiable already"},
    {"EntryTwice", kRelu,
     "- name: relu(Tensor self) -> Tensor\n  self: grad\n- name: relu(Tensor self) -> Tensor\n  self: grad\n", "{}",
     "derivatives.yaml:3: error:", "two entries; the other is at derivatives.yaml:1"},
    {"OutputCount", kRelu, "- name: relu(Tensor self) -> Tensor\n  output_differentiability: [True, False]\n", "{}",
     "derivatives.yaml:2: error:", "one value per return: 1"},
    {"OutputValue", kRelu, "- name: relu(Tensor self) -> Tensor\n  output_differentiability: [maybe]\n", "{}",
     "derivatives.yaml:2: error:", "expected True or False, got maybe"},
    {"FormulaWithoutOutput", kRelu,
     "- name: relu(Tensor self) -> Tensor\n  output_differentiability: [False]\n  self: grad\n", "{}",
     "derivatives.yaml:1: error:", "has formulas, but no differentiable output"},
    {"CompositeOperator", "- func: relu(Tensor self) -> Tensor\n", kReluGradient, "{}",
     "derivatives.yaml:1: error:", "is CompositeImplicitAutograd"},
    {"OutForm", "- func: relu(Tensor self) -> Tensor\n  elementwise: Relu\n  variants: function, out\n",
     "- name: relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  self: grad\n", "{}",
     "derivatives.yaml:1: error:", "out= forms have no derivative"},
    {"FormulaBesideNotImplemented", "- func: mul(Tensor self, Tensor other) -> Tensor\n  elementwise: Mul\n",
     "- name: mul(Tensor self, Tensor other) -> Tensor\n  self: grad\n  other: not_implemented\n", "{}",
     "derivatives.yaml:3: error:", "not_implemented stands for all arguments"},
    {"NodeWithoutFormula", kRelu,
     "- name: relu(Tensor self) -> Tensor\n  node: Relu\n  output_differentiability: [False]\n", "{}",
     "derivatives.yaml:2: error:", "has no formula, so no node"},
    {"SizeOfExpression", kRelu, "- name: relu(Tensor self) -> Tensor\n  self: grad * self.size(1 + 1)\n", "{}",
     "derivatives.yaml:2: error:", "size() of self needs a number"},
};

const BadInput kAutocast[] = {
    {"NotLists", kRelu, kReluGradient, "- relu\n", "autocast.yaml: error:", "expected lists of operators by policy"},
    {"UnknownPolicy", kRelu, kReluGradient, "fp16: [relu]\n", "autocast.yaml:1: error:", "unknown key 'fp16'"},
    {"UnknownOperator", kRelu, kReluGradient, "\nfp32: [relo]\n",
     "autocast.yaml:2: error:", "no functional operator 'relo'"},
    {"UnknownOverload", kRelu, kReluGradient, "fp32: [relu.Tensor]\n", "autocast.yaml:1: error:", "'relu.Tensor'"},
    {"ListedTwice", kRelu, kReluGradient, "fp32: [relu]\npromote: [relu]\n",
     "autocast.yaml:2: error:", "aten::relu is listed twice"},
    {"NothingToCast", "- func: one(int n) -> Tensor\n", "", "fp32: [one]\n",
     "autocast.yaml:1: error:", "has no tensors to cast"},
};

std::string caseName(const testing::TestParamInfo<BadInput>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Functions, BadInputTest, testing::ValuesIn(kFunctions), caseName);
INSTANTIATE_TEST_SUITE_P(Derivatives, BadInputTest, testing::ValuesIn(kDerivatives), caseName);
INSTANTIATE_TEST_SUITE_P(Autocast, BadInputTest, testing::ValuesIn(kAutocast), caseName);

TEST(BadInputTest, ValidInputIsAccepted) { EXPECT_EQ(readAll(kRelu, kReluGradient, "fp32: [relu]\n"), "no error"); }

TEST(BadInputTest, MissingFileIsNamed) {
  try {
    readDictionary({"/nonexistent/functions.yaml"});
    FAIL() << "no error";
  } catch (const std::exception& e) {
    EXPECT_STREQ(e.what(), "/nonexistent/functions.yaml: error: can't read the file");
  }
}

}  // namespace
}  // namespace opgen
