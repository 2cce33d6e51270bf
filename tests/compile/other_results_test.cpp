// Kernels of the program that give other results than were recorded: the function runs in place of the graph, with one
// warning, or an error where the graph has written. Note [Recorded results] (src/trace/recorded_results.h).
#include "tests/compile/registering.h"
#include "tests/compile/same.h"
#include "tests/compile/warnings.h"
#include "tests/support/error_of.h"

#include <shunt/compile/host_plan.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace shunt::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kAgree =
    " was recorded. Its kernel for CPU and its Meta kernel have to give the same dtypes, sizes and strides";
const std::string kNow = ". This call and later ones with such arguments run the function";

/// The operator other::op of the program. One at a time.
template <class Signature>
class Op {
 public:
  template <class Cpu, class Meta>
  Op(const char* schema, Cpu cpu, Meta meta) : library_(Library::Kind::kDef, "other") {
    library_.def(schema);
    library_.impl("op", DispatchKey::CPU, cpu);
    library_.impl("op", DispatchKey::Meta, meta);
  }
  template <class... Args>
  decltype(auto) operator()(Args&&... args) const {
    return Dispatcher::singleton().findSchemaOrThrow("other::op").typed<Signature>().call(std::forward<Args>(args)...);
  }
  Library& library() { return library_; }

 private:
  Library library_;
};

using Unary = Op<Tensor(const Tensor&)>;
constexpr const char* kUnary = "op(Tensor x) -> Tensor";
Tensor emptyLike(const Tensor& x) { return empty(x.sizes(), x.options()); }
Tensor columnMajor(const Tensor& x) { return x.t().contiguous().t(); }

CompileOptions options(CompileCheck check = CompileCheck::kFirst) {
  return {.check = check, .record_after = 1, .name = "f"};
}

/// All calls give what the function does. There is one warning and one recording. `why`: the operator's text.
template <class F>
void functionRuns(const F& f, const Tensor& x, const std::string& why) {
  for (const CompileCheck check : {CompileCheck::kFirst, CompileCheck::kNever, CompileCheck::kAlways}) {
    const Warnings warnings;
    const auto fast = compile(f, options(check));
    for (int call = 0; call < 5; ++call) EXPECT_TRUE(same(f(x), fast(x))) << call << fast.explain();
    EXPECT_THAT(warnings.all(), ElementsAre("f: " + why + kNow));
    EXPECT_THAT(fast.explain(), HasSubstr("variant 0 (out of use) "));
    EXPECT_THAT(fast.explain(), HasSubstr("  out of use for good: " + why + '\n'));
    EXPECT_THAT(fast.explain(), HasSubstr("  3 calls ran the function: an operator has given other results than were "
                                          "recorded for such arguments\n"));
    EXPECT_THAT(fast.explain(x),
                HasSubstr("f: runs the function: an operator has given other results than were recorded for such "
                          "arguments"));
    EXPECT_EQ(fast.counts().recorded, 1u);
    EXPECT_EQ(fast.counts().variants, 0u);
  }
}

/// The same, and graphs run, without a warning.
template <class F>
void graphRuns(const F& f, const Tensor& x) {
  const Warnings warnings;
  const auto fast = compile(f, options());
  for (int call = 0; call < 5; ++call) EXPECT_TRUE(same(f(x), fast(x))) << call << fast.explain();
  EXPECT_THAT(warnings.all(), IsEmpty());
  EXPECT_EQ(fast.counts().hits, 4u) << fast.explain();
}

// ---- what a result is ---------------------------------------------------------------------------------------------
TEST(OtherResults, Strides) {
  const Unary op(kUnary, [](const Tensor& x) { return x * 2; }, &emptyLike);
  const std::string why =
      "operator other::op gives float32[3, 2] with strides [1, 3], and float32[3, 2] with strides [2, 1]" + kAgree;
  functionRuns([&](const Tensor& x) { return op(x.t()).flatten(); }, numbers({2, 3}), why);
  graphRuns([&](const Tensor& x) { return op(x).flatten(); }, numbers({2, 3}));
}

