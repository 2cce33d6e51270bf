// vmap and grad under autocast: an operator is cast as it is without them, wherever the guard stands and whatever runs
// around.
#include "tests/support/wrapper.h"
#include "tests/vmap/util.h"

#include <shunt/transforms/functionalize.h>

namespace shunt::test {
namespace {

struct Case {
  const char* name;
  Tensor (*run)(const Tensor& a, const Tensor& w);  // of [4, 4]
};
const Case kCases[] = {
    {"mm", [](const Tensor& a, const Tensor& w) { return a.mm(w); }},
    {"mv", [](const Tensor& a, const Tensor& w) { return a.mv(w[0]); }},
    {"mv of the other", [](const Tensor& a, const Tensor& w) { return w.mv(a[0]); }},
    {"dot", [](const Tensor& a, const Tensor& w) { return a[0].dot(w[0]); }},
    {"outer", [](const Tensor& a, const Tensor& w) { return outer(a[0], w[0]); }},
    {"addmm", [](const Tensor& a, const Tensor& w) { return addmm(a, a, w); }},
    {"linear", [](const Tensor& a, const Tensor& w) { return linear(a[0], w, w[0]); }},
    {"matmul", [](const Tensor& a, const Tensor& w) { return matmul(a, w); }},
    {"layer_norm", [](const Tensor& a, const Tensor& w) { return layer_norm(a.to(kBFloat16), {4}, w[0]); }},
    {"mse_loss", [](const Tensor& a, const Tensor& w) { return mse_loss(a.to(kBFloat16), w.to(kBFloat16)); }},
};

/// The same with another guard around.
struct Setting {
  const char* name;
  std::optional<bool> outside;
  std::optional<bool> inside;
  ScalarType inside_dtype = kBFloat16;
};
constexpr Setting kSettings[] = {{"inside", {}, true},
                                 {"outside", true, {}},
                                 {"off inside", true, false},
                                 {"another dtype inside", true, true, kHalf}};

class VmapAutocast : public testing::TestWithParam<size_t> {
 protected:
  const Setting& setting() const { return kSettings[GetParam()]; }
  std::function<Tensor(const Tensor&)> function(const Case& c) {
    return [this, &c](const Tensor& a) {
      std::optional<AutocastGuard> guard;
      if (setting().inside) guard.emplace(kCPU, setting().inside_dtype, *setting().inside);
      const Tensor made = c.run(a, w);
      dtype = made.dtype();
      return made.to(kFloat).sum();
    };
  }
  const Tensor w = numbers(3), x = numbers(4);
  ScalarType dtype = kByte;

 private:
  static Tensor numbers(uint64_t seed) {
    manual_seed(seed);
    return randn({4, 4});
  }
};

TEST_P(VmapAutocast, CastsAsTheFunctionDoes) {
  for (const Case& c : kCases) {
    const auto f = function(c);
    std::optional<AutocastGuard> guard;
    if (setting().outside) guard.emplace(kCPU);
    const Tensor expected = f(x), leaf = x.clone().requires_grad_();
    const ScalarType cast = dtype;
    const Tensor gradient = autograd::grad({f(leaf)}, {leaf})[0];
    const auto check = [&](const char* how, const std::function<std::pair<Tensor, Tensor>(const Tensor&)>& run) {
      dtype = kByte;
      const auto [value, g] = run(x);
      EXPECT_LT(distance(value, expected), 1e-2) << c.name << ' ' << how;
      EXPECT_LT(distance(g, gradient), 1e-2) << c.name << ' ' << how;
      EXPECT_EQ(dtype, cast) << c.name << ' ' << how;
    };
    const auto both = [&](const Tensor& t) { return value_and_grad(f)(t); };
    const auto first = [](const auto& pair) { return std::pair(pair.first[0], pair.second[0]); };
    check("grad", both);
    check("vmap(grad)", [&](const Tensor& t) { return first(vmap(both)(stack({t, t}))); });
    check("vmap, grad", [&](const Tensor& t) {
      const auto sum = [&](const Tensor& all) { return vmap(f)(all).sum(); };
      const Tensor all = stack({t, t});
      return std::pair(vmap(f)(all)[0], grad(sum)(all)[0]);
    });
    check("functionalize", functionalize(both));
    check("trace", [&](const Tensor& t) {
      const std::vector<Tensor> out = trace(both, t).run({t});
      return std::pair(out[0], out[1]);
    });
    check("compile", [&](const Tensor& t) {
      auto fast = compile(both);
      fast(t), fast(t);
      const auto result = fast(t);
      EXPECT_EQ(fast.counts().hits, 2u) << fast.explain();
      const auto plain = both(t);
      EXPECT_TRUE(sameValues(result.first, plain.first) && sameValues(result.second, plain.second)) << c.name;
      return result;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Guard, VmapAutocast, testing::Range(size_t{0}, std::size(kSettings)));

TEST(Autocast, CastsATensorSubclassInGrad) {
  ScalarType seen = kByte;
  const auto f = [&](const Tensor& t) {
    const AutocastGuard autocast(kCPU);
    const Tensor y = t.mm(t);
    seen = y.dtype();
    return y.to(kFloat).sum();
  };
  grad(f)(wrap<Wrapper>(ones({2, 2})));
  EXPECT_EQ(seen, kBFloat16);
}

}  // namespace
}  // namespace shunt::test
