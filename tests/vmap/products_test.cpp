// linear and outer inside vmap, which run other operators there than their kernels call: the kernels run wherever a
// program has kernels, or batching rules, of its own for anything that either way calls.
#include "tests/vmap/util.h"

#include "src/trace/results.h"
#include "src/transforms/vmap/products.h"

#include <shunt/autograd/engine.h>
#include <shunt/ops.h>

#include <set>

namespace shunt::test {
namespace {

using Names = std::set<std::string>;

std::string nameOf(const Operator& op) {
  const std::string name(op.name());
  return op.overload().empty() ? name : name + "." + std::string(op.overload());
}

Names namesOf(std::span<const Operator* const> parts) {
  Names names;
  for (const Operator* op : parts) names.insert(nameOf(*op));
  return names;
}

/// Every operator that the function calls, composites and their parts too, with its first and second gradients.
Names calledBy(const std::function<Tensor(const Tensors&)>& f, const Tensors& in, const Tensor& seed) {
  detail::TraceCall trace({.fake = true});
  Tensors inputs;
  for (const Tensor& t : in) inputs.push_back(trace.input(t.detach().requires_grad_()));
  const Tensor first_seed = trace.input(seed.detach().requires_grad_());
  Tensors second_seeds;
  for (const Tensor& t : in) second_seeds.push_back(trace.input(t));
  {
    const detail::TraceCall::Scope on(trace);
    const Tensors first = autograd::grad({f(inputs)}, inputs, {first_seed}, true, true);
    inputs.push_back(first_seed);
    Tensors roots, seeds;
    for (size_t i = 0; i < first.size(); ++i) {
      if (!first[i].requires_grad()) continue;
      roots.push_back(first[i]);
      seeds.push_back(second_seeds[i]);
    }
    autograd::grad(roots, inputs, seeds, false, false, true);
  }
  Names names;
  for (const auto& [op, fingerprint] : detail::TracedResults::seen(trace)) names.insert(nameOf(*op));
  return names;
}

Names united(Names a, const Names& b) {
  a.insert(b.begin(), b.end());
  return a;
}

TEST(VmapProducts, AllOperatorsOfBothWaysAreAsked) {
  const Tensor row = randn({3}), w = randn({4, 3}), b = randn({4}), seed = randn({4});
  const Names composite = calledBy([](const Tensors& t) { return linear(t[0], t[1], t[2]); }, {row, w, b}, seed);
  const Names shorter = calledBy([](const Tensors& t) { return t[1].mv(t[0]) + t[2]; }, {row, w, b}, seed);
  EXPECT_NE(composite, shorter);
  EXPECT_EQ(namesOf(levels::partsOf(ops::linear::symbol)), united(composite, shorter));

  const Names of_outer = calledBy([](const Tensors& t) { return outer(t[0], t[1]); }, {row, b}, randn({3, 4}));
  const Names of_bmm = calledBy([](const Tensors& t) { return t[0].unsqueeze(2).bmm(t[1].unsqueeze(1)); },
                                {randn({2, 3}), randn({2, 4})}, randn({2, 3, 4}));
  EXPECT_NE(of_outer, of_bmm);
  EXPECT_EQ(namesOf(levels::partsOf(ops::outer::symbol)), united(of_outer, of_bmm));
}

// The gradient of mv calls outer, that of mm, which the loop runs, doesn't.
TEST(VmapProducts, GradientsCallNoKernelThatTheLoopDoesNot) {
  const Tensor w = randn({4, 3}), b = randn({4}), rows = randn({5, 3});
  const auto size = [&](const Tensor& weight, const Tensor& row) { return linear(row, weight, b).sum(); };
  const auto each = vmap(grad(size), {.in_dims = {std::nullopt, 0}});
  const auto check = [&](const char* what) {
    const Tensor got = each(w, rows);
    for (int64_t i = 0; i < 5; ++i) EXPECT_LT(distance(got[i], grad(size)(w, rows[i])), 2e-6) << what << i;
  };
  {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::CompositeImplicitAutograd);
    library.impl("outer", +[](const Tensor& self, const Tensor& vec2) { return self.unsqueeze(1) * vec2 * 0; });
    check("outer");
  }
  {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    library.impl(
        "mul.Tensor", +[](const Tensor& self, const Tensor& other) { return (self - self) + (other - other); });
    check("mul");
  }
  {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    library.impl("mv", +[](const Tensor& self, const Tensor&) { return self.select(1, 0).clone(); });
    check("mv");
  }
}

// A program's batching rule of its own is called, as long as it is registered.
TEST(VmapProducts, AProgramsOwnBatchingRuleOfAPartIsCalled) {
  const Tensor a = randn({5, 3}), b = randn({5, 4}), w = randn({4, 3}), bias = randn({4});
  const auto product = [](const Tensor& s, const Tensor& t) { return outer(s, t); };
  const auto layer = [&](const Tensor& row) { return linear(row, w, bias); };
  const Tensor plain = vmap(product)(a, b), rows = vmap(layer)(a);
  static int calls;
  calls = 0;
  {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::Batched);
    library.impl(
        "mul.Tensor", +[](const Tensor& self, const Tensor& other) {
          ++calls;
          return div(self, reciprocal(other)) + 100;
        });
    EXPECT_LT(distance(vmap(product)(a, b), plain + 100), 2e-5);
    EXPECT_EQ(calls, 1);
    EXPECT_LT(distance(vmap(layer)(a), rows), 2e-6);
    EXPECT_EQ(calls, 1) << "linear calls no mul";
  }
  {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::Batched);
    library.impl(
        "mm", +[](const Tensor& self, const Tensor& other) {
          ++calls;
          return (self.unsqueeze(2) * other.unsqueeze(0)).sum(1) * 3;
        });
    EXPECT_LT(distance(vmap(layer)(a), (rows - bias) * 3 + bias), 2e-5);
    EXPECT_EQ(calls, 2);
  }
  EXPECT_TRUE(sameValues(vmap(product)(a, b), plain));
  EXPECT_TRUE(sameValues(vmap(layer)(a), rows));
  EXPECT_EQ(calls, 2);
}

