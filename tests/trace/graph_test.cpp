// Graph: looking at it, changing it, verifying it, and its passes.
#include <shunt/trace/trace.h>

#include "examples/tracing/double_by_adding.h"
#include "tests/support/error_of.h"

#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt {
namespace {

using examples::doubleByAdding;
using test::errorOf;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> namesOf(const Graph& g) {
  std::vector<std::string> out;
  for (const Graph::Node* node : g.nodes()) out.push_back(node->name());
  return out;
}

bool same(const Tensor& a, const Tensor& b) { return a.eq(b).all().item<bool>(); }

TEST(Graph, APassOfTwentyLines) {
  Graph g = trace([](const Tensor& x) { return (x * 2).exp() * 3; }, ones({2}));
  const Tensor x = randn({2}), before = g.run({x})[0];
  EXPECT_EQ(doubleByAdding(g), 1);
  EXPECT_EQ(g.print(), R"(graph(%0: float32[2]):
  %4: float32[2] = aten::add.Tensor(%0, %0, alpha=1)
  %2: float32[2] = aten::exp(%4)
  %3: float32[2] = aten::mul.Scalar(%2, 3)
  return %3
)");
  EXPECT_TRUE(same(g.run({x})[0], before));
}

TEST(Graph, PrintsListsOptionsAndNothing) {
  const Graph g = trace(
      [](const Tensor& x) {
        const std::vector<Tensor> parts = x.split(2);
        return cat({parts[1], parts[0]}).to(kDouble);
      },
      ones({4}));
  EXPECT_EQ(g.print(), R"(graph(%0: float32[4]):
  [%1: float32[2], %2: float32[2]] = aten::split.Tensor(%0, 2, 0)
  %3: float32[4] = aten::cat([%2, %1], 0)
  %4: float64[4] = aten::to.dtype(%3, float64, False, False, None)
  return %4
)");
}

TEST(Graph, UsersReplaceErase) {
  Graph g = trace([](const Tensor& x) { return x.exp() + x.neg(); }, ones({2}));
  Graph::Node *exp = g.nodes()[0], *neg = g.nodes()[1], *add = g.nodes()[2];
  EXPECT_THAT(g.users(g.inputs()[0]), ElementsAre(exp, neg));
  EXPECT_THAT(errorOf([&] { g.erase(neg); }),
              AllOf(HasSubstr("a result of aten::neg"), HasSubstr("used by aten::add.Tensor")));
  EXPECT_THAT(errorOf([&] { g.erase(add); }), HasSubstr("is an output"));
  g.replace(neg->result(), exp->result());
  g.erase(neg);
  EXPECT_THAT(namesOf(g), ElementsAre("aten::exp", "aten::add.Tensor"));
  g.verify();
  const Graph other = trace([](const Tensor& x) { return x.sum(); }, ones({2}));
  EXPECT_THAT(errorOf([&] { g.replace(exp->result(), other.nodes()[0]->result()); }),
              HasSubstr("is float32[2], but %1 is float32[]"));
  EXPECT_THAT(errorOf([&] { g.erase(other.nodes()[0]); }), HasSubstr("not one of this graph"));
}

TEST(Graph, CloneIsAnotherGraph) {
  Graph g = trace([](const Tensor& x) { return (x * 2).relu(); }, ones({2}));
  const std::string before = g.print();
  Graph copy = g.clone();
  EXPECT_EQ(copy.print(), before);
  doubleByAdding(copy);
  EXPECT_EQ(g.print(), before);
  EXPECT_NE(copy.print(), before);
}

TEST(Graph, InsertChecksLikeTheOperator) {
  Graph g = trace([](const Tensor& x) { return x.relu(); }, ones({2, 3}));
  Graph::Value* x = g.inputs()[0];
  EXPECT_THAT(errorOf([&] { g.insert(nullptr, "aten::mm", {x, x}); }), HasSubstr("2x3 and 2x3"));
  EXPECT_THAT(errorOf([&] { g.insert(nullptr, "aten::mm", {x}); }), HasSubstr("argument 'mat2' is missing"));
  EXPECT_THAT(errorOf([&] { g.insert(nullptr, "aten::nosuch", {x}); }), HasSubstr("nosuch"));
  EXPECT_EQ(g.nodes().size(), 1u);
  EXPECT_EQ(g.insert(nullptr, "aten::sum.dim_IntList", {x, std::vector<int64_t>{1}})->result()->spec.sizes,
            std::vector<int64_t>{2});
}

// ---- verify -------------------------------------------------------------------------------------------------------
TEST(Graph, VerifySaysWhatIsWrong) {
  const auto broken = [](auto&& change) {
    Graph g = trace([](const Tensor& x) { return x.exp().add(x); }, ones({2}));
    g.verify();
    change(g, *g.nodes()[0], *g.nodes()[1]);
    return errorOf([&] { g.verify(); });
  };
  using N = Graph::Node;
  EXPECT_THAT(broken([](Graph&, N& exp, N& add) { exp.arguments[0] = add.result(); }),
              AllOf(HasSubstr("node 0, aten::exp"), HasSubstr("'self'"), HasSubstr("earlier node")));
  EXPECT_THAT(broken([](Graph&, N&, N& add) { add.arguments.pop_back(); }), HasSubstr("expected 3 arguments, got 2"));
  EXPECT_THAT(
      broken([](Graph&, N&, N& add) { add.arguments[1] = Graph::Argument(IValue("text")); }),
      AllOf(HasSubstr("node 1, aten::add.Tensor"), HasSubstr("'other'"), HasSubstr("expected Tensor, got str")));
  EXPECT_THAT(broken([](Graph&, N& exp, N&) { exp.outputs.clear(); }), HasSubstr("expected 1 returns, got 0"));
  EXPECT_THAT(broken([](Graph&, N& exp, N&) { exp.result()->spec.sizes = {3}; }),
              AllOf(HasSubstr("%1 is recorded as float32[3]"), HasSubstr("gives float32[2]")));
  EXPECT_THAT(broken([](Graph&, N&, N& add) { add.result()->spec.dtype = kLong; }), HasSubstr("int64[2]"));
  EXPECT_THAT(broken([](Graph& g, N&, N&) { g.setOutputs({nullptr}); }), HasSubstr("output 0"));
}

TEST(Graph, RunChecksItsInputs) {
  const Graph g = trace([](const Tensor& x) { return x.exp(); }, ones({2}));
  EXPECT_THAT(errorOf([&] { g.run({}); }), HasSubstr("has 1 inputs, got 0"));
  EXPECT_THAT(errorOf([&] { g.run({ones({3})}); }), AllOf(HasSubstr("float32[2]"), HasSubstr("got float32[3]")));
  EXPECT_THAT(errorOf([&] { g.run({ones({2}, kLong)}); }), HasSubstr("got int64[2]"));
  EXPECT_THAT(errorOf([&] { g.run({Tensor()}); }), HasSubstr("input 0 is undefined"));
}

TEST(Graph, VerifyTakesAViewThatMayBeWritten) {
  const Tensor whole = randn({4, 4}).requires_grad_() * 1;
  const Graph g = trace([](const Tensor& x) { return Tensor(x).mul_(2) * 3; }, whole.slice(1, 0, 2));
  g.verify();
}

TEST(Graph, OfATransformedFunctionOfSeveralArguments) {
  const auto f = vmap([](const Tensor& a, const Tensor& b) { return a.dot(b); });
  const Tensor x = randn({3, 4}), y = randn({3, 4});
  EXPECT_TRUE(same(trace(f, std::tuple{x, y}).run({x, y})[0], f(x, y)));
  const auto g = grad([](const Tensor& a, const Tensor& b) { return a.dot(b); });
  EXPECT_TRUE(same(trace(g, std::tuple{x[0], y[0]}).run({x[0], y[0]})[0], y[0]));
}

TEST(Graph, RunTakesOtherLayoutsWhereNoOperatorIsForTheRecordedOne) {
  const Tensor rows = ones({3, 2}), columns = arange(6, kFloat).view({2, 3}).t();
  const auto f = [](const Tensor& x) { return x.reshape({-1}) + 0; };
  EXPECT_TRUE(same(trace(f, rows).run({columns})[0], f(columns)));
  const auto refused = [&](const Graph& g) { return errorOf([&] { g.run({columns}); }); };
  EXPECT_THAT(refused(trace(f, rows.detach().requires_grad_())),
              AllOf(HasSubstr("recorded with strides [2, 1] at offset 0"), HasSubstr("aten::_reshape_alias"),
                    HasSubstr("got strides [1, 3]")));
  const auto writes = [](const Tensor& x) {
    x.t().select(0, 1).add_(100);
    return x + 0;
  };
  EXPECT_THAT(refused(trace(writes, rows.clone()).functionalized()), HasSubstr("aten::as_strided_scatter"));
  EXPECT_EQ(refused(trace(writes, rows.clone())), "no error");
}

TEST(Graph, RunTakesOtherPlacesWhereOnlyALayoutIsRecorded) {
  const auto loss = [](const Tensor& x) { return (x.reshape({6}).sin() * arange(6, kFloat)).sum(); };
  const Tensor batch = randn({4, 2, 3}), bias = randn({3, 2}).t();
  const Graph g = trace(grad(loss), ones({2, 3}));
  EXPECT_TRUE(same(g.run({batch[1]})[0], grad(loss)(batch[1])));
  // What only adds to another tensor gives it no layout; what an operator computes of an input may lie as that one.
  const auto adds = [](const Tensor& w, const Tensor& b) {
    Tensor h = w * 2;
    h.add_(b);
    return h.reshape({6}).sin().sum();
  };
  const Graph added = trace(grad(adds), std::tuple{ones({2, 3}), ones({2, 3})});
  EXPECT_TRUE(same(added.run({batch[0], bias})[0], grad(adds)(batch[0], bias)));
  EXPECT_THAT(errorOf([&] { added.run({bias, batch[0]}); }), HasSubstr("input 0 was recorded with strides"));
}

TEST(Graph, RunGivesNoValuesOfOtherGraphs) {
  const Graph longer = trace([](const Tensor& x) { return x.exp().neg().sin(); }, ones({2}));
  Graph g = trace([](const Tensor& x) { return x.exp(); }, ones({2}));
  g.setOutputs({longer.outputs()[0]});
  EXPECT_THAT(errorOf([&] { g.run({ones({2})}); }), HasSubstr("output %3 is a value of another graph"));
}

// ---- passes -------------------------------------------------------------------------------------------------------
TEST(Graph, DeadCodeGoesButNotWritesNorRandomNumbers) {
  const Tensor w = ones({2});
  Graph g = trace(
      [&](const Tensor& x) {
        (x.exp() + w).neg();
        rand({2});
        x.add_(1);
        return x.relu();
      },
      ones({2}));
  EXPECT_EQ(g.eliminate_dead_code(), 3);
  EXPECT_THAT(namesOf(g), ElementsAre("aten::rand", "aten::add_.Scalar", "aten::relu"));
  EXPECT_TRUE(g.constants().empty());
  g.verify();
}

// Of which its schema says nothing.
TEST(Graph, BatchNormInTrainingWritesItsStatistics) {
  const Tensor mean = zeros({2}), var = ones({2});
  const auto norm = [&](const Tensor& x, bool training, bool has_statistics) {
    const auto given = [&](const Tensor& t) { return has_statistics ? std::optional<Tensor>(t) : std::nullopt; };
    return batch_norm(x, {}, {}, given(mean), given(var), training, 0.1, 1e-5, false);
  };
  const auto goneOf = [&](bool training, bool has_statistics) {
    const auto twice = [&](const Tensor& x) {
      const Tensor before = mean + 1;
      const Tensor sum = norm(x, training, has_statistics) + norm(x, training, has_statistics);
      return sum + before + (mean + 1);
    };
    const auto unused = [&](const Tensor& x) {
      norm(x, training, has_statistics);
      return x * 2;
    };
    return std::pair{trace(unused, ones({3, 2})).eliminate_dead_code(),
                     trace(twice, ones({3, 2})).common_subexpressions()};
  };
  for (const bool grad : {false, true}) {
    const AutoGradMode mode(grad);
    EXPECT_EQ(goneOf(true, true), (std::pair<int64_t, int64_t>{0, 0}));
    EXPECT_EQ(goneOf(true, false), (std::pair<int64_t, int64_t>{1, 2}));
    EXPECT_EQ(goneOf(false, true), (std::pair<int64_t, int64_t>{1, 2}));
  }
}

TEST(Graph, CommonSubexpressionsAreComputedOnce) {
  Graph g = trace([](const Tensor& x) { return x.exp() * 2.0 + x.exp() * 2.0 + x.exp() * 0.5; }, ones({2}));
  const Tensor x = randn({2}), before = g.run({x})[0];
  EXPECT_EQ(g.common_subexpressions(), 3);
  g.verify();
  EXPECT_TRUE(same(g.run({x})[0], before));
}

TEST(Graph, WhatWasWrittenMeanwhileIsNoCommonSubexpression) {
  const auto goneOf = [](auto f) { return trace(f, ones({2})).common_subexpressions(); };
  EXPECT_EQ(goneOf([](const Tensor& x) {
              const Tensor a = x.exp();
              x.add_(1);
              return a + x.exp();
            }),
            0);
  EXPECT_EQ(goneOf([](const Tensor& x) { return rand_like(x) + rand_like(x); }), 0);
  EXPECT_EQ(goneOf([](const Tensor& x) { return std::pair{x.exp(), x.exp()}; }), 0);
  EXPECT_EQ(goneOf([](const Tensor& x) {
              const Tensor a = x.exp(), b = x.exp();
              b.view({2}).add_(1);
              return a + b;
            }),
            0);
  EXPECT_EQ(goneOf([](const Tensor& x) { return x.mul(0.0) + x.mul(-0.0); }), 0);
}

TEST(Graph, DecomposeLeavesNoComposite) {
  const Tensor w = randn({3, 2});
  const auto f = [&](const Tensor& x) {
    const AutocastGuard autocast(kCPU);
    return linear(x, w).flatten();
  };
  const Tensor x = randn({4, 2});
  const Graph whole = trace(f, x);
  EXPECT_THAT(namesOf(whole), ElementsAre("aten::linear", "aten::flatten.using_ints"));
  const Graph parts = whole.decompose();
  parts.verify();
  for (const Graph::Node* node : parts.nodes()) {
    EXPECT_FALSE(node->is("aten::linear") || node->is("aten::flatten.using_ints")) << parts.print();
  }
  EXPECT_TRUE(same(parts.run({x})[0], whole.run({x})[0])) << parts.print();
  const Graph kept =
      whole.decompose([](const OperatorHandle& op) { return op.operator_name().name == "aten::linear"; });
  EXPECT_EQ(kept.nodes()[0]->name(), "aten::linear");
}

}  // namespace
}  // namespace shunt