TEST(OtherResults, StridesOfAnOverriddenBuiltIn) {
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("relu", [](const Tensor& x) { return columnMajor(x).clamp_min(0); });
  functionRuns(
      [](const Tensor& x) { return relu(x).flatten(); }, numbers({2, 3}),
      "operator aten::relu gives float32[2, 3] with strides [1, 2], and float32[2, 3] with strides [3, 1]" + kAgree);
}

TEST(OtherResults, AMetaKernelThatDiffersFromTheLibrarysKernel) {
  Library m(Library::Kind::kImpl, "aten", DispatchKey::Meta);
  m.impl("relu", [](const Tensor& x) { return x.t().clone(MemoryFormat::Contiguous).t(); });
  functionRuns(
      [](const Tensor& x) { return relu(x).flatten(); }, numbers({2, 3}),
      "operator aten::relu gives float32[2, 3] with strides [3, 1], and float32[2, 3] with strides [1, 2]" + kAgree);
}

// The library's operator is recorded as one, and calls the program's kernel.
TEST(OtherResults, OfAKernelInsideOfAnOperator) {
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("native_layer_norm",
         [](const Tensor& x, IntArrayRef, const std::optional<Tensor>&, const std::optional<Tensor>&, double) {
           return std::tuple(columnMajor(x), x.sum(1, true), x.sum(1, true));
         });
  functionRuns([](const Tensor& x) { return layer_norm(x, {3}).flatten(); }, numbers({2, 3}),
               "operator aten::layer_norm gives float32[2, 3] with strides [1, 2], and float32[2, 3] with strides "
               "[3, 1]" +
                   kAgree);
}

TEST(OtherResults, MoreElements) {
  const Unary op(kUnary, [](const Tensor& x) { return cat({x, x}); }, &emptyLike);
  const std::string why =
      "operator other::op gives float32[6] with strides [1], and float32[3] with strides [1]" + kAgree;
  functionRuns([&](const Tensor& x) { return op(x).reshape({1, -1}).sum(); }, numbers({3}), why);
  functionRuns(
      [&](const Tensor& x) {
        const Tensor y = op(x);
        return y.sum() / static_cast<double>(y.numel());
      },
      numbers({3}), why);
  // Nothing reads the elements.
  functionRuns([&](const Tensor& x) { return x * static_cast<double>(op(x).numel()); }, numbers({3}), why);
}

TEST(OtherResults, SizesOfAnOverriddenBuiltInWhoseElementsNobodyReads) {
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("relu", [](const Tensor& x) { return cat({x, x}); });
  functionRuns([](const Tensor& x) { return x * static_cast<double>(relu(x).numel()); }, numbers({3}),
               "operator aten::relu gives float32[6] with strides [1], and float32[3] with strides [1]" + kAgree);
}

TEST(OtherResults, FewerElements) {
  const Unary op(kUnary, [](const Tensor& x) { return x.narrow(0, 0, 1).clone(); }, &emptyLike);
  functionRuns(
      [&](const Tensor& x) { return op(x).flatten() * 2; }, numbers({2, 3}),
      "operator other::op gives float32[1, 3] with strides [3, 1], and float32[2, 3] with strides [3, 1]" + kAgree);
}

TEST(OtherResults, Dtypes) {
  const Unary op(kUnary, [](const Tensor& x) { return x.to(kDouble); }, &emptyLike);
  const std::string why =
      "operator other::op gives float64[3] with strides [1], and float32[3] with strides [1]" + kAgree;
  functionRuns([&](const Tensor& x) { return op(x).to(kFloat) * 2; }, numbers({3}), why);
  functionRuns([&](const Tensor& x) { return (op(x) * 2 + 1).exp(); }, numbers({3}), why);
}

