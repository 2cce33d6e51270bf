// What a compiled function tells of itself: explain(), plan() and its row in jit::stats().
#include "tests/compile/plan_parts.h"
#include "tests/compile/same.h"

#include <shunt/jit/jit.h>

#include <shunt/core/library.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace shunt::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<jit::CompiledStats> rowsOf(const std::string& name) {
  std::vector<jit::CompiledStats> out = jit::stats().compiled_functions;
  std::erase_if(out, [&](const jit::CompiledStats& row) { return row.name != name; });
  return out;
}

TEST(CompileLook, PlanSaysWhatIsMovedAndMultiplied) {
  const Tensor w = numbers({6, 5}), b = numbers({5});
  auto fast = compile([&](const Tensor& x) { return addmm(b, x, w).relu() * 2; });
  for (int i = 0; i < 3; ++i) fast(numbers({4, 6}));
  // 5 + 24 + 30 + 20 floats, and 2 * 4 * 6 * 5 operations; the region reads and writes 20 floats each.
  const PlanPart product = partsOf(fast).at(0);
  EXPECT_EQ(product.text(), "call aten::addmm, prepared, without a tensor: 316 bytes, 240 flops\n");
  EXPECT_EQ(product.call, PlanCall::kPreparedWithoutTensor);
  EXPECT_EQ(product.bytes, 316);
  EXPECT_EQ(product.flops, 240);
  EXPECT_THAT(fast.plan(),
              EndsWith("in all 1 regions, 1 calls; 476 bytes, 240 flops\n1 results without tensors, in 128 bytes\n"));
}

TEST(CompileLook, FlopsOfAllProducts) {
  const auto partOf = [](const auto& f, const auto&... args) {
    auto fast = compile(f);
    for (int i = 0; i < 3; ++i) fast(args...);
    return partsOf(fast).back();
  };
  const Tensor a = numbers({4, 6}), b = numbers({6, 5}), v = numbers({6}), batch = numbers({2, 4, 6});
  EXPECT_EQ(partOf([](const Tensor& x, const Tensor& y) { return x.mm(y); }, a, b).flops, 240);
  EXPECT_EQ(partOf([](const Tensor& x, const Tensor& y) { return x.mv(y); }, a, v).flops, 48);
  EXPECT_EQ(partOf([](const Tensor& x) { return x.dot(x); }, v).flops, 12);
  EXPECT_EQ(partOf([](const Tensor& x) { return x.bmm(x.transpose(1, 2)); }, batch).flops, 384);
  const PlanPart view = partOf([](const Tensor& x) { return x.t(); }, a);
  EXPECT_EQ(view.bytes, 0) << view.text();
  EXPECT_EQ(partOf([](const Tensor& x) { return x.expand({100, 6}).clone(); }, v).bytes, 2424)
      << "what is expanded is there once";
  // 2 * 3 * 5 * 5 results of 2 * 3 * 3 terms
  const auto convolved = [](const Tensor& x, const Tensor& w) { return conv2d(x, w); };
  EXPECT_EQ(partOf(convolved, numbers({2, 2, 7, 7}), numbers({3, 2, 3, 3})).flops, 5400);
}