// A program's Autograd kernel of a composite is called as the loop calls it, once for each sample: rows have the key of
// autograd, as all views. The library's parts serve again when it is gone.
class VmapAutogradKernels : public testing::Test {
 protected:
  /// `call`: a composite's, for one row.
  template <class Kernel>
  void check(const std::string& name, Kernel* kernel, const std::function<Tensor(const Tensor&)>& call) {
    SCOPED_TRACE(name);
    const Tensor x = randn({4, 3}), leaf = x.clone().requires_grad_();
    const Tensor plain = vmap(call)(x);
    {
      Library library(Library::Kind::kImpl, "aten", DispatchKey::AutogradCPU);
      library.impl(name, kernel);
      for (const Tensor& rows : {x, leaf}) {
        calls = 0;
        const Tensor got = vmap(call)(rows);
        EXPECT_EQ(calls, 4);
        EXPECT_LT(distance(got, stack({call(rows[0]), call(rows[1]), call(rows[2]), call(rows[3])})), 2e-6);
        EXPECT_EQ(calls, 8);
        EXPECT_LT(distance(got.detach(), plain + 100), 2e-5);
        if (got.requires_grad()) got.sum().backward();
      }
      calls = 0;
      const auto inner = [&](const Tensor& rows) { return vmap(call)(rows); };
      EXPECT_LT(distance(vmap(inner)(leaf.unsqueeze(0)).detach()[0], plain + 100), 2e-5);
      EXPECT_EQ(calls, 4);
      // Gradients for each sample call it in the level of grad, once for all.
      calls = 0;
      const auto size = [&](const Tensor& row) { return call(row).sum(); };
      const Tensor each = vmap(grad(size))(x);
      EXPECT_EQ(calls, 1);
      for (int64_t i = 0; i < 4; ++i) EXPECT_LT(distance(each[i], grad(size)(x[i])), 2e-6);
      // That of the whole calls it in the level of vmap.
      calls = 0;
      const Tensor whole = grad([&](const Tensor& rows) { return vmap(call)(rows).sum(); })(x);
      EXPECT_EQ(calls, 4);
      EXPECT_LT(distance(whole, leaf.grad()), 2e-6);
    }
    calls = 0;
    EXPECT_LT(distance(vmap(call)(leaf).detach(), plain), 2e-6);
    EXPECT_EQ(calls, 0);
  }
  template <class Op, class... A>
  static Tensor below(DispatchKeySet keys, const A&... a) {
    ++calls;
    return Op::redispatch(keys & DispatchKeySet::fullAfter(DispatchKey::AutogradCPU), a...) + 100;
  }
  static inline int calls = 0;
};

TEST_F(VmapAutogradKernels, OfTheLibrarysComposites) {
  const Tensor w = randn({2, 3}), b = randn({2});
  check(
      "linear",
      +[](DispatchKeySet keys, const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
        return below<ops::linear>(keys, input, weight, bias);
      },
      [&](const Tensor& row) { return linear(row, w, b); });
  check(
      "matmul",
      +[](DispatchKeySet keys, const Tensor& self, const Tensor& other) {
        return below<ops::matmul>(keys, self, other);
      },
      [&](const Tensor& row) { return matmul(w, row); });
  check(
      "outer",
      +[](DispatchKeySet keys, const Tensor& self, const Tensor& vec2) { return below<ops::outer>(keys, self, vec2); },
      [](const Tensor& row) { return outer(row, row); });
  check(
      "square", +[](DispatchKeySet keys, const Tensor& self) { return below<ops::square>(keys, self); },
      [](const Tensor& row) { return row.square(); });
}

}  // namespace
}  // namespace shunt::test