TEST(OtherResults, Lists) {
  const Op<std::vector<Tensor>(const Tensor&)> op(
      "op(Tensor x) -> Tensor[]",
      [](const Tensor& x) {
        return x.dim() == 1 ? std::vector{x + 1, x + 2, x + 3} : std::vector{x + 1, columnMajor(x)};
      },
      [](const Tensor& x) { return std::vector{empty_like(x), empty_like(x)}; });
  functionRuns([&](const Tensor& x) { return op(x).back() * 2; }, numbers({3}),
               "operator other::op gives a list of 3 tensors, and a list of 2 tensors" + kAgree);
  functionRuns([&](const Tensor& x) { return op(x)[1].flatten(); }, numbers({2, 3}),
               "operator other::op gives float32[2, 3] with strides [1, 2] as element 1 of its result, and "
               "float32[2, 3] with strides [3, 1]" +
                   kAgree);
}

using Pair = std::tuple<Tensor, Tensor>;

TEST(OtherResults, SeveralAndUndefinedOnes) {
  const Op<Pair(const Tensor&)> op(
      "op(Tensor x) -> (Tensor, Tensor)",
      [](const Tensor& x) { return Pair(x + 1, x.dim() == 1 ? Tensor() : columnMajor(x)); },
      [](const Tensor& x) { return Pair(empty_like(x), empty_like(x)); });
  functionRuns([&](const Tensor& x) { return std::get<1>(op(x)).flatten(); }, numbers({2, 3}),
               "operator other::op gives float32[2, 3] with strides [1, 2] as result 1, and float32[2, 3] with strides "
               "[3, 1]" +
                   kAgree);
  functionRuns(
      [&](const Tensor& x) {
        const auto [a, b] = op(x);
        return b.defined() ? a + b : a * 3;
      },
      numbers({3}),
      "operator other::op gives an undefined tensor as result 1, and float32[3] with strides [1]" + kAgree);
}

TEST(OtherResults, DefinedWhereNoneWasRecorded) {
  const Op<Pair(const Tensor&)> op(
      "op(Tensor x) -> (Tensor, Tensor)", [](const Tensor& x) { return Pair(x + 1, x + 2); },
      [](const Tensor& x) { return Pair(empty_like(x), Tensor()); });
  functionRuns(
      [&](const Tensor& x) {
        const auto [a, b] = op(x);
        return b.defined() ? a + b : a * 3;
      },
      numbers({3}),
      "operator other::op gives float32[3] with strides [1] as result 1, and an undefined tensor" + kAgree);
}

// The graph has places in a storage only where something is for these.
TEST(OtherResults, Offsets) {
  const Unary op(kUnary, [](const Tensor& x) { return cat({x, x}).narrow(0, 1, 3); }, &emptyLike);
  graphRuns([&](const Tensor& x) { return op(x) * 2; }, numbers({3}));
  functionRuns([&](const Tensor& x) { return op(x).as_strided({2}, {1}, 0); }, numbers({3}),
               "operator other::op gives float32[3] with strides [1] at offset 1, and float32[3] with strides [1] at "
               "offset 0" +
                   kAgree);
}

TEST(OtherResults, WhetherTheyRequireGrad) {
  Unary op(kUnary, [](const Tensor& x) { return x * 2; }, &emptyLike);
  op.library().impl("op", DispatchKey::Autograd, [&](const Tensor& x) {
    Tensor y = [&] {
      const AutoDispatchBelowAutograd below;
      return op(x);
    }();
    if (!is_fake(x)) y.requires_grad_();
    return y;
  });
  const Tensor w = numbers({3}).requires_grad_();
  functionRuns([&](const Tensor& x) { return op(w * x); }, numbers({3}),
               "operator other::op gives float32[3] with strides [1] that requires grad, and float32[3] with strides "
               "[1] that requires no grad" +
                   kAgree);
}

// ---- what a result shares -----------------------------------------------------------------------------------------
TEST(OtherResults, AMetaKernelThatReturnsItsArgument) {
  const std::string why =
      "operator other::op gives another tensor than its argument, and the argument itself was recorded. Its kernel for "
      "CPU and its Meta kernel have to return the same of their arguments";
  const Unary op(kUnary, [](const Tensor& x) { return x * 2; }, [](const Tensor& x) { return x; });
  functionRuns([&](const Tensor& x) { return op(x) + x; }, numbers({3}), why);
}

