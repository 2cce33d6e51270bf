// Per-sample gradients of the digits network: vmap of grad equals a backward for each sample, with and without
// autocast.
#include "examples/digits/model.h"
#include "tests/vmap/util.h"

#include <shunt/transforms/autocast.h>

namespace shunt::test {
namespace {

constexpr int64_t kBatch = 32;

Tensor loss(const Tensors& w, const Tensor& x, const Tensor& y) {
  return cross_entropy_loss(linear(relu(linear(x, w[0], w[1])), w[2], w[3]), y);
}

struct DigitsTest : testing::Test {
  const digits::Net net{3};
  const Tensor x = randn({kBatch, 64}), y = randint(10, {kBatch}, TensorOptions(kLong));

  Tensors detached() const {
    Tensors all;
    for (const Tensor& p : net.parameters()) all.push_back(p.detach());
    return all;
  }
  /// The oracle: forward and backward for each sample, stacked.
  Tensors looped() const {
    std::vector<Tensors> columns(4);
    for (int64_t i = 0; i < kBatch; ++i) {
      const Tensors p = net.parameters();
      const Tensors g = autograd::grad({loss(p, x[i], y[i])}, p);
      for (size_t k = 0; k < 4; ++k) columns[k].push_back(g[k]);
    }
    Tensors all;
    for (const Tensors& c : columns) all.push_back(stack(c));
    return all;
  }
};

TEST_F(DigitsTest, GradientsOfSamplesEqualTheLoop) {
  const auto per_sample = vmap(grad(loss), {.in_dims = {std::nullopt, 0, 0}});
  const VmapCounters before = vmap_counters();
  for (int round = 0; round < 6; ++round) {  // interpreted at first, compiled where there is a compiler
    const Tensors got = per_sample(detached(), x, y), expected = looped();
    ASSERT_EQ(got.size(), 4u);
    for (size_t k = 0; k < 4; ++k) EXPECT_LT(distance(got[k], expected[k]), 2e-6) << k;
  }
  EXPECT_EQ(vmap_counters().fallbacks, before.fallbacks);
}

// One product and one sum, where the composite's parts would be five operators.
TEST_F(DigitsTest, ALayerOfARowIsTwoOperators) {
  const Tensor w = net.w1.detach(), b = net.b1.detach();
  const auto layer = [&](const Tensor& row) { return linear(row, w, b); };
  const VmapCounters before = vmap_counters();
  const Tensor got = vmap(layer)(x);
  EXPECT_EQ(vmap_counters().rules - before.rules, 2u);
  EXPECT_LT(distance(got, linear(x, w, b)), 2e-6);
  // Another number of operators where it is another call: a matrix for each sample, or parameters of each.
  EXPECT_LT(distance(vmap(layer)(x.unsqueeze(1)), linear(x, w, b).unsqueeze(1)), 2e-6);
  const Tensor many = stack({w, w * 2}), two = x.slice(0, 0, 2);
  const Tensor each = vmap([&](const Tensor& row, const Tensor& own) { return linear(row, own, b); })(two, many);
  EXPECT_LT(distance(each, stack({linear(two[0], w, b), linear(two[1], w * 2, b)})), 2e-6);
  EXPECT_THAT(errorOf([&] { vmap([&](const Tensor& row) { return linear(row, w.t(), b); })(x); }),
              testing::HasSubstr("shapes cannot be multiplied"));
}

// What runs in the place of the composites computes what the library's would.
TEST_F(DigitsTest, AProgramsOwnCompositeIsCalled) {
  const Tensor w = net.w1.detach(), b = net.b1.detach();
  const auto layer = [&](const Tensor& row) { return linear(row, w, b); };
  const auto product = [&](const Tensor& row) { return outer(row, row); };
  const Tensor plain = vmap(layer)(x), square = vmap(product)(x);
  {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::CompositeImplicitAutograd);
    library.impl(
        "linear", +[](const Tensor& input, const Tensor& weight, const std::optional<Tensor>&) {
          return input.matmul(weight.t()) * 100;
        });
    library.impl("outer", +[](const Tensor& self, const Tensor& vec2) { return self.unsqueeze(1) * vec2 * 100; });
    EXPECT_LT(distance(vmap(layer)(x), x.matmul(w.t()) * 100), 2e-4);
    EXPECT_LT(distance(vmap(product)(x), square * 100), 2e-4);
  }
  EXPECT_LT(distance(vmap(layer)(x), plain), 2e-6);
  EXPECT_LT(distance(vmap(product)(x), square), 2e-6);
}

// Nor what the composites call, in whose place another product would run.
TEST_F(DigitsTest, AProgramsOwnKernelsOfThePartsAreCalled) {
  const Tensor w = net.w1.detach(), b = net.b1.detach();
  const auto layer = [&](const Tensor& row) { return linear(row, w, b); };
  const auto product = [&](const Tensor& row) { return outer(row, row); };
  const Tensor plain = vmap(layer)(x), square = vmap(product)(x);
  const auto looped = [&](const auto& f) {
    Tensors rows;
    for (int64_t i = 0; i < x.size(0); ++i) rows.push_back(f(x[i]));
    return stack(rows);
  };
  {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    library.impl(
        "mul.Tensor", +[](const Tensor& self, const Tensor& other) { return div(self, reciprocal(other)) + 100; });
    EXPECT_LT(distance(vmap(product)(x), looped(product)), 2e-4);
    EXPECT_GT(distance(vmap(product)(x), square), 0.5);
    EXPECT_LT(distance(vmap(layer)(x), plain), 2e-6) << "calls no mul";
  }
  {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    library.impl("bmm", +[](const Tensor& self, const Tensor& other) { return matmul(self[0], other[0]) * 0; });
    EXPECT_LT(distance(vmap(product)(x), square), 2e-6) << "outer calls no bmm";
  }
  {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::AutogradCPU);
    library.impl(
        "mul.Tensor", +[](DispatchKeySet keys, const Tensor& self, const Tensor& other) {
          return ops::mul_Tensor::redispatch(keys & DispatchKeySet::fullAfter(DispatchKey::AutogradCPU), self, other) +
                 100;
        });
    const Tensor rows = x.detach().requires_grad_();
    EXPECT_GT(distance(vmap(product)(rows).detach(), square), 0.5);
  }
  {
    Library library(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    library.impl(
        "mm",
        +[](const Tensor& self, const Tensor& other) { return (self.unsqueeze(2) * other.unsqueeze(0)).sum(1) * 3; });
    EXPECT_LT(distance(vmap(layer)(x), looped(layer)), 2e-5);
    EXPECT_GT(distance(vmap(layer)(x), plain), 0.5);
  }
  EXPECT_TRUE(sameValues(vmap(product)(x), square));
  EXPECT_TRUE(sameValues(vmap(layer)(x), plain));
}

TEST_F(DigitsTest, SecondGradientsOfALayerEqualTheLoop) {
  const Tensor w = net.w2.detach().to(kDouble), b = net.b2.detach().to(kDouble);
  const Tensor rows = randn({3, digits::Net::kHidden}, TensorOptions(kDouble));
  const auto size = [&](const Tensor& weight, const Tensor& row) { return linear(row, weight, b).tanh().sum(); };
  const auto slope = [&](const Tensor& weight, const Tensor& row) { return grad(size)(weight, row).square().sum(); };
  const Tensor got = vmap(grad(slope), {.in_dims = {std::nullopt, 0}})(w, rows);
  for (int64_t i = 0; i < 3; ++i) EXPECT_LT(distance(got[i], grad(slope)(w, rows[i])), 1e-12) << i;
}

TEST_F(DigitsTest, AnOuterProductOfSamplesIsOneProduct) {
  const Tensor a = randn({5, 3}), b = randn({5, 4});
  const auto product = [](const Tensor& s, const Tensor& t) { return outer(s, t); };
  const VmapCounters before = vmap_counters();
  const Tensor got = vmap(product)(a, b);
  EXPECT_EQ(vmap_counters().rules, before.rules);  // not by its parts
  EXPECT_TRUE(sameValues(got, a.unsqueeze(2) * b.unsqueeze(1)));
  EXPECT_TRUE(sameValues(vmap(product)(a, b.to(kDouble)), a.unsqueeze(2) * b.to(kDouble).unsqueeze(1)));
  EXPECT_TRUE(sameValues(vmap(product, {.in_dims = {1, 0}})(a.t().contiguous(), b), got));
}

TEST_F(DigitsTest, UnderAutocastToo) {
  const AutocastGuard autocast(kCPU, kBFloat16);
  const Tensors got = vmap(grad(loss), {.in_dims = {std::nullopt, 0, 0}})(detached(), x, y), expected = looped();
  for (size_t k = 0; k < 4; ++k) EXPECT_LT(distance(got[k], expected[k]), 2e-2) << k;
}

TEST_F(DigitsTest, InChunks) {
  const auto whole = vmap(grad(loss), {.in_dims = {std::nullopt, 0, 0}})(detached(), x, y);
  const auto chunks = vmap(grad(loss), {.in_dims = {std::nullopt, 0, 0}, .chunk_size = 5})(detached(), x, y);
  for (size_t k = 0; k < 4; ++k) EXPECT_LT(distance(chunks[k], whole[k]), 2e-6) << k;
}

}  // namespace
}  // namespace shunt::test
