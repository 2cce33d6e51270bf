// explain() shows in what variants differ, and when a failed recording is retried.
#include "tests/compile/warnings.h"

#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

namespace shunt::test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

const CompileOptions kPlain{.check = CompileCheck::kNever, .record_after = 1, .name = "f"};

/// The lines of explain() about variants, without the count of operators.
std::vector<std::string> variants(const std::string& text) {
  static const std::regex kLine("(variant [^\n]+): [0-9]+ operators?\n(  (differs|and) [^\n]+)?");
  std::vector<std::string> lines;
  for (std::sregex_iterator at(text.begin(), text.end(), kLine), end; at != end; ++at)
    lines.push_back((*at)[1].str() + (*at)[2].str());
  return lines;
}

template <class F>
void twice(const F& call) {
  for (int i = 0; i < 2; ++i) call();
}

TEST(ExplainVariants, NumbersAmongTheArguments) {
  const auto f = compile([](const Tensor& x, double k, bool negative,
                            const std::vector<Tensor>& more) { return x * k + (negative ? -1 : 1) * more[0]; },
                         kPlain);
  const Tensor x = ones({2});
  twice([&] { f(x, 0.1, false, std::vector{x + 1}); });
  twice([&] { f(x, 0.100000000001, false, std::vector{x + 1}); });
  twice([&] { f(x, -3, true, std::vector{x + 1}); });
  EXPECT_THAT(variants(f.explain()),
              ElementsAre("variant 0 for Float[2] Float[2], numbers 0.1, 0, 1, 1, 0 captured tensors, grad mode on",
                          "variant 1 for Float[2] Float[2], numbers 0.100000000001, 0, 1, 1, 0 captured tensors, grad "
                          "mode on",
                          "variant 2 for Float[2] Float[2], numbers -3, 1, 1, 1, 0 captured tensors, grad mode on"));
  const auto by_int = compile([](const Tensor& t, int64_t k) { return t + k; }, kPlain);
  twice([&] { by_int(x, int64_t{-5}); });
  EXPECT_THAT(variants(by_int.explain()),
              ElementsAre("variant 0 for Float[2], number -5, 0 captured tensors, grad mode on"));
}

TEST(ExplainVariants, NamedNumbersAndTensors) {
  double rate = 0.5;
  Tensor w = ones({2});
  const auto f = compile([&](const Tensor& x) { return x * rate + w; },
                         {.captures = {&w}, .scalars = {&rate}, .check = CompileCheck::kNever, .record_after = 1});
  const Tensor x = ones({2}), before = w;
  twice([&] { f(x); });
  rate = 0;
  twice([&] { f(x); });
  w = zeros({2});
  twice([&] { f(x); });
  EXPECT_THAT(
      variants(f.explain()),
      ElementsAre("variant 0 for Float[2], scalar 0.5, 2 captured tensors, grad mode on",
                  "variant 1 for Float[2], scalar 0, 2 captured tensors, grad mode on",
                  "variant 2 for Float[2], scalar 0, 2 captured tensors, grad mode on  differs from variant 1 in "
                  "the tensor in CompileOptions::captures[0]"));
}

TEST(ExplainVariants, StridesAndAliases) {
  const auto f = compile([](const Tensor& a, const Tensor& b) { return a + b; }, kPlain);
  const Tensor x = ones({3, 4}), y = ones({3, 4}), columns = ones({4, 3}).t();
  twice([&] { f(x, y); });
  twice([&] { f(x, x); });
  twice([&] { f(x, x.view({3, 4})); });
  twice([&] { f(columns, y); });
  EXPECT_THAT(
      variants(f.explain()),
      ElementsAre("variant 0 for Float[3, 4] Float[3, 4], 0 captured tensors, grad mode on",
                  "variant 1 for Float[3, 4] Float[3, 4] (tensor 0 again), 0 captured tensors, grad mode on",
                  "variant 2 for Float[3, 4] Float[3, 4] (in the memory of tensor 0), 0 captured tensors, grad mode on",
                  "variant 3 for Float[3, 4] (strides [1, 3]) Float[3, 4], 0 captured tensors, grad mode on"));
}

TEST(ExplainVariants, StridesOfOneKind) {
  const auto f = compile([](const Tensor& a) { return a + 1; }, kPlain);
  twice([&] { f(ones({3, 8}).narrow(1, 0, 4)); });
  twice([&] { f(ones({3, 9}).narrow(1, 0, 4)); });
  EXPECT_THAT(
      variants(f.explain()),
      ElementsAre("variant 0 for Float[3, 4] (strides [8, 1]), 0 captured tensors, grad mode on  and 1 more like "
                  "it, for [3, 4] (strides [9, 1])"));
}

TEST(ExplainVariants, WhatIsCaptured) {
  const Tensor w = ones({2}).requires_grad_();
  const auto f = compile([&](const Tensor& x) { (x * w).sum().backward(); }, kPlain);
  twice([&] { w.mutable_grad() = Tensor(), f(ones({2})); });
  twice([&] { f(ones({2})); });
  EXPECT_THAT(
      variants(f.explain()),
      ElementsAre("variant 0 for Float[2], 1 captured tensor, grad mode on  and 1 more like it, for [2] (differs "
                  "in captured tensor 0: having a grad)"));
}

TEST(ExplainRetries, AfterAFailedRecording) {
  const Warnings quiet;
  const auto f = compile([](const Tensor& x) { return x * x.sum().item<double>(); }, kPlain);
  const Tensor x = ones({2});
  const auto after = [&](int calls) {
    for (int i = 0; i < calls; ++i) f(x);
    return f.explain();
  };
  EXPECT_THAT(after(2),
              EndsWith("\nno graph yet: recording failed for such arguments, and is retried after 29 more calls "
                       "run the function\n"));
  EXPECT_THAT(after(28), EndsWith("retried after 1 more call runs the function\n"));
  EXPECT_THAT(f.explain(),
              HasSubstr("  28 calls ran the function: recording failed for such arguments, and a retry was "
                        "not yet due\n"));
  EXPECT_THAT(after(1), EndsWith("retried in the next call\n"));
  EXPECT_THAT(after(1), HasSubstr("  2 calls ran the function: recording failed in that call\n"));
}

}  // namespace
}  // namespace shunt::test