TEST(OtherResults, ACopyWhereAViewWasRecorded) {
  const Unary op(
      "op(Tensor(a) x) -> Tensor(a)", [](const Tensor& x) { return x.clone(); },
      [](const Tensor& x) { return x.view({-1}); });
  functionRuns(
      [&](const Tensor& x) {
        const Tensor y = x + 1;
        op(y).add_(1);
        return y;
      },
      numbers({3}),
      "operator other::op gives another tensor than its argument, and a view of the argument was recorded. Its kernel "
      "for CPU and its Meta kernel have to return the same of their arguments");
}

TEST(OtherResults, MemoryOfAnArgumentFromAnOverriddenBuiltIn) {
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("relu", [](const Tensor& x) { return x.view({-1}); });
  functionRuns(
      [](const Tensor& x) {
        const Tensor y = x + 1;
        const Tensor z = relu(y).mul_(3);
        return y * z;
      },
      numbers({3}),
      "operator aten::relu gives memory of its argument, and a new tensor was recorded. Its kernel for CPU and its "
      "Meta kernel have to return the same of their arguments");
}

TEST(OtherResults, SizesOfAnArgumentThatIsWritten) {
  const Op<void(const Tensor&)> op(
      "op(Tensor(a!) x) -> ()", [](const Tensor& x) { Tensor(x).resize_({2}); }, [](const Tensor&) {});
  functionRuns(
      [&](const Tensor& x) {
        const Tensor y = x * 2;
        op(y);
        return y.sum() / static_cast<double>(y.numel());
      },
      numbers({3}),
      "operator other::op leaves an argument with sizes [2] and strides [1], and sizes [3] and strides [1] were "
      "recorded. Its kernel for CPU and its Meta kernel have to leave the same sizes and strides");
}

// ---- what the graph has done before -------------------------------------------------------------------------------
const std::string kColumnMajor =
    "operator other::op gives float32[2, 3] with strides [1, 2], and float32[2, 3] with strides [3, 1]" + kAgree;
const std::string kTooLate =
    ". The graph has written to tensors or drawn random numbers by then, so the function can't run in its place. Later "
    "calls with such arguments run the function";

/// One call throws. `f` counts in `w`.
template <class F>
void oneCallThrows(const F& f, const Tensor& w, const Tensor& x) {
  const Warnings warnings;
  const auto fast = compile(f, options(CompileCheck::kNever));
  fast(x);
  EXPECT_EQ(errorOf([&] { fast(x); }), "f: " + kColumnMajor + kTooLate);
  EXPECT_THAT(warnings.all(), ElementsAre("f: " + kColumnMajor + ". Later calls with such arguments run the function"));
  const Tensor before = w.clone();
  for (int call = 0; call < 3; ++call) EXPECT_TRUE(fast(x).defined());
  EXPECT_EQ(warnings.all().size(), 1u);
  EXPECT_EQ(fast.counts().recorded, 1u);
  EXPECT_TRUE(w.equal(before + 3));
}

TEST(OtherResults, AfterAWrite) {
  const Unary op(kUnary, &columnMajor, &emptyLike);
  const Tensor w = zeros({2});
  oneCallThrows(
      [&](const Tensor& x) {
        w.add_(1);
        return op(x).flatten();
      },
      w, numbers({2, 3}));
}

TEST(OtherResults, AfterRandomNumbers) {
  const Unary op(kUnary, &columnMajor, &emptyLike);
  const Tensor w = zeros({2});
  oneCallThrows(
      [&](const Tensor& x) {
        const Tensor y = op(x + rand({1})).flatten();
        w.add_(1);
        return y;
      },
      w, numbers({2, 3}));
}

TEST(OtherResults, BeforeAWriteAndRandomNumbers) {
  const Unary op(kUnary, &columnMajor, &emptyLike);
  const auto counted = [&](const Tensor& w, const Tensor& x) {
    Tensor made = x + 1;
    made.mul_(2);  // which nobody else has
    const Tensor y = op(made).flatten();
    w.add_(1);
    return y + rand({1});
  };
  const Warnings warnings;
  const auto fast = compile(counted, options());
  const Tensor w = zeros({1}), plain = zeros({1}), x = numbers({2, 3});
  for (int call = 0; call < 4; ++call) {
    manual_seed(5);
    const Tensor expected = counted(plain, x);
    manual_seed(5);
    EXPECT_TRUE(same(expected, fast(w, x)));
    EXPECT_TRUE(same(plain, w));
  }
  EXPECT_THAT(warnings.all(), ElementsAre("f: " + kColumnMajor + kNow));
}

