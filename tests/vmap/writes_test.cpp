// Writes inside vmap: views of a batched tensor count its changes as views of any tensor do, so that gradients which
// need what was overwritten throw; and in-place operators are differentiated as they are for one sample.
#include "tests/vmap/util.h"

#include <shunt/core/library.h>

namespace shunt::test {
namespace {

constexpr const char* kModified = "modified by an inplace operation";

/// Functions of a tensor to differentiate and of a constant, of which they change what the product needs.
using Overwriting = std::function<Tensor(const Tensor& x, Tensor c)>;
const std::vector<std::pair<const char*, Overwriting>>& overwriting() {
  static const std::vector<std::pair<const char*, Overwriting>> all = {
      {"what the view shows",
       [](const Tensor& x, Tensor c) {
         const Tensor y = (x * c.unsqueeze(0)).sum();
         c.mul_(10);
         return y;
       }},
      {"through a view",
       [](const Tensor& x, Tensor c) {
         const Tensor y = (x * c).sum();
         c.view({-1}).mul_(10);
         return y;
       }},
      {"through a view of a view, seen in another one",
       [](const Tensor& x, Tensor c) {
         const Tensor y = (x * c.unsqueeze(0).transpose(0, 1).squeeze(1)).sum();
         c.detach().slice(0, 0, 1).zero_();
         return y;
       }},
      {"through one of several views",
       [](const Tensor& x, Tensor c) {
         const Tensor y = (x * c).sum();
         c.unbind(0)[1].fill_(3);
         return y;
       }},
  };
  return all;
}

TEST(VmapWrites, ViewsCountTheChangesOfTheirBase) {
  for (const auto& [name, f] : overwriting()) {
    const auto of = [&f = f](const Tensor& x, const Tensor& c) { return f(x, c.clone()); };
    const Tensor x = ones({2, 3}), c = full({2, 3}, 2.f);
    EXPECT_THAT(errorOf([&] { grad(of)(x[0], c[0]); }), testing::HasSubstr(kModified)) << name;
    EXPECT_THAT(errorOf([&] { vmap(grad(of))(x, c); }), testing::HasSubstr(kModified)) << name;
    const auto twice = [&](const Tensor& a, const Tensor& b) { return vmap(grad(of))(a, b); };
    EXPECT_THAT(errorOf([&] { vmap(twice)(x.unsqueeze(1), c.unsqueeze(1)); }), testing::HasSubstr(kModified)) << name;
  }
}

TEST(VmapWrites, WhatAnInnerGradTakesAsConstantCountsItsChanges) {
  for (const auto& [name, f] : overwriting()) {
    if (std::string_view(name).find("several") != std::string_view::npos) continue;  // refused: they have a graph
    const auto of_grad = [&f = f](const Tensor& x, const Tensor& c) {
      return grad([&](const Tensor& t) { return grad(f)(x, c * t).sum(); })(c.sum());
    };
    const Tensor x = ones({2, 3}), c = full({2, 3}, 2.f);
    EXPECT_THAT(errorOf([&] { of_grad(x[0], c[0]); }), testing::HasSubstr(kModified)) << name;
    EXPECT_THAT(errorOf([&] { vmap(of_grad)(x, c); }), testing::HasSubstr(kModified)) << name;
  }
}

// With a graph outside or without one, as autograd sees them that has no levels.
TEST(VmapWrites, OutsideTensorsCountTheirChanges) {
  const Tensor leaf = full({4}, 2.f).requires_grad_(), x = ones({3});
  const std::vector<std::pair<const char*, std::function<Tensor()>>> outside = {
      {"without graph", [&] { return leaf.detach().clone().slice(0, 0, 3); }},
      {"with a graph", [&] { return (leaf * 2).slice(0, 0, 3).clone(); }},
      {"a view with a graph", [&] { return (leaf * 2).slice(0, 0, 3); }},
  };
  std::vector<std::pair<const char*, Overwriting>> all = {
      {"by an operator", [](const Tensor& t, Tensor c) { return std::pair{(t * c).sum(), c.mul_(10)}.first; }},
      {"made of it",
       [](const Tensor& t, const Tensor& c) {
         const Tensor twice = c * 2;
         return std::pair{(t * twice).sum(), twice.detach().zero_()}.first;
       }},
      {"before it is needed", [](const Tensor& t, Tensor c) { return (t * c.mul_(3)).sum(); }},
      {"where it isn't needed", [](const Tensor& t, Tensor c) { return std::pair{(t + c).sum(), c.mul_(10)}.first; }},
      {"its data", [](const Tensor& t, const Tensor& c) { return std::pair{(t * c).sum(), c.data().mul_(10)}.first; }},
  };
  for (const auto& more : overwriting())
    if (std::string_view(more.first).find("several") == std::string_view::npos) all.push_back(more);
  for (const auto& [kind, make] : outside)
    for (const auto& [name, f] : all) {
      SCOPED_TRACE(detail::str(name, ", ", kind));
      const auto of = [&f = f](const Tensor& c) { return [&f, c](const Tensor& t) { return f(t, c); }; };
      const Tensor variable = x.clone().requires_grad_();
      const std::string expected = errorOf([&] { autograd::grad({of(make())(variable)}, {variable}); });
      const auto expectIt = [&](const std::string& error) {
        EXPECT_THAT(error, testing::HasSubstr(expected == "no error" ? "no error" : kModified));
      };
      EXPECT_EQ(expected.find(kModified) == std::string::npos, expected == "no error") << expected;
      expectIt(errorOf([&] { grad(of(make()))(x); }));
      expectIt(errorOf([&] { vmap(grad(of(make())))(x.unsqueeze(0)); }));
      const Tensor c = make();
      expectIt(errorOf([&] { grad([&](const Tensor& s) { return grad(of(c))(x * s).sum(); })(ones({})); }));
    }
}

TEST(VmapWrites, OtherTensorsCountTheirOwnChanges) {
  const auto f = [](const Tensor& x, const Tensor& constant) {
    Tensor c = constant.clone();
    const Tensor copy = c * 1, view = c.unsqueeze(0);
    const Tensor y = (x * copy).sum();
    c.mul_(10);
    copy.unsqueeze(0);
    EXPECT_EQ(c._version(), 1);
    EXPECT_EQ(view._version(), 1);
    EXPECT_EQ(copy._version(), 0);
    EXPECT_EQ(c.slice(0, 0, 1)._version(), 1) << "a view made later counts on";
    c.slice(0, 0, 1).zero_();
    EXPECT_EQ(view._version(), 2);
    return y + (x * view).sum();
  };
  const Tensor got = vmap(grad(f))(ones({2, 3}), full({2, 3}, 2.f));
  EXPECT_TRUE(sameValues(got[1], tensor({2.f, 22.f, 22.f}))) << got;
}

// An operator in place is its functional form and a copy_ here, which must not be into what the form has saved.
TEST(VmapWrites, InPlaceOperatorsAreDifferentiated) {
  using Inplace = std::function<void(Tensor & y, const Tensor& x)>;
  const Tensor index = tensor({0, 0, 1}), last = tensor({2, 0});
  const std::vector<std::pair<const char*, Inplace>> all = {
      {"cumprod_", [](Tensor& y, const Tensor&) { y.cumprod_(0); }},
      {"cumsum_", [](Tensor& y, const Tensor&) { y.cumsum_(0); }},
      {"scatter_reduce_ prod", [=](Tensor& y, const Tensor& x) { y.scatter_reduce_(0, index, x * 3, "prod", true); }},
      {"scatter_reduce_ amax", [=](Tensor& y, const Tensor& x) { y.scatter_reduce_(0, index, x * 3, "amax", true); }},
      {"scatter_reduce_ mean", [=](Tensor& y, const Tensor& x) { y.scatter_reduce_(0, index, x * 3, "mean", true); }},
      {"scatter_add_", [=](Tensor& y, const Tensor& x) { y.scatter_add_(0, index, x * x); }},
      {"index_add_", [=](Tensor& y, const Tensor& x) { y.index_add_(0, index, x * x, 2); }},
      {"index_put_", [=](Tensor& y, const Tensor& x) { y.index_put_({last}, x.slice(0, 1) * 2, true); }},
      {"masked_fill_", [=](Tensor& y, const Tensor& x) { y.masked_fill_(index.gt(0), x.sum()); }},
      {"addmm_", [](Tensor& y, const Tensor& x) { y.unsqueeze(0).addmm_(x.unsqueeze(0), x.outer(x)); }},
      {"through a view", [](Tensor& y, const Tensor&) { y.slice(0, 1).cumprod_(0); }},
  };
  const Tensor xs = tensor({{2.0, 3.0, 5.0}, {7.0, 0.5, 3.0}});
  for (const auto& [name, inplace] : all) {
    const auto f = [&inplace = inplace](const Tensor& x) {
      Tensor y = x * 1;
      inplace(y, x);
      return (y * y).sum();
    };
    const Tensor leaf = xs.detach().requires_grad_();
    Tensor expected;
    for (int64_t i = 0; i < 2; ++i) expected = f(leaf[i]) + (i == 0 ? zeros({}, TensorOptions(kDouble)) : expected);
    expected = autograd::grad({expected}, {leaf})[0];
    const auto over_batch = [&](const Tensor& x) { return vmap(f)(x).sum(); };
    EXPECT_LT(distance(autograd::grad({over_batch(leaf)}, {leaf})[0], expected), 1e-13) << name;
    EXPECT_LT(distance(grad(over_batch)(xs), expected), 1e-13) << name;
    EXPECT_LT(distance(vmap(grad(f))(xs), expected), 1e-13) << name;
    const auto twice = [&](const Tensor& x) { return vmap([&](const Tensor& t) { return vmap(f)(t); })(x).sum(); };
    EXPECT_LT(distance(grad(twice)(xs.unsqueeze(1)).squeeze(1), expected), 1e-13) << name;
  }
}

// Their gradients are laid out as the base is, and the part is a window of that.
TEST(VmapWrites, WrittenViewsAreDifferentiatedInChunks) {
  using Write = std::function<void(const Tensor& y, const Tensor& x)>;
  const std::vector<std::pair<const char*, Write>> all = {
      {"in front", [](const Tensor& y, const Tensor&) { y.narrow(0, 0, 2).mul_(2); }},
      {"further on", [](const Tensor& y, const Tensor&) { y.narrow(0, 1, 2).mul_(2); }},
      {"one element", [](const Tensor& y, const Tensor& x) { y[1] = x[0] * x[2]; }},
      {"every second one", [](const Tensor& y, const Tensor& x) { y.slice(0, 1, 6, 2).mul_(x.slice(0, 0, 3)); }},
      {"a column", [](const Tensor& y, const Tensor& x) { y.view({2, 3}).select(1, 1).copy_(x.slice(0, 2, 4)); }},
      {"two views", [](const Tensor& y, const Tensor&) { y.slice(0, 2).mul_(3), y.view({3, 2}).t()[1].mul_(2); }},
      {"a window", [](const Tensor& y, const Tensor& x) { y.as_strided({2, 2}, {3, 1}, 1).mul_(x.sum()); }},
      {"nothing", [](const Tensor& y, const Tensor&) { y.narrow(0, 3, 0).mul_(2); }},
  };
  const Tensor xs = randn({5, 6}, TensorOptions(kDouble));
  for (const auto& [name, write] : all) {
    const auto whole = [&write = write](const Tensor& x) {
      const Tensor y = x * 1, part = y.slice(0, 1, 4);
      write(y, x);
      return y * part.sum();  // the view has the history of what was written, too
    };
    const auto f = [&](const Tensor& x) { return whole(x).square().sum(); };
    const VmapOptions chunks{.chunk_size = 2};
    EXPECT_TRUE(sameValues(vmap(grad(f), chunks)(xs), vmap(grad(f))(xs))) << name;
    EXPECT_LT(distance(vmap(grad(f), chunks)(xs)[4], grad(f)(xs[4])), 1e-13) << name;
    EXPECT_LT(distance(vmap(grad(f), {.in_dims = {1}, .chunk_size = 2})(xs.t()), vmap(grad(f))(xs)), 1e-13) << name;
    EXPECT_LT(distance(jacrev(whole, 4)(xs[3]), jacrev(whole)(xs[3])), 1e-13) << name;
    EXPECT_LT(distance(vmap(jacrev(whole, 4), chunks)(xs), vmap(jacrev(whole))(xs)), 1e-13) << name;
    EXPECT_LT(distance(vmap(hessian(f), chunks)(xs), vmap(hessian(f))(xs)), 1e-13) << name;
    const auto each = [&](const Tensor& x) { return vmap(grad(f), chunks)(x); };
    EXPECT_LT(distance(vmap(each, chunks)(stack({xs, xs * 2, xs + 1})), stack({each(xs), each(xs * 2), each(xs + 1)})),
              1e-13)
        << name;
  }
}

// The running statistics of all samples may lie side by side in memory and in another order than the levels.
TEST(VmapWrites, RunningStatisticsOfNestedSamplesInAnyOrder) {
  const auto norm = [](const Tensor& x, const Tensor& mean, const Tensor& var) {
    return ops::batch_norm::call(x, std::nullopt, std::nullopt, mean, var, true, 0.1, 1e-5, false);
  };
  for (const int64_t channels : {1, 2}) {
    const Tensor x = randn({2, 3, 4, channels}, TensorOptions(kDouble));
    const Tensor expected = x.mean(IntArrayRef({2})).mul(0.1);
    const std::vector<int64_t> orders[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (const std::vector<int64_t>& order : orders) {
      // Dimension d of what follows is the order's d-th in memory.
      const std::vector<int64_t> sizes = {2, 3, channels};
      std::vector<int64_t> stored, back(3);
      for (int64_t d = 0; d < 3; ++d) {
        stored.push_back(sizes[static_cast<size_t>(order[static_cast<size_t>(d)])]);
        back[static_cast<size_t>(order[static_cast<size_t>(d)])] = d;
      }
      const Tensor mean = zeros(stored, TensorOptions(kDouble)).permute(back), var = ones_like(mean);
      const auto inner = [&](const Tensor& a, const Tensor& m, const Tensor& v) { return vmap(norm)(a, m, v); };
      EXPECT_EQ(errorOf([&] { vmap(inner)(x, mean, var); }), "no error") << channels << ' ' << IntArrayRef(order);
      EXPECT_LT(distance(mean, expected), 1e-14) << channels << ' ' << IntArrayRef(order);
    }
  }
}

// The loop's result is a copy, and what is written to it would be lost.
TEST(VmapWrites, ViewOperatorsWithoutRuleAreRefusedUntilTheyHaveOne) {
  Library lib(Library::Kind::kDef, "vmap_views");
  lib.def("row(Tensor(a) x) -> Tensor(a)");
  lib.impl("row", DispatchKey::CPU, [](const Tensor& t) { return ops::view::call(t, {-1}); });
  const auto row = Dispatcher::singleton().findSchemaOrThrow("vmap_views::row", "").typed<Tensor(const Tensor&)>();
  const auto f = [&](const Tensor& x) {
    Tensor c = x.clone();
    row.call(c).add_(100);
    return c;
  };
  const Tensor x = randn({3, 2});
  EXPECT_TRUE(sameValues(f(x[0]), x[0] + 100));
  EXPECT_THAT(errorOf([&] { vmap(f)(x); }),
              testing::AllOf(testing::HasSubstr("vmap_views::row"), testing::HasSubstr("shunt::register_vmap")));
  {
    Library rules(Library::Kind::kImpl, "vmap_views", DispatchKey::Batched);
    rules.impl("row", [](const Tensor& t) { return ops::view::call(t, {-1}); });
    EXPECT_TRUE(sameValues(vmap(f)(x), x + 100));
  }
  EXPECT_THAT(errorOf([&] { vmap(f)(x); }), testing::HasSubstr("vmap_views::row"));
}

}  // namespace
}  // namespace shunt::test
