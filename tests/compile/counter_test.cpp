// Functions that count in C++ while they are recorded and checked: the call that records runs their code once.
#include "tests/compile/warnings.h"
#include "tests/support/error_of.h"

#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace shunt::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CompiledCounter, CountsEachCallOnce) {
  int n = 0;
  const auto f = compile([&](const Tensor& x) { return x + static_cast<double>(++n); },
                         {.check = CompileCheck::kFirst, .record_after = 1, .name = "counter"});
  const Warnings warnings;
  std::vector<float> results;
  for (int call = 1; call <= 6; ++call) {
    results.push_back(f(zeros({1})).item<float>());
    EXPECT_EQ(n, call);
  }
  EXPECT_THAT(results, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(
      warnings.all(),
      ElementsAre("counter: run 2 of a graph was checked, and the graph and the function differ in result 0, which "
                  "aten::add.Scalar gives: element [0] is 2, expected 3. The first operator that differs is "
                  "aten::add.Scalar, whose argument 'other' was 2 when the graph was recorded and is 3 now. No run "
                  "before it was compared. A graph keeps what the function read when it was recorded, except its "
                  "arguments: numbers, the tensors in variables, branches on these; and it only calls operators. This "
                  "call has the result of the function, and all later calls run it. To have a graph, pass what changes "
                  "as an argument, keep it in a 0-dim tensor, or name it in CompileOptions::captures or ::scalars"));
}

// Each of them is recorded in one call.
TEST(CompiledCounter, CountsEachCallOfSeveralSizesOnce) {
  int n = 0;
  const auto f = compile(
      [&](const Tensor& x) {
        ++n;
        return x + 1;
      },
      {.check = CompileCheck::kFirst, .record_after = 1});
  for (int64_t size = 1; size <= 4; ++size)
    for (int call = 0; call < 5; ++call) f(zeros({size}));
  EXPECT_EQ(f.counts().recorded, 4u);
  EXPECT_EQ(n, 20) << "the first call, the one that records, and the three that are checked";
}

TEST(CompiledCounter, TheThreeRunsAfterTheRecordingAreChecked) {
  int n = 0;
  const auto f = compile(
      [&](const Tensor& x) {
        ++n;
        return x + 1;
      },
      {.check = CompileCheck::kFirst, .record_after = 1, .name = "f"});
  const auto after = [&](int calls) {
    for (int call = 0; call < calls; ++call) f(zeros({2}));
    return n;
  };
  const std::string variant = "variant 0 for Float[2], 0 captured tensors, grad mode on: 1 operator\n";
  EXPECT_EQ(after(2), 2);
  EXPECT_THAT(f.explain(), HasSubstr(variant + "  checked without a difference in 0 of 1 run\n"));
  EXPECT_EQ(after(1), 3);
  EXPECT_THAT(f.explain(),
              HasSubstr(variant + "  checked without a difference in 1 of 2 runs, most recently in run 2\n"));
  EXPECT_EQ(after(3), 5) << "run 5 is not checked";
  EXPECT_THAT(f.explain(),
              HasSubstr(variant + "  checked without a difference in 3 of 5 runs, most recently in run 4\n"));
}

// The function itself runs in the call that records, because errors that it catches are compared.
TEST(CompiledCounter, AVariantThatACallOfTheFunctionConfirmsIsCheckedFromItsFirstRun) {
  int n = 0;
  const auto f = compile(
      [&](const Tensor& x) {
        ++n;
        try {
          return x.mm(x);
        } catch (const Error&) {
          return x + 1;
        }
      },
      {.check = CompileCheck::kFirst, .record_after = 1});
  for (int call = 0; call < 3; ++call) f(zeros({2, 3}));
  EXPECT_EQ(f.counts().hits, 1u);
  EXPECT_EQ(n, 4) << "once in the first call, twice in the one that records, once in the check";
  EXPECT_THAT(f.explain(), HasSubstr("  checked without a difference in 1 of 1 run, most recently in run 1\n"));
}

TEST(CompiledCounter, CheckedInEachRunItIsAheadAndTheErrorSaysSo) {
  int n = 0;
  const auto f = compile([&](const Tensor& x) { return x + static_cast<double>(++n); },
                         {.check = CompileCheck::kAlways, .record_after = 1, .name = "counter"});
  f(zeros({1}));
  EXPECT_THAT(
      errorOf([&] { f(zeros({1})); }),
      HasSubstr("counter: SHUNT_COMPILE_CHECK: the graph and the function differ in result 0: element [0] is 2, "
                "expected 3. A graph keeps the numbers and variables that the function read when it was "
                "recorded: pass what changes as an argument, or name it in CompileOptions::captures or "
                "::scalars. Recording ran the function's code once more, so a counter in it is ahead of the "
                "calls"));
}

// What is counted in a tensor is part of the graph.
TEST(CompiledCounter, ATensorCounts) {
  const Tensor n = zeros({});
  const auto f = compile([&](const Tensor& x) { return x + Tensor(n).add_(1); },
                         {.check = CompileCheck::kFirst, .record_after = 1});
  const Warnings warnings;
  for (int call = 1; call <= 20; ++call) EXPECT_EQ(f(zeros({1})).item<float>(), static_cast<float>(call));
  EXPECT_EQ(f.counts().hits, 19u);
  EXPECT_THAT(warnings.text(), IsEmpty());
}

}  // namespace
}  // namespace shunt::test