TEST(OtherResults, OneCallRunsTheKernelTwice) {
  int calls = 0;
  const Unary op(
      kUnary,
      [&](const Tensor& x) {
        ++calls;
        return columnMajor(x);
      },
      &emptyLike);
  const auto fast = compile([&](const Tensor& x) { return op(x).flatten(); }, options());
  const Tensor x = numbers({2, 3});
  for (const int expected : {1, 3, 4, 5}) {
    fast(x);
    EXPECT_EQ(calls, expected);
  }
}

// ---- backward -----------------------------------------------------------------------------------------------------
const std::string kBackward =
    "operator aten::threshold_backward gives float32[2, 3] with strides [1, 2], and float32[2, 3] with strides [3, 1]" +
    kAgree;

class OverriddenFormula {
 public:
  OverriddenFormula() : library_(Library::Kind::kImpl, "aten", DispatchKey::CPU) {
    library_.impl("threshold_backward",
                  [](const Tensor& grad, const Tensor& self, const Scalar&) { return columnMajor(grad * self.gt(0)); });
  }

 private:
  Library library_;
};

TEST(OtherResults, InACompiledBackwardPass) {
  const OverriddenFormula overridden;
  const auto f = [](const Tensor& x) { return x.view({2, 3}).relu(); };
  const auto gradientBy = [](const auto& g) {
    const Tensor x = numbers({6}).requires_grad_();
    (g(x) * numbers({2, 3}, 3)).sum().backward();
    return x.grad();
  };
  const Warnings warnings;
  const auto fast = compile(f, options(CompileCheck::kNever));
  const Tensor expected = gradientBy(f);
  for (int call = 0; call < 5; ++call) EXPECT_TRUE(same(expected, gradientBy(fast))) << call;
  EXPECT_THAT(warnings.all(), ElementsAre("f, backward: " + kBackward +
                                          ". This pass and later ones go through the history of the function's "
                                          "operators"));
  EXPECT_THAT(fast.explain(), HasSubstr("  its backward pass is not compiled: an operator in it has given other "
                                        "results than were recorded\n"));
  EXPECT_EQ(fast.counts().recorded, 2u);
  EXPECT_EQ(fast.counts().variants, 1u);
}

TEST(OtherResults, InABackwardPassOfTheFunction) {
  const OverriddenFormula overridden;
  const Tensor w = numbers({6}).requires_grad_(), weights = numbers({2, 3}, 3);
  functionRuns(
      [&](const Tensor& x) {
        const Tensor loss = ((w * x).view({2, 3}).relu() * weights).sum();
        return autograd::grad({loss}, {w})[0];
      },
      numbers({6}, 4), kBackward);
}

// ---- other ways to run a graph ------------------------------------------------------------------------------------
TEST(OtherResults, OfAKernelThatIsRegisteredDuringTheRun) {
  Registering registering("relu", [](const Tensor& x) { return columnMajor(x).clamp_min(0); });
  const auto f = [&](const Tensor& x) { return relu(registering(x)).flatten(); };
  const auto fast = compile(f, options(CompileCheck::kNever));
  const Tensor x = numbers({2, 3});
  const auto called = [&](const auto& g) { return registering.during([&] { return g(x); }); };
  Library meta(Library::Kind::kImpl, "registering", DispatchKey::Meta);
  meta.impl("copy", &emptyLike);
  for (int call = 0; call < 3; ++call) fast(x);
  EXPECT_EQ(fast.counts().hits, 2u) << fast.explain();
  EXPECT_TRUE(same(called(f), called(fast)));
}