// Until the next call, which notices it.
TEST(CompileLook, ExplainSeesARegistrationBeforeTheNextCall) {
  auto fast =
      compile([](const Tensor& x) { return relu(x); }, {.max_variants = 1, .max_sizes = 1, .name = "rectifier"});
  const Tensor x = ones({3});
  for (int i = 0; i < 3; ++i) fast(x);
  Library library(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  library.impl("relu", +[](const Tensor& self) { return self.clamp(0, 16); });
  EXPECT_THAT(fast.explain(x),
              AllOf(StartsWith("rectifier: runs the function"), HasSubstr("registered in another way")));
  for (int i = 0; i < 2; ++i) fast(x);
  EXPECT_THAT(fast.explain(x), StartsWith("rectifier: runs the graph"));
}

TEST(CompileLook, ExplainSaysWhatACallWouldRun) {
  auto fast = compile([](const Tensor& x) { return x + 1; }, {.max_variants = 2, .max_sizes = 1, .name = "adder"});
  const Tensor x = ones({3});
  EXPECT_EQ(
      fast.explain(x),
      "adder: runs the function: 0 calls with such arguments found no graph; 1 more run the function, then one is "
      "recorded (CompileOptions::record_after)\n");
  fast(x);
  EXPECT_THAT(fast.explain(x), HasSubstr("1 call with such arguments found no graph; the next one is recorded"));
  fast(x);
  EXPECT_THAT(fast.explain(x), StartsWith("adder: runs the graph recorded for Float[3]"));
  EXPECT_THAT(fast.explain(ones({4})),
              AllOf(HasSubstr("there are graphs for 1 size of this kind, the maximum (CompileOptions::max_sizes)"),
                    HasSubstr("not the one recorded for Float[3]"),
                    HasSubstr("it differs in tensor 0 of the arguments: sizes")));
  const Tensor y = ones({3}, kDouble);
  for (int i = 0; i < 2; ++i) fast(y);
  EXPECT_THAT(fast.explain(ones({3}, kLong)),
              HasSubstr("there are graphs for 2 kinds of arguments, the maximum (CompileOptions::max_variants)"));
  {
    const InferenceMode inference;
    EXPECT_THAT(fast.explain(x), HasSubstr("it differs in grad mode, inference mode or autocast"));
  }
  const auto explains = [&](const std::vector<Tensor>& t) {
    EXPECT_THAT(fast.explain(t[0]), HasSubstr("it was called in a trace"));
    return t;
  };
  EXPECT_EQ(trace(explains, std::vector<Tensor>{x}).nodes().size(), 0u) << "makes no call";
  EXPECT_EQ(fast.counts().hits + fast.counts().eager, 4u);
}

TEST(CompileLook, StatisticsHaveARowForEachFunction) {
  {
    auto fast = compile([](const Tensor& x) { return x * 3; }, {.name = "tripling"});
    EXPECT_TRUE(rowsOf("tripling").empty()) << "never called";
    for (int i = 0; i < 5; ++i) fast(ones({2}));
    for (int i = 0; i < 5; ++i) fast(ones({3}));
    const auto rows = rowsOf("tripling");
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].functions, 1u);
    EXPECT_EQ(rows[0].living, 1u);
    EXPECT_EQ(rows[0].graph_calls, 8u);
    EXPECT_EQ(rows[0].function_calls, 2u);
    EXPECT_EQ(rows[0].recorded, 2u);
    EXPECT_EQ(rows[0].variants, 2u);
    EXPECT_GT(rows[0].record_ms, 0);
    EXPECT_EQ(fast.counts().record_ms, rows[0].record_ms);
    EXPECT_THAT(jit::statsTable(),
                AllOf(HasSubstr("compiled functions\n"),
                      HasSubstr("  tripling: 8 calls ran a graph, 2 the function; recorded 2 times in ")));
    auto other = compile([](const Tensor& x) { return x * 3; }, {.name = "tripling"});
    other(ones({2}));
    EXPECT_EQ(rowsOf("tripling").size(), 2u);
  }
  const auto rows = rowsOf("tripling");
  ASSERT_EQ(rows.size(), 1u) << "those that are gone are one";
  EXPECT_EQ(rows[0].functions, 2u);
  EXPECT_EQ(rows[0].living, 0u);
  EXPECT_EQ(rows[0].graph_calls + rows[0].function_calls, 11u);
  EXPECT_THAT(jit::statsTable(), HasSubstr("tripling (2 functions, 0 living): 8 calls"));
  const auto read = jit::statsFromJson(jit::statsJson()).compiled_functions;
  const auto its = std::ranges::find(read, "tripling", &jit::CompiledStats::name);
  ASSERT_NE(its, read.end());
  EXPECT_EQ(its->functions, 2u);
  EXPECT_EQ(its->function_calls, 3u);
  EXPECT_EQ(its->record_ms, rows[0].record_ms);
}

}  // namespace
}  // namespace shunt::test
