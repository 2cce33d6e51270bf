// Batching rules of a program's operators: results are those of a loop over the samples to the bit, the rule runs once
// for the batch, in all nestings, and is gone with its registration.
#include "tests/vmap/scan_operator.h"

#include <shunt/compile/compile.h>
#include <shunt/trace/trace.h>

namespace shunt::test {
namespace {

using Dims = std::vector<std::optional<int64_t>>;

class BatchingRules : public ScanOperator {
 protected:
  /// vmap of the operator on these arguments, against the loop: one call of the rule, and one of the kernel by it.
  void checkOnce(const Tensor& x, const Tensor& w, const Dims& dims) {
    const Tensors expected = loop(scan_, {x, w}, dims);
    const uint64_t fallbacks = vmap_counters().fallbacks, rules = vmap_counters().rules;
    rule_calls = kernel_calls = 0;
    const Tensors got = vmapped(scan_, {x, w}, dims);
    EXPECT_TRUE(sameValues(got[0], expected[0])) << x.sizes() << w.sizes();
    EXPECT_EQ(rule_calls, 1) << x.sizes() << w.sizes();
    EXPECT_EQ(kernel_calls, 1) << x.sizes() << w.sizes();
    EXPECT_EQ(vmap_counters().fallbacks, fallbacks);
    EXPECT_GT(vmap_counters().rules, rules);
  }
  const Function scan_ = [this](const Tensors& t) { return Tensors{scan(t[0], t[1])}; };
};

TEST_F(BatchingRules, RunOnceForTheBatchWhereverItIs) {
  const Library rule = register_vmap("batching_test::scan", &scanRule);
  checkOnce(randn({5, 3}), randn({5, 3}), {0, 0});
  checkOnce(randn({3, 5}), randn({5, 3}), {1, 0});
  checkOnce(randn({5, 3}), randn({3, 5}), {0, -1});
  checkOnce(randn({5, 3}), randn({3}), {0, std::nullopt});
  checkOnce(randn({3}), randn({3, 5}), {std::nullopt, 1});
  checkOnce(randn({1, 3}), randn({1, 3}), {0, 0});
  checkOnce(randn({5, 2, 3}), randn({5, 3}), {0, 0});
  checkOnce(randn({2, 3, 5}), randn({3, 5}), {2, 1});
  rule_calls = 0;
  EXPECT_EQ(vmapped(scan_, {randn({0, 3}), randn({3})}, {0, std::nullopt})[0].sizes(), IntArrayRef({0, 3}));
  EXPECT_EQ(rule_calls, 1) << "no samples";
}

TEST_F(BatchingRules, AreNotCalledForWhatHasNoBatch) {
  const Library rule = register_vmap("batching_test::scan", &scanRule);
  const Tensor x = randn({5, 3}), shared = randn({3});
  rule_calls = 0;
  const Tensor got = vmap([&](const Tensor& t) { return t + scan(shared, shared); })(x);
  EXPECT_TRUE(sameValues(got, x + scan(shared, shared)));
  EXPECT_TRUE(sameValues(grad([&](const Tensor& t) { return scan(t, shared).sum(); })(shared),
                         plainGrad([&](const Tensor& t) { return scan(t, shared).sum(); }, shared)));
  EXPECT_EQ(rule_calls, 0);
}

TEST_F(BatchingRules, ServeEachLevelOfNestedVmaps) {
  const Library rule = register_vmap("batching_test::scan", &scanRule);
  const Tensor x = randn({4, 5, 3}), w = randn({5, 3}), v = randn({4, 3});
  const auto inner = vmap([this](const Tensor& a, const Tensor& b) { return scan(a, b); });
  const auto shared =
      vmap([this](const Tensor& a, const Tensor& b) { return scan(a, b); }, {.in_dims = {0, std::nullopt}});
  std::vector<Tensor> both, outer;
  for (int64_t i = 0; i < 4; ++i) {
    std::vector<Tensor> row, other;
    for (int64_t j = 0; j < 5; ++j) {
      row.push_back(scan(x[i][j], w[j]));
      other.push_back(scan(x[i][j], v[i]));
    }
    both.push_back(stack(row));
    outer.push_back(stack(other));
  }
  rule_calls = kernel_calls = 0;
  EXPECT_TRUE(sameValues(vmap(inner, {.in_dims = {0, std::nullopt}})(x, w), stack(both)));
  EXPECT_EQ(rule_calls, 2) << "one a level";
  EXPECT_EQ(kernel_calls, 1);
  rule_calls = 0;
  EXPECT_TRUE(sameValues(vmap(shared)(x, v), stack(outer)));
  EXPECT_EQ(rule_calls, 2);
  const auto not_outer = [&](const Tensor& t) { return vmap([&](const Tensor& b) { return scan(v[0], b); })(w) + t; };
  rule_calls = 0;
  EXPECT_TRUE(sameValues(vmap(not_outer)(x), x + vmap([&](const Tensor& b) { return scan(v[0], b); })(w)));
  EXPECT_EQ(rule_calls, 2) << "one in each of the two expressions";
}

// Whole numbers, whose sums are exact in every order.
TEST_F(BatchingRules, HaveGradients) {
  const Library rule = register_vmap("batching_test::scan", &scanRule);
  const Tensor x = wholeNumbers({5, 3}), w = wholeNumbers({5, 3}), shared = wholeNumbers({3});
  const auto loss = [this](const Tensor& a, const Tensor& b) { return (scan(a, b) * a).sum(); };

  std::vector<Tensor> of_samples, of_shared;
  Tensor total = zeros_like(shared);
  for (int64_t i = 0; i < 5; ++i) {
    of_samples.push_back(plainGrad([&](const Tensor& a) { return loss(a, w[i]); }, x[i]));
    total = total + plainGrad([&](const Tensor& b) { return loss(x[i], b); }, shared);
  }
  rule_calls = kernel_calls = 0;
  EXPECT_TRUE(sameValues(vmap(grad(loss))(x, w), stack(of_samples)));
  EXPECT_EQ(rule_calls, 1) << "the rule's operator is the one outside of grad's level";
  EXPECT_EQ(kernel_calls, 1);

  const auto whole = [&](const Tensor& b) { return vmap(loss, {.in_dims = {0, std::nullopt}})(x, b).sum(); };
  rule_calls = 0;
  EXPECT_TRUE(sameValues(grad(whole)(shared), total));
  EXPECT_EQ(rule_calls, 1);
  EXPECT_TRUE(sameValues(plainGrad(whole, shared), total)) << "by tensors that require grad, outside of all levels";

  // The gradient's gradient.
  const auto second = [&](const Tensor& a, const Tensor& b) {
    return grad([&](const Tensor& t) { return grad(loss)(t, b).square().sum(); })(a);
  };
  std::vector<Tensor> seconds;
  for (int64_t i = 0; i < 5; ++i) seconds.push_back(second(x[i], w[i]));
  rule_calls = 0;
  EXPECT_TRUE(sameValues(vmap(second)(x, w), stack(seconds)));
  EXPECT_EQ(rule_calls, 1);
}

TEST_F(BatchingRules, ServeChunksAndPlacesOfResults) {
  const Library rule = register_vmap("batching_test::scan", &scanRule);
  const Tensor x = randn({5, 3}), w = randn({5, 3});
  const Tensor expected = loop(scan_, {x, w}, {0, 0})[0];
  rule_calls = 0;
  EXPECT_TRUE(sameValues(vmapped(scan_, {x, w}, {0, 0}, {.out_dims = {1}, .chunk_size = 2})[0], expected.t()));
  EXPECT_EQ(rule_calls, 3);
}

TEST_F(BatchingRules, GoIntoGraphs) {
  const Library rule = register_vmap("batching_test::scan", &scanRule);
  const Tensor x = randn({5, 3}), w = randn({5, 3});
  const Graph graph = trace([&](const Tensors& t) { return vmapped(scan_, t, {0, 0}); }, Tensors{x, w});
  int64_t calls = 0;
  for (const Graph::Node* node : graph.nodes()) calls += node->is("batching_test::scan") ? 1 : 0;
  EXPECT_EQ(calls, 1) << graph.print();
  const Tensor y = randn({5, 3});
  EXPECT_TRUE(sameValues(graph.run({y, w})[0], loop(scan_, {y, w}, {0, 0})[0]));
}

// The rule is of what compiled code relies on: registering one, and taking it back, puts that out of use.
TEST_F(BatchingRules, ArePartOfWhatIsCompiled) {
  const auto f = vmap([this](const Tensor& a, const Tensor& b) { return scan(a * 2, b) + 1; });
  auto fast = compile(f, {.record_after = 2});
  const Tensor x = randn({5, 3}), w = randn({5, 3}), expected = f(x, w);
  constexpr int kCalls = 12;
  const auto check = [&] {
    for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(sameValues(fast(x, w), expected));
  };
  check();
  {
    const Library rule = register_vmap("batching_test::scan", &scanRule);
    rule_calls = 0;
    check();
    EXPECT_GE(rule_calls, 1);
    EXPECT_LT(rule_calls, kCalls) << "the graph has what the rule called, not the rule: " << fast.explain();
    EXPECT_GT(fast.counts().hits, 0u) << fast.explain();
  }
  const uint64_t invalidated = fast.counts().invalidated;
  EXPECT_GE(invalidated, 1u);
  rule_calls = 0;
  check();
  EXPECT_EQ(rule_calls, 0);
}

TEST_F(BatchingRules, CompileWithGradients) {
  const Library rule = register_vmap("batching_test::scan", &scanRule);
  const auto loss = [this](const Tensor& a, const Tensor& b) { return (scan(a, b) * a).sum(); };
  auto fast = compile(vmap(grad(loss)), {.record_after = 2});
  const Tensor x = wholeNumbers({5, 3}), w = wholeNumbers({5, 3}), expected = vmap(grad(loss))(x, w);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(sameValues(fast(x, w), expected)) << i << fast.explain();
  EXPECT_GT(fast.counts().hits, 0u) << fast.explain();
}

TEST_F(BatchingRules, AreInForceAsLongAsTheyAreRegistered) {
  const Tensor x = randn({5, 3}), w = randn({5, 3}), expected = loop(scan_, {x, w}, {0, 0})[0];
  const std::string before = op_.dumpState(), table = op_.dumpComputedTable();
  const auto run = [&] { return vmapped(scan_, {x, w}, {0, 0})[0]; };
  {
    const Library first = register_vmap("batching_test::scan", &scanRule);
    EXPECT_NE(op_.dumpState(), before);
    {
      const Library newer =
          register_vmap("batching_test::scan", [](const Batched& a, const Batched&, double) { return a; });
      rule_calls = 0;
      EXPECT_TRUE(sameValues(run(), x)) << "the newer one is on top";
      EXPECT_EQ(rule_calls, 0);
    }
    EXPECT_TRUE(sameValues(run(), expected));
    EXPECT_EQ(rule_calls, 1);
  }
  EXPECT_EQ(op_.dumpState(), before);
  const uint64_t fallbacks = vmap_counters().fallbacks;
  EXPECT_TRUE(sameValues(run(), expected));
  EXPECT_EQ(vmap_counters().fallbacks, fallbacks + 1);
  op_.checkInvariants();
}

TEST_F(BatchingRules, AreRegisteredInBlocks) {
  {
    Library block(Library::Kind::kFragment, "batching_test");
    register_vmap(block, "batching_test::scan", &scanRule);
    checkOnce(randn({5, 3}), randn({5, 3}), {0, 0});
  }
  Library for_key(Library::Kind::kImpl, "batching_test", DispatchKey::Batched);
  register_vmap(for_key, "batching_test::scan", &scanRule);
  checkOnce(randn({5, 3}), randn({5, 3}), {0, 0});
}

// In eager mode an operator of the library may have one as well.
TEST_F(BatchingRules, StandInForTheLibrarysRules) {
  const Tensor x = randn({5, 3, 4}), y = randn({5, 4, 2}), expected = vmap(&mm)(x, y);
  int calls = 0;
  {
    const Library rule = register_vmap("aten::mm", [&](const Batched& a, const Batched& b) {
      ++calls;
      return Batched{bmm(a.in_front(), b.in_front()) * 2, 0};
    });
    EXPECT_TRUE(sameValues(vmap(&mm)(x, y), expected * 2));
    EXPECT_EQ(calls, 1);
  }
  EXPECT_TRUE(sameValues(vmap(&mm)(x, y), expected));
  EXPECT_EQ(calls, 1);
}

TEST_F(BatchingRules, WouldHelpTheLogSaysOnceWhereThereIsNone) {
  static std::vector<std::string> texts;
  texts.clear();
  const LogSink before = set_log_sink([](LogLevel, const char* text) {
    if (std::string_view(text).starts_with("vmap: operator batching_test::warned")) texts.emplace_back(text);
  });
  lib_.def("warned(Tensor x) -> Tensor");
  lib_.impl("warned", DispatchKey::CPU, [](const Tensor& x) { return x.cumsum(0); });
  const auto warned =
      Dispatcher::singleton().findSchemaOrThrow("batching_test::warned", "").typed<Tensor(const Tensor&)>();
  const auto run = [&] { return vmap([&](const Tensor& x) { return warned.call(x); })(ones({2, 3})); };
  {
    const Library rule =
        register_vmap("batching_test::warned", [](const Batched& x) { return Batched{x.in_front().cumsum(1), 0}; });
    run();
    EXPECT_TRUE(texts.empty()) << texts[0];
  }
  for (int i = 0; i < 3; ++i) run();
  set_log_sink(before);
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0],
            "vmap: operator batching_test::warned has no rule, so it is called once for each sample, which is slow; "
            "shunt::register_vmap gives it one (docs/batching_rules.md)");
}

}  // namespace
}  // namespace shunt::test