TEST(OtherResults, OfATracedGraph) {
  const Unary op(kUnary, &columnMajor, &emptyLike);
  const Tensor x = numbers({2, 3}), leaf = numbers({2, 3}).requires_grad_();
  const auto f = [&](const Tensor& t) { return op(t).flatten(); };
  const Graph with_views = trace(f, leaf, TraceOptions{.fake = true});  // flatten is recorded as a view
  EXPECT_EQ(errorOf([&] { with_views.run({leaf}); }),
            "Graph::run: " + kColumnMajor + ", or the function has to be traced again");
  // No node relies on strides.
  EXPECT_TRUE(same(f(x), trace(f, x, TraceOptions{.fake = true}).run({x})[0]));
  EXPECT_TRUE(same(f(x), trace(f, x).run({x})[0]));
}

TEST(OtherResults, SizesOfATracedGraph) {
  const Unary op(kUnary, [](const Tensor& x) { return cat({x, x}); }, &emptyLike);
  const Tensor x = numbers({3});
  const auto f = [&](const Tensor& t) { return op(t) * static_cast<double>(op(t).numel()); };
  EXPECT_EQ(errorOf([&] { trace(f, x, TraceOptions{.fake = true}).run({x}); }),
            "Graph::run: operator other::op gives float32[6] with strides [1], and float32[3] with strides [1]" +
                kAgree + ", or the function has to be traced again");
  EXPECT_TRUE(same(f(x), trace(f, x).run({x})[0]));
}

// Results follow how the inputs lie.
TEST(OtherResults, OfATracedGraphOnInputsThatLieOtherwise) {
  const Unary op(kUnary, [](const Tensor& x) { return x * 2; }, &emptyLike);
  const Tensor x = numbers({2, 3});
  const auto f = [&](const Tensor& t) { return op(t) + 1; };
  EXPECT_TRUE(same(f(columnMajor(x)), trace(f, x).run({columnMajor(x)})[0]));
}

TEST(OtherResults, OfAHostPlan) {
  const Unary op(kUnary, &columnMajor, &emptyLike);
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {2, 3}});
  b.output(b.call("aten::_reshape_alias", {b.call("other::op", {x})[0], IntArrayRef({6}), IntArrayRef({1})})[0]);
  const HostPlan plan = b.compile();
  float in[6] = {0, 1, 2, 3, 4, 5};
  for (int run = 0; run < 3; ++run) EXPECT_EQ(errorOf([&] { plan.run({in}); }), "host plan: " + kColumnMajor);
}

// The host knows from the plan that the output is a view of its input, and gets no tensor.
TEST(OtherResults, OfAHostPlanWhoseOutputIsDescribed) {
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("t", [](const Tensor& x) { return x.transpose(0, 1).clone(); });
  HostPlanBuilder b;
  const HostValue x = b.input({.sizes = {2, 3}});
  b.output(b.call("aten::t", {x})[0]);
  const HostPlan plan = b.compile();
  float in[6] = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(
      errorOf([&] { plan.run({in}); }),
      "host plan: operator aten::t gives another tensor than its argument, and a view of the argument was recorded. "
      "Its kernel for CPU and its Meta kernel have to return the same of their arguments");
}

// The error of a graph that an operator runs is the operator's: the graph around it has written.
TEST(OtherResults, OfAGraphInsideOfAGraph) {
  const Unary op(kUnary, [](const Tensor& x) { return cat({x, x}); }, &emptyLike);
  const Tensor x = numbers({3}), w = zeros({3});
  const Graph inner = trace([&](const Tensor& t) { return op(t); }, x, TraceOptions{.fake = true});
  Library outer(Library::Kind::kDef, "outer");
  outer.def("run(Tensor x) -> Tensor");
  int calls = 0;
  outer.impl("run", DispatchKey::CPU, [&](const Tensor& t) { return ++calls == 2 ? inner.run({t})[0] : t.clone(); });
  outer.impl("run", DispatchKey::Meta, &emptyLike);
  const auto run = Dispatcher::singleton().findSchemaOrThrow("outer::run").typed<Tensor(const Tensor&)>();
  const auto fast = compile(
      [&](const Tensor& t) {
        w.add_(1);
        return run.call(t);
      },
      options());
  fast(x);
  EXPECT_THAT(errorOf([&] { fast(x); }), testing::StartsWith("Graph::run: operator other::op gives float32[6] with "));
  for (int call = 0; call < 2; ++call) fast(x);
  EXPECT_TRUE(w.equal(full({3}, 4)));
  EXPECT_EQ(fast.counts().variants, 1u);
}

