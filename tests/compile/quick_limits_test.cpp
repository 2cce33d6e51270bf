// Where steps of plans must not be done without their operators: operators and keys that the library's own kernels
// don't stand for, and results that lie otherwise than new tensors.
#include "src/compile/program/plan.h"
#include "tests/compile/plan_parts.h"
#include "tests/compile/registering.h"
#include "tests/compile/same.h"

#include <shunt/shunt.h>
#include <shunt/trace/trace.h>

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace shunt::test {
namespace {

using compiled::Plan;
using Tensors = std::vector<Tensor>;

/// Eager and compiled, some calls of each; `graphs`: whether the later ones must have run a graph.
template <class F>
void expectAsEager(const F& f, const Tensor& x, const Tensor& y, bool graphs = true) {
  auto fast = compile([&](const Tensor& a, const Tensor& b) { return f(a, b); });
  for (int i = 0; i < 6; ++i) {
    const Tensors expected = f(x, y), got = fast(x, y);
    for (size_t k = 0; k < expected.size(); ++k)
      ASSERT_TRUE(same(expected[k], got[k]))
          << i << " " << k << " " << expected[k].strides() << got[k].strides() << fast.plan();
  }
  EXPECT_EQ(fast.counts().hits > 2, graphs) << fast.explain();
}

Tensor twiceT(const Tensor& t) { return t.permute({1, 0}) * 2; }
Tensor twiceTransposed(const Tensor& t, int64_t, int64_t) { return t.permute({1, 0}) * 2; }

TEST(CompileQuickLimits, ProductsOfAReplacedView) {
  const NoGradGuard no_grad;
  const Tensor x = numbers({4, 6}, 1), w = numbers({5, 6}, 2);
  for (const DispatchKey key : {DispatchKey::CPU, DispatchKey::ADInplaceOrView, DispatchKey::BackendSelect}) {
    Library m(Library::Kind::kImpl, "aten", key);
    m.impl("t", &twiceT);
    m.impl("transpose.int", &twiceTransposed);
    expectAsEager(
        [](const Tensor& a, const Tensor& b) { return Tensors{a.mm(b.t()), a.mm(b.transpose(0, 1)), b.t() + 1}; }, x,
        w);
    ASSERT_TRUE(same(x.mm(w.t()), x.mm(w.permute({1, 0}) * 2))) << key;
  }
  Library m(Library::Kind::kImpl, "aten", DispatchKey::AutocastCPU);
  m.impl("t", &twiceT);
  const auto in_autocast = [](const Tensor& a, const Tensor& b) {
    Tensor turned, sum;
    {
      const AutocastGuard autocast(DeviceType::CPU, kBFloat16);
      turned = b.t();
      sum = b.t() + 1;
    }
    return Tensors{a.mm(turned), sum};
  };
  ASSERT_TRUE(same(in_autocast(x, w)[1], w.permute({1, 0}) * 2 + 1));
  expectAsEager(in_autocast, x, w);
  expectAsEager([](const Tensor& a, const Tensor& b) { return Tensors{a.mm(b.t())}; }, x, w);
}

// A view that was passed over before its operator got another kernel is what it was by then.
TEST(CompileQuickLimits, AViewFromBeforeItsOperatorWasReplaced) {
  const NoGradGuard no_grad;
  Registering poke("t", &twiceT);
  const Tensors in = {numbers({4, 6}, 1), numbers({5, 6}, 2), numbers({3}, 3)};
  const auto f = [&](const Tensors& t) {
    const Tensor turned = (t[1] * 2).t(), poked = poke(t[2]);
    return Tensors{t[0].mm(turned), poked, t[1].t()};
  };
  const Graph graph = trace(f, in);
  const Plan plan(graph);
  for (int i = 0; i < 3; ++i) plan.run(in);
  ASSERT_EQ(callsOf(plan, "aten::t", PlanCall::kLate), 1u) << plan.describe();
  const Tensors expected = f(in);
  ASSERT_TRUE(plan.holds());
  const Tensors got = poke.during([&] { return plan.run(in); });
  for (size_t k = 0; k < 2; ++k) EXPECT_TRUE(same(expected[k], got[k])) << k;
  EXPECT_TRUE(same(got[2], expected[2] * 2)) << "the kernel isn't there for what comes after it";
}

// Views have Autograd's key, so that a program's kernel for that is called for them.
TEST(CompileQuickLimits, ViewsAreReadByAProgramsKernelForAutograd) {
  Library m(Library::Kind::kImpl, "aten", DispatchKey::AutogradCPU);
  m.impl("mul.Tensor", [](const Tensor& self, const Tensor& other) { return self + other; });
  const auto f = [](const Tensor& a, const Tensor& b) { return Tensors{a.t().mul(b.t())}; };
  const Tensor x = numbers({4, 6}, 1), y = numbers({4, 6}, 2);
  ASSERT_TRUE(same(f(x, y)[0], x.t() + y.t()));
  expectAsEager(f, x, y);
}

Tensor negatedMm(const Tensor& a, const Tensor& b) {
  const ExcludeDispatchKeyGuard below(DispatchKey::Negative);
  return a.mm(b).neg();
}

TEST(CompileQuickLimits, TensorsWithKeysOfTheirOwn) {
  const NoGradGuard no_grad;
  Library m(Library::Kind::kImpl, "aten", DispatchKey::Negative);
  m.impl("mm", &negatedMm);
  const Tensor x = numbers({4, 6}, 1), w = numbers({6, 5}, 2);
  const TensorImpl& impl = *x.unsafeGetTensorImpl();
  auto marked = make_intrusive<TensorImpl>(impl.storage(), impl.key_set().add(DispatchKey::Negative), kFloat);
  marked->set_sizes_and_strides(x.sizes(), x.strides(), 0);
  const Tensor odd(std::move(marked));
  ASSERT_TRUE(same(odd.mm(w), x.mm(w).neg()));
  expectAsEager([](const Tensor& a, const Tensor& b) { return Tensors{a.mm(b)}; }, odd, w, false);
  // Captured, it is no argument.
  expectAsEager([&](const Tensor&, const Tensor& b) { return Tensors{odd.mm(b)}; }, x, w, false);
}

TEST(CompileQuickLimits, StridesOfDimensionsOfSizeOne) {
  const NoGradGuard no_grad;
  const Tensor x = numbers({4, 6}, 1);
  const auto likes = [](const Tensor&, const Tensor& like) {
    return Tensors{ones_like(like), zeros_like(like) + 1, ones_like(like, TensorOptions().dtype(kDouble))};
  };
  for (const Tensor& like :
       {numbers({1, 5}).t(), numbers({3, 7}).narrow(0, 0, 1).narrow(1, 0, 5), numbers({5, 1}).t(),
        numbers({2, 1, 3}).transpose(0, 1), numbers({1, 1, 4}).expand({1, 1, 4}).permute({2, 0, 1})})
    expectAsEager(likes, x, like);
  const auto sums = [](const Tensor& a, const Tensor&) {
    const Tensor row = a.sum(IntArrayRef{0}, true), column = a.mean(IntArrayRef{1}, true);
    return Tensors{row.t().clone(),
                   row.t() * 2,
                   empty_like(row.t()).fill_(1),
                   ones_like(row.t()),
                   column.t() + 1,
                   column.t().clone(),
                   a.sum(IntArrayRef{0, 1}, true).t().clone()};
  };
  expectAsEager(sums, x, x);
  const auto products = [](const Tensor& a, const Tensor& b) {
    return Tensors{a.mm(b), b.t().mm(a.t()), a.narrow(0, 0, 1).mm(b), b.t().mm(a.narrow(0, 1, 1).t()).t().clone()};
  };
  expectAsEager(products, x, numbers({6, 1}, 2));
  expectAsEager(products, x, numbers({1, 6}, 2).t());
  expectAsEager(products, x, numbers({6, 5}, 2));
}

TEST(CompileQuickLimits, ReductionsOfASingleNumber) {
  const NoGradGuard no_grad;
  const auto f = [](const Tensor& a, const Tensor&) {
    return Tensors{a.sum(IntArrayRef{-1}), a.mean(IntArrayRef{0}, true), a.sum(IntArrayRef{}), a.sum()};
  };
  expectAsEager(f, numbers({}, 1), numbers({}, 2));
}

/// One step that sets the leaf's grad, eager and compiled.
template <class Step>
void expectSameGrads(const Tensor& values, const Tensor& x, const Step& step) {
  const auto leaf = [&] {
    Tensor out = empty_strided(values.sizes(), values.strides());
    return out.copy_(values).requires_grad_();
  };
  const Tensor plain = leaf(), other = leaf();
  auto fast = compile([&](const Tensor& a) {
    Tensor(other).mutable_grad() = Tensor();
    step(other, a).sum().backward();
  });
  for (int i = 0; i < 6; ++i) {
    Tensor(plain).mutable_grad() = Tensor();
    step(plain, x).sum().backward();
    fast(x);
    ASSERT_TRUE(same(plain.grad(), other.grad()))
        << i << " " << plain.grad().strides() << other.grad().strides() << fast.plan();
  }
  EXPECT_GT(fast.counts().hits, 2u);
}

TEST(CompileQuickLimits, GradsOfDimensionsOfSizeOne) {
  const Tensor x = numbers({4, 6}, 3);
  for (const Tensor& w : {numbers({6, 1}), numbers({1, 6}).t()})
    expectSameGrads(w, x, [](const Tensor& t, const Tensor& a) { return t.t() * a; });
  for (const Tensor& w : {numbers({1, 6}), numbers({6, 1}).t(), numbers({6, 1}), numbers({1, 6}).t()}) {
    expectSameGrads(w, x, [](const Tensor& t, const Tensor& a) { return t.reshape({6}) * a; });
    expectSameGrads(w, x, [](const Tensor& t, const Tensor& a) { return a.mm(t.reshape({6, 1})); });
    expectSameGrads(w, x, [](const Tensor& t, const Tensor& a) { return t.reshape({1, 6}) * a + t.reshape({6}); });
  }
}

// A view that becomes a grad gets the leaf's strides, also where its base is gone, or where it shows what its base
// does.
TEST(CompileQuickLimits, GradsThatAreViewsOfDimensionsOfSizeOne) {
  const auto with = [](IntArrayRef sizes, IntArrayRef strides) {
    return empty_strided(sizes, strides).copy_(numbers(sizes));
  };
  const Tensor x = numbers({3, 1}, 3);
  for (const Tensor& w :
       {with({1, 3}, {8, 1}), with({3, 1}, {1, 5}), with({1, 1}, {3, 1}), with({1, 4, 1}, {8, 1, 6}), with({1}, {9})}) {
    expectSameGrads(w, x, [](const Tensor& t, const Tensor&) { return t.sum(IntArrayRef{0}, true).exp(); });
    expectSameGrads(w, x, [](const Tensor& t, const Tensor&) { return t.sum(IntArrayRef{-1}, true).relu() * 2; });
    expectSameGrads(w, x, [](const Tensor& t, const Tensor&) { return t.mean(IntArrayRef{-1}); });
    expectSameGrads(w, x, [](const Tensor& t, const Tensor&) { return t.transpose(0, -1).softmax(-1); });
    expectSameGrads(w, x,
                    [](const Tensor& t, const Tensor&) { return t.transpose(0, -1).transpose(0, -1).to(kDouble); });
    expectSameGrads(w, x, [](const Tensor& t, const Tensor&) { return cat({t.unsqueeze(0), t.unsqueeze(0)}, 0); });
    expectSameGrads(w, x, [](const Tensor& t, const Tensor&) { return t.select(0, 0).exp(); });
    expectSameGrads(w, x, [](const Tensor& t, const Tensor&) { return t.exp(); });  // no view: it has its own strides
  }
}

// A kernel for Meta that says otherwise than what the operator does: the function runs.
Tensor oneByOne(const Tensor& a, const Tensor&) { return empty({1, 1}, a.options()); }
Tensor oneElement(const Tensor& a, OptionalIntArrayRef, bool, std::optional<ScalarType>) {
  return empty({1}, a.options());
}

Tensor largerT(const Tensor& a) { return empty({600, 500}, a.options()); }
Tensor oneOne(const Tensor& a, std::optional<ScalarType>, std::optional<Layout>, std::optional<Device>,
              std::optional<bool>, std::optional<MemoryFormat>) {
  return empty({1}, a.options());
}

TEST(CompileQuickLimits, ShapesThatAreNotTheOperators) {
  const NoGradGuard no_grad;
  Library m(Library::Kind::kImpl, "aten", DispatchKey::Meta);
  m.impl("mm", &oneByOne);
  m.impl("sum.dim_IntList", &oneElement);
  m.impl("t", &largerT);
  m.impl("ones_like", &oneOne);
  const Tensor x = numbers({400, 60}, 1), w = numbers({60, 500}, 2);
  expectAsEager([](const Tensor& a, const Tensor& b) { return Tensors{a.mm(b)}; }, x, w, false);
  expectAsEager([](const Tensor& a, const Tensor&) { return Tensors{a.sum(IntArrayRef{0})}; }, x, w, false);
  expectAsEager([](const Tensor& a, const Tensor&) { return Tensors{a.t() + 1}; }, x.narrow(0, 0, 5), w, false);
  expectAsEager([](const Tensor& a, const Tensor&) { return Tensors{ones_like(a)}; }, x.narrow(0, 0, 5), w, false);
}

// A view that shows what its base shows is a tensor of its own all the same, under each name that it has: who gets it
// may reshape it.
TEST(CompileQuickLimits, ViewsThatAreReturnedUnderAnotherName) {
  const NoGradGuard no_grad;
  const std::vector<std::function<Tensor(const Tensor&)>> functions = {
      [](const Tensor& x) { return x.view(x.sizes()).to(kFloat); },
      [](const Tensor& x) { return x.view(x.sizes()).contiguous(); },
      [](const Tensor& x) { return x.t().t().reshape(x.sizes()); },
      [](const Tensor& x) {
        Tensor y = x.view(x.sizes());
        y.mul_(2);
        return y.to(kFloat).add_(1);
      },
      [](const Tensor& x) {
        x.view(x.sizes()).to(kFloat).unsqueeze_(0);
        return x * 2;
      },
      [](const Tensor& x) {
        const Tensor y = x.view(x.sizes());
        x.to(kFloat).unsqueeze_(0);
        return y * 2;
      }};
  for (size_t k = 0; k < functions.size(); ++k) {
    SCOPED_TRACE(k);
    auto fast = compile(functions[k]);
    for (int i = 0; i < 5; ++i) {
      const Tensor plain = numbers({4, 4}, 1), given = numbers({4, 4}, 1);
      Tensor expected = functions[k](plain), got = fast(given);
      EXPECT_TRUE(same(expected, got));
      expected.unsqueeze_(0);
      got.unsqueeze_(0);
      EXPECT_EQ(given.sizes(), plain.sizes()) << fast.plan();
      EXPECT_TRUE(same(plain, given));
    }
  }
}

}  // namespace
}  // namespace shunt::test
