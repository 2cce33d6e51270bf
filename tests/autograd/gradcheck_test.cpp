// gradcheck and gradgradcheck of every differentiable operator of the dictionary, and a check that none is left out.
#include "tests/autograd/gradcheck_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace shunt::test {

namespace {

Cases allCases() {
  Cases all;
  for (Cases (*family)() :
       {elementwiseCases, activationCases, reductionCases, shapeCases, linalgAndLossCases, specialCases, visionCases}) {
    Cases cases = family();
    all.insert(all.end(), std::make_move_iterator(cases.begin()), std::make_move_iterator(cases.end()));
  }
  return all;
}

/// Adds the operators that a file of derivatives has formulas for, by name.
void addDifferentiable(const std::filesystem::path& path, std::set<std::string>& result) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::string line, op;
  while (std::getline(file, line)) {
    if (line.starts_with("- name: "))
      op = line.substr(8, line.find('(') - 8);
    else if (line.starts_with("  ") && line.find("_differentiab") == std::string::npos &&
             !line.ends_with(": not_implemented") && !line.starts_with("  #"))
      result.insert(op);
  }
}

std::set<std::string> differentiableOperators() {
  std::set<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(SHUNT_OPERATORS_FOLDER))
    if (entry.path().string().ends_with("_derivatives.yaml")) addDifferentiable(entry.path(), result);
  return result;
}

std::set<std::string>& calledOperators() {
  static std::set<std::string> called;
  return called;
}

/// The dictionary operators that run while f does.
template <class F>
std::set<std::string> operatorsCalledBy(F&& f) {
  calledOperators().clear();
  set_trace(true, [](const TraceStep& step) {
    const std::string name = step.op.operator_name().str();
    calledOperators().insert(name.substr(name.find("::") + 2));
  });
  f();
  set_trace(false);
  return calledOperators();
}

class GradcheckTest : public testing::TestWithParam<GradcheckCase> {};

TEST_P(GradcheckTest, MatchesDifferences) {
  const GradcheckCase& c = GetParam();
  EXPECT_THAT(operatorsCalledBy([&] { c.f(c.inputs()); }), testing::Contains(c.op))
      << "the case does not call its operator";
  EXPECT_TRUE(autograd::gradcheck(c.f, c.inputs()));
  if (c.second) EXPECT_TRUE(autograd::gradgradcheck(c.f, c.inputs()));
}

std::string caseName(const testing::TestParamInfo<GradcheckCase>& info) {
  std::string name = info.param.op + "_" + std::to_string(info.index);
  for (char& ch : name)
    if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Dictionary, GradcheckTest, testing::ValuesIn(allCases()), caseName);

TEST(GradcheckCoverage, EveryDifferentiableOperatorHasACase) {
  std::set<std::string> covered;
  for (const GradcheckCase& c : allCases()) covered.insert(c.op);
  std::set<std::string> missing;
  const std::set<std::string> wanted = differentiableOperators();
  EXPECT_GT(wanted.size(), 60u);
  std::set_difference(wanted.begin(), wanted.end(), covered.begin(), covered.end(),
                      std::inserter(missing, missing.end()));
  EXPECT_THAT(missing, testing::IsEmpty());
}

TEST(Gradcheck, FindsAWrongGradient) {
  struct Wrong : autograd::Function<Wrong> {
    static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x.mul(2); }
    static variable_list backward(autograd::AutogradContext*, variable_list g) { return {g[0].mul(2.01)}; }
  };
  const auto f = [](const variable_list& x) { return variable_list{Wrong::apply(x[0])}; };
  const std::string message = errorOf([&] { autograd::gradcheck(f, {leaf({1, 2})}); });
  EXPECT_THAT(message, testing::HasSubstr("Jacobian mismatch for output 0 with respect to input 0"));
  EXPECT_THAT(message, testing::HasSubstr("2.01"));
}

TEST(Gradcheck, RefusesInputsItCannotCheck) {
  const auto f = [](const variable_list& x) { return variable_list{x[0].mul(2)}; };
  EXPECT_THAT(errorOf([&] { autograd::gradcheck(f, {tensorOf({1})}); }), testing::HasSubstr("no input requires grad"));
  EXPECT_THAT(errorOf([&] { autograd::gradcheck(f, {ones({1}, kFloat).requires_grad_()}); }),
              testing::HasSubstr("must be float64"));
}

}  // namespace
}  // namespace shunt::test