// ---- how often ----------------------------------------------------------------------------------------------------
TEST(OtherResults, OtherArgumentsAreRecordedUntilItHasHappenedThreeTimes) {
  const Unary op(kUnary, [](const Tensor& x) { return x.size(0) == 2 ? columnMajor(x) : x.clone(); }, &emptyLike);
  const auto f = [&](const Tensor& x) { return op(x).flatten(); };
  const Warnings warnings;
  const auto fast = compile(f, options());
  for (const int64_t rows : {3, 2, 4})
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(same(f(numbers({rows, 3})), fast(numbers({rows, 3}))));
  EXPECT_EQ(fast.counts().recorded, 3u);
  EXPECT_EQ(fast.counts().variants, 2u);
  for (const int64_t columns : {4, 5, 6, 7})
    for (int call = 0; call < 3; ++call) EXPECT_TRUE(same(f(numbers({2, columns})), fast(numbers({2, columns}))));
  EXPECT_EQ(fast.counts().recorded, 5u);
  EXPECT_EQ(fast.counts().variants, 2u);
  EXPECT_THAT(warnings.all(), ElementsAre("f: " + kColumnMajor + kNow));
  EXPECT_THAT(fast.explain(), HasSubstr("not recorded any more: operator other::op gives float32[2, 5] with strides "));
  const uint64_t hits = fast.counts().hits;
  EXPECT_TRUE(same(f(numbers({4, 3})), fast(numbers({4, 3}))));
  EXPECT_EQ(fast.counts().hits, hits + 1);
}

TEST(OtherResults, ByDefault) {
  const Unary op(kUnary, [](const Tensor& x) { return x * 2; }, &emptyLike);
  const auto f = [&](const Tensor& x) { return op(x.t()).flatten(); };
  const auto fast = compile(f);
  const Tensor x = numbers({2, 3}), expected = f(x);
  int wrong = 0;
  for (int call = 0; call < 30000; ++call) wrong += fast(x).equal(expected) ? 0 : 1;
  EXPECT_EQ(wrong, 0) << fast.explain();
}

// ---- kernels that agree -------------------------------------------------------------------------------------------
TEST(OtherResults, NoneOfKernelsThatAgree) {
  const Unary op(kUnary, [](const Tensor& x) { return x * 2; }, [](const Tensor& x) { return empty_like(x); });
  graphRuns([&](const Tensor& x) { return op(x.t()).flatten(); }, numbers({2, 3}));
  graphRuns([&](const Tensor& x) { return op((x * 3).exp()).sum(); }, numbers({2, 3}));
}

TEST(OtherResults, NoneOfOverriddenBuiltInsThatAgree) {
  Library m(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  m.impl("relu", [](const Tensor& x) { return x.clamp_min(0); });
  m.impl("mul_.Tensor", [](Tensor& x, const Tensor& y) -> Tensor& { return x.copy_(x * y); });
  m.impl("expand", [](const Tensor& x, IntArrayRef sizes, bool) { return x.as_strided(sizes, {0, 1}); });
  graphRuns([](const Tensor& x) { return relu(x).flatten() * 2; }, numbers({2, 3}));
  graphRuns([](const Tensor& x) { return (x + 1).mul_(x).flatten(); }, numbers({2, 3}));
  graphRuns([](const Tensor& x) { return x.expand({4, 3}) * 2; }, numbers({3}));
}

TEST(OtherResults, NoneOfArgumentsThatAreWrittenAndReturned) {
  const Op<Tensor&(Tensor&)> op(
      "op(Tensor(a!) x) -> Tensor(a!)", [](Tensor& x) -> Tensor& { return x.mul_(2); },
      [](Tensor& x) -> Tensor& { return x; });
  graphRuns(
      [&](const Tensor& x) {
        Tensor y = x + 1;
        return op(y) * 2 + y;
      },
      numbers({2, 3}));
}

}  // namespace
}  // namespace shunt::test
