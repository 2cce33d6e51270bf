// grad, value_and_grad, vjp, jacrev, hessian, and how they nest with vmap and with autograd outside.
#include "tests/vmap/util.h"

#include <shunt/trace/trace.h>
#include <shunt/transforms/autocast.h>
#include <shunt/transforms/functionalize.h>

namespace shunt::test {
namespace {

Tensor plainGrad(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  const Tensor leaf = x.detach().requires_grad_();
  return autograd::grad({f(leaf)}, {leaf})[0];
}

Tensor cube(const Tensor& x) { return (x * x * x).sum(); }

// Neither the matrix nor what it is multiplied with has a batch in the vmap: their composites' parts come to the grad.
TEST(GradOfVmap, CompositesOfWhatHasNoBatch) {
  const Tensor w = randn({3, 4}), x = randn({4}), y = randn({5}), target = zeros({3}, TensorOptions(kLong));
  const std::vector<std::function<Tensor(const Tensor&)>> composites = {
      [&](const Tensor& t) { return t.matmul(x); },
      [&](const Tensor& t) { return linear(x, t); },
      [](const Tensor& t) { return t.log_softmax(-1); },
      [](const Tensor& t) { return layer_norm(t, {4}); },
      [](const Tensor& t) { return t.reshape({4, 3}); },
      [](const Tensor& t) { return outer(t.flatten(), t.select(0, 0)); },
      [&](const Tensor& t) { return cross_entropy_loss(t, target); },
  };
  for (const auto& f : composites) {
    const auto each = [&](const Tensor& t) { return vmap([&](const Tensor& s) { return (f(t) * s).sum(); })(y).sum(); };
    const auto loop = [&](const Tensor& t) {
      Tensor sum = zeros({});
      for (int64_t i = 0; i < 5; ++i) sum = sum + (f(t) * y[i]).sum();
      return sum;
    };
    EXPECT_LT(distance(grad(each)(w), grad(loop)(w)), 1e-5);
  }
}

TEST(Grad, EqualsBackward) {
  const Tensor x = randn({3, 4});
  const auto f = [](const Tensor& t) { return t.sigmoid().mm(t.t()).exp().mean(); };
  EXPECT_TRUE(sameValues(grad(f)(x), plainGrad(f, x)));
  const auto [value, g] = value_and_grad(f)(x);
  EXPECT_TRUE(sameValues(value, f(x)));
  EXPECT_TRUE(sameValues(g, plainGrad(f, x)));
  EXPECT_FALSE(g.requires_grad());
  EXPECT_FALSE(x.requires_grad());
}

TEST(Grad, OfSeveralArgumentsAndContainers) {
  const Tensor x = randn({3}), y = randn({3});
  const auto f = [](const Tensor& a, const Tensor& b) { return (a * a * b).sum(); };
  const std::vector<Tensor> both = grad(f, {0, -1})(x, y);
  EXPECT_TRUE(sameValues(both[0], grad(f)(x, y)));
  EXPECT_TRUE(sameValues(both[1], x * x));
  const std::vector<Tensor> turned = grad(f, {-1, 0})(x, y);
  EXPECT_TRUE(sameValues(turned[0], both[1]) && sameValues(turned[1], both[0]));
  const auto g = grad([](const std::vector<Tensor>& p) { return (p[0] * p[1]).sum(); })(std::vector<Tensor>{x, y});
  EXPECT_TRUE(sameValues(g[0], y));
  EXPECT_TRUE(sameValues(g[1], x));
}

TEST(Grad, OfWhatTheResultDoesNotDependOnIsZero) {
  const Tensor x = randn({3}), y = randn({3});
  const auto f = [&](const Tensor&) { return y.sum(); };
  EXPECT_TRUE(sameValues(grad(f)(x), zeros({3})));
}

// The frequency is that among the sample's own indices.
TEST(Grad, OfAnEmbeddingScaledByFrequencyInSamples) {
  const Tensor weight = randn({5, 3}), factor = randn({2, 4, 3});
  const Tensor at = tensor(std::vector<int64_t>{1, 1, 4, 1, 0, 1, 0, 2}).to(kLong).reshape({2, 4});
  const auto loss = [](const Tensor& w, const Tensor& of, const Tensor& by) {
    return embedding(w, of, -1, true).mul(by).sum();
  };
  const auto of_one = grad(loss);
  const VmapCounters before = vmap_counters();
  const Tensor got = vmap(of_one, {.in_dims = {std::nullopt, 0, 0}})(weight, at, factor);
  EXPECT_EQ(vmap_counters().fallbacks, before.fallbacks);
  for (int64_t i = 0; i < 2; ++i) EXPECT_LT(distance(got[i], of_one(weight, at[i], factor[i])), 1e-6) << i;
  EXPECT_GT(distance(got[0], got[1]), 0.1);
}

TEST(Grad, NestsInItself) {
  const Tensor x = randn({4}, TensorOptions(kDouble));
  const auto first = [](const Tensor& t) { return grad(cube)(t).sum(); };
  EXPECT_LT(distance(grad(first)(x), 6 * x), 1e-14);
  const auto second = [&](const Tensor& t) { return grad(first)(t).sum(); };
  EXPECT_LT(distance(grad(second)(x), zeros_like(x) + 6), 1e-14);
}

TEST(Grad, OfWhatAnInnerGradTakesAsConstant) {
  // d/dx (x * d/dy (x y^2)) at y = x: x * 2 x x = 2 x^3.
  const Tensor x = full({}, 3.0, TensorOptions(kDouble));
  const auto f = [](const Tensor& a) { return a * grad([&](const Tensor& y) { return a * y * y; })(a); };
  EXPECT_DOUBLE_EQ(grad(f)(x).item<double>(), 6 * 9.0);
}

TEST(Grad, PerSampleInsideVmap) {
  const Tensor w = randn({3}), x = randn({5, 4, 3}), y = randn({5, 4});
  const auto loss = [](const Tensor& p, const Tensor& in, const Tensor& out) {
    return (in.mv(p).tanh() - out).square().mean();
  };
  const Tensor each = vmap(grad(loss), {.in_dims = {std::nullopt, 0, 0}})(w, x, y);
  std::vector<Tensor> expected;
  for (int64_t i = 0; i < 5; ++i)
    expected.push_back(plainGrad([&](const Tensor& p) { return loss(p, x[i], y[i]); }, w));
  EXPECT_LT(distance(each, stack(expected)), 1e-6);
}

TEST(Grad, OutsideVmapSumsOverTheBatch) {
  const Tensor w = randn({3}), x = randn({5, 3});
  const auto f = [&](const Tensor& p) { return vmap([&](const Tensor& in) { return (in * p).exp().sum(); })(x).sum(); };
  EXPECT_LT(distance(grad(f)(w), (x * (x * w).exp()).sum(0)), 1e-6);
}

TEST(Grad, OfVmapOfGrad) {
  // sum over samples of |d/dw (w . x)^2 / 2|^2 = (w . x)^2 |x|^2, differentiated by w.
  const TensorOptions d(kDouble);
  const Tensor w = randn({3}, d), x = randn({5, 3}, d);
  const auto inner = [](const Tensor& p, const Tensor& in) { return (p * in).sum().square() / 2; };
  const auto f = [&](const Tensor& p) {
    return vmap(grad(inner), {.in_dims = {std::nullopt, 0}})(p, x).square().sum();
  };
  const Tensor expected = (2 * x.mv(w) * x.square().sum(1)).unsqueeze(1).mul(x).sum(0);
  EXPECT_LT(distance(grad(f)(w), expected), 1e-14);
}

TEST(Grad, AutogradOutsideGoesOn) {
  const Tensor x = randn({4}, TensorOptions(kDouble)).requires_grad_(), w = full_like(x, 2).requires_grad_();
  const Tensor g = grad([&](const Tensor& t) { return (t * t * t * w).sum(); })(x);
  EXPECT_TRUE(g.requires_grad());
  g.sum().backward();
  EXPECT_LT(distance(x.grad(), 6 * x.detach() * 2), 1e-14);
  EXPECT_LT(distance(w.grad(), 3 * x.detach().square()), 1e-14);
}

TEST(Grad, GradModeBelongsToTheLevel) {
  const Tensor x = randn({3}, TensorOptions(kDouble)).requires_grad_(),
               w = randn({3}, TensorOptions(kDouble)).requires_grad_();
  {
    const NoGradGuard outside;
    EXPECT_LT(distance(grad(cube)(x), 3 * x.detach().square()), 1e-14);
    EXPECT_FALSE(grad(cube)(x).requires_grad());
  }
  {
    const InferenceMode inference;
    EXPECT_LT(distance(grad(cube)(x), 3 * x.detach().square()), 1e-14);
    EXPECT_TRUE(grad(cube)(ones({2})).is_inference());
  }
  // Inside, no_grad cuts the level's graph and not that of the levels outside.
  const auto [value, g] = value_and_grad([&](const Tensor& t) {
    Tensor cut, constant;
    {
      const NoGradGuard inside;
      cut = t * t;
      constant = w * 2;
    }
    return (cut * t * constant).sum();
  })(x);
  EXPECT_LT(distance(g.detach(), (x * x * w * 2).detach()), 1e-14);
  value.backward();
  EXPECT_LT(distance(x.grad(), (3 * x * x * w * 2).detach()), 1e-14);
  EXPECT_LT(distance(w.grad(), (2 * x * x * x).detach()), 1e-14);
}

TEST(Grad, AutocastInsideAndOutside) {
  const Tensor w = randn({3, 3}), x = randn({2, 3});
  const auto f = [&](const Tensor& p) { return x.mm(p).to(kFloat).sum(); };
  const auto cast_inside = [&](const Tensor& p) {
    const AutocastGuard autocast(kCPU, kBFloat16);
    return f(p);
  };
  const Tensor leaf = w.clone().requires_grad_();
  const Tensor expected = autograd::grad({cast_inside(leaf)}, {leaf})[0];
  EXPECT_TRUE(sameValues(grad(cast_inside)(w), expected));
  const AutocastGuard autocast(kCPU, kBFloat16);
  f(leaf);  // the guard's cache has a cast of this storage now
  EXPECT_TRUE(sameValues(grad(f)(leaf).detach(), expected));
  EXPECT_TRUE(sameValues(vmap(grad(f))(w.unsqueeze(0))[0], expected));
}

TEST(Grad, WritesInsideAreDifferentiated) {
  const Tensor x = rand({3}, TensorOptions(kDouble));
  const auto f = [](const Tensor& t) {
    Tensor y = t.clone();
    y.sigmoid_();
    y = y * y;
    y.mul_(2);
    y[0].mul_(3);
    return y.sum();
  };
  EXPECT_TRUE(sameValues(grad(f)(x), plainGrad(f, x)));
  const auto twice = [&](const Tensor& t) { return grad(f)(t).sum(); };
  const auto plain_twice = [&](const Tensor& t) { return autograd::grad({f(t)}, {t}, {}, {}, true)[0].sum(); };
  EXPECT_LT(distance(grad(twice)(x), plainGrad(plain_twice, x)), 1e-14);
  EXPECT_LT(distance(vmap(grad(f))(x.expand({2, 3}))[1], plainGrad(f, x)), 1e-14);
}

// Its backward is wrong on purpose, to be told from that of its forward's operators.
struct TimesThree : autograd::Function<TimesThree> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& t) { return t * 2; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list g) { return {g[0] * 3}; }
};

TEST(Grad, CustomFunctionsKeepTheirBackward) {
  const Tensor x = randn({4, 3});
  const auto f = [](const Tensor& t) { return TimesThree::apply(t).sum(); };
  EXPECT_TRUE(sameValues(grad(f)(x[0]), zeros({3}) + 3));
  EXPECT_TRUE(sameValues(vmap(grad(f))(x), zeros({4, 3}) + 3));
  EXPECT_TRUE(sameValues(vmap([](const Tensor& t) { return TimesThree::apply(t); })(x), x * 2));
}

TEST(Vjp, PullsBackOftenAndInsideVmap) {
  const Tensor x = randn({3}), y = randn({3});
  const auto f = [](const Tensor& a, const Tensor& b) { return std::make_pair(a * b, a.exp()); };
  const auto [out, pullback] = vjp(f, x, y);
  EXPECT_TRUE(sameValues(out.first, x * y));
  const Tensor u = randn({3}), v = randn({3});
  for (int i = 0; i < 2; ++i) {
    const auto [gx, gy] = pullback(std::make_pair(u, v));
    EXPECT_LT(distance(gx, u * y + v * x.exp()), 1e-6);
    EXPECT_TRUE(sameValues(gy, u * x));
  }
  const Tensor us = randn({4, 3}), vs = randn({4, 3});
  const auto [gx, gy] = vmap(pullback)(std::make_pair(us, vs));
  EXPECT_LT(distance(gx, us * y + vs * x.exp()), 1e-6);
  EXPECT_TRUE(sameValues(gy, us * x));
}

TEST(Vjp, ATensorWithoutGradientLeavesTheOthersInPlace) {
  using Places = std::tuple<Tensor, std::optional<Tensor>, std::vector<Tensor>, std::pair<Tensor, Tensor>>;
  const Tensor x = randn({3}), u = randn({3}), v = randn({3}), none;
  const auto f = [&](const Tensor& t) -> Places { return {none, t.sin(), {t.exp(), t * t}, {t.argmax(), t.sum()}}; };
  const auto [out, pullback] = vjp(f, x);
  const auto expectIt = [&, &pull = pullback](const Places& given, const Tensor& expected) {
    EXPECT_LT(distance(pull(given), expected), 1e-6);
  };
  const Tensor sine = u * x.cos(), zero = zeros({3});
  expectIt({none, u, {none, none}, {none, none}}, sine);
  expectIt({v, u, {none, v}, {none, none}}, sine + v * x * 2);  // nothing depends on an undefined result
  expectIt({v, std::nullopt, {v, none}, {none, none}}, v * x.exp());
  expectIt({none, none, {none, v}, {zeros({}, TensorOptions(kLong)), ones({})}}, v * x * 2 + 1);
  expectIt({none, std::nullopt, {none, none}, {none, none}}, zero);
  const auto each =
      vmap([&, &pull = pullback](const Tensor& t) { return pull({none, t, {none, none}, {none, none}}); });
  EXPECT_LT(distance(each(stack({u, v})), stack({u, v}) * x.cos()), 1e-6);
  EXPECT_THAT(errorOf([&, &pull = pullback] { pull({none, u, {}, {none, none}}); }),
              testing::HasSubstr("for 6 tensors, got 4"));
  EXPECT_THAT(errorOf([&, &pull = pullback] { pull({none, u, {none, ones({2})}, {none, none}}); }),
              testing::HasSubstr("for result 3 has shape [2]"));
  const auto sum = [](const Tensor& t) { return t.sum(); };
  EXPECT_TRUE(sameValues(vjp(sum, x).second(none), zero));
  const auto list = [](const Tensor& t) { return Tensors{t.sum()}; };
  EXPECT_THAT(errorOf([&] { vjp(list, x).second({}); }), testing::HasSubstr("for 1 tensors, got 0"));
}

// As backward() does, where what a graph saved was written after it was recorded.
TEST(Vjp, ThrowsWhereWhatThePullbackNeedsWasWritten) {
  using Write = std::function<void(Tensor & primal, Tensor & result)>;
  const std::vector<std::pair<const char*, Write>> writes = {
      {"nothing", [](Tensor&, Tensor&) {}},
      {"the primal", [](Tensor& p, Tensor&) { p.mul_(2); }},
      {"a part of the primal", [](Tensor& p, Tensor&) { p.view({-1}).slice(0, 0, 1).zero_(); }},
      {"the primal's data", [](Tensor& p, Tensor&) { p.data().mul_(2); }},
      {"the result", [](Tensor&, Tensor& r) { r.mul_(2); }},
      {"a part of the result", [](Tensor&, Tensor& r) { r.view({-1}).slice(0, 0, 1).zero_(); }},
  };
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> functions = {
      {"saves its result", [](const Tensor& x) { return x.exp(); }},
      {"saves its argument", [](const Tensor& x) { return x.sin(); }},
      {"saves nothing", [](const Tensor& x) { return x * 2; }},
      {"saves both", [](const Tensor& x) { return x * x.sigmoid(); }},
      {"returns a part of what it saved", [](const Tensor& x) { return x.exp().slice(0, 0, 2).unsqueeze(0); }},
      {"saves a view", [](const Tensor& x) { return x.view({-1}) * x.view({-1}); }},
      {"writes", [](const Tensor& x) { return (x * 1).exp_(); }},
      {"writes to a view",
       [](const Tensor& x) {
         const Tensor y = x * 1;
         y[0].exp_();
         return y;
       }},
      {"returns its argument", [](const Tensor& x) { return x; }},
  };
  const Tensor x = rand({3}, TensorOptions(kDouble)) + 0.5;
  for (const auto& [does, f] : functions)
    for (const auto& [what, write] : writes)
      for (const bool twice : {false, true}) {
        SCOPED_TRACE(detail::str(does, ", then written: ", what, twice ? ", pulled back before" : ""));
        const auto backward = [&, &f = f, &write = write](const Tensor& start) {
          Tensor primal = start.clone();
          const Tensor leaf = primal.detach().requires_grad_(), out = f(leaf);
          if (twice) autograd::grad({out}, {leaf}, {ones_like(out)}, true);
          Tensor result = out.detach();
          write(primal, result);
          return autograd::grad({out}, {leaf}, {ones_like(out)})[0];
        };
        const auto pulled_back = [&, &f = f, &write = write](const Tensor& start) {
          Tensor primal = start.clone();
          auto [result, pullback] = vjp(f, primal);
          const Tensor seed = ones_like(result);
          if (twice) pullback(seed);
          write(primal, result);
          return pullback(seed);
        };
        Tensor expected, got, of_samples;
        const std::string refused = errorOf([&] { expected = backward(x); });
        const std::string error = errorOf([&] { got = pulled_back(x); });
        const std::string in_vmap = errorOf([&] { of_samples = vmap(pulled_back)(x.unsqueeze(0)); });
        const char* kModified = "modified by an inplace operation";
        ASSERT_EQ(expected.defined(), got.defined()) << error << refused;
        ASSERT_EQ(expected.defined(), of_samples.defined()) << in_vmap << refused;
        if (expected.defined()) {
          EXPECT_TRUE(sameValues(got, expected));
          EXPECT_TRUE(sameValues(of_samples[0], expected));
        } else {
          for (const std::string& e : {refused, error, in_vmap}) EXPECT_THAT(e, testing::HasSubstr(kModified));
        }
      }
}

TEST(Vjp, ThrowsWhereACapturedTensorWasWritten) {
  const Tensor leaf = rand({3}).requires_grad_();
  for (const Tensor& captured : {leaf.detach().clone(), leaf * 2, (leaf * 2).view({3})}) {
    const auto [result, pullback] = vjp([&](const Tensor& t) { return t * captured; }, ones({3}));
    captured.detach().mul_(2);
    EXPECT_THAT(errorOf([&, &pull = pullback] { pull(ones({3})); }),
                testing::HasSubstr("modified by an inplace operation"));
  }
}

TEST(Vjp, CountsWhatIsWrittenUnderOtherTransforms) {
  const auto f = [](const Tensor& start) {
    Tensor primal = start.clone();
    const auto [result, pullback] = vjp([](const Tensor& t) { return t * t; }, primal);
    primal.mul_(2);
    return pullback(ones({3}));
  };
  const auto scaled = [&](const Tensor& s) { return f(ones({3}) * s).sum(); };
  const Tensor x = ones({3});
  for (const std::string& error :
       {errorOf([&] { functionalize(f)(x); }), errorOf([&] { trace(f, x); }), errorOf([&] { grad(scaled)(ones({})); })})
    EXPECT_THAT(error, testing::HasSubstr("modified by an inplace operation"));
}

TEST(Jacrev, OfFunctionsOfAllShapes) {
  const TensorOptions d(kDouble);
  const Tensor x = randn({2, 3}, d), w = randn({3, 4}, d);
  const auto f = [](const Tensor& a, const Tensor& b) { return a.mm(b).tanh(); };
  const Tensor j = jacrev<1>(f)(x, w);
  ASSERT_EQ(j.sizes(), IntArrayRef({2, 4, 3, 4}));
  const Tensor slope = 1 - f(x, w).square();
  for (int64_t r = 0; r < 2; ++r)
    for (int64_t c = 0; c < 4; ++c) {
      Tensor row = zeros({3, 4}, d);
      row.select(1, c).copy_(x[r] * slope[r][c]);
      EXPECT_LT(distance(j[r][c], row), 1e-14);
    }
  EXPECT_TRUE(sameValues(jacrev<1>(f, 3)(x, w), j)) << "in chunks";
  EXPECT_EQ(jacrev([](const Tensor& t) { return t.sum(); })(x).sizes(), x.sizes());
}

TEST(Hessian, EqualsTheFormula) {
  const Tensor x = randn({4}, TensorOptions(kDouble));
  const auto f = [](const Tensor& t) { return (t * t * t).sum() + t[0] * t[1]; };
  Tensor expected = zeros({4, 4}, TensorOptions(kDouble));
  expected.diagonal().copy_(6 * x);
  expected[0][1].add_(1);
  expected[1][0].add_(1);
  EXPECT_LT(distance(hessian(f)(x), expected), 1e-14);
  const Tensor batch = stack({x, 2 * x});
  const Tensor each = vmap(hessian(f))(batch);
  EXPECT_LT(distance(each[0], expected), 1e-14);
  EXPECT_LT(distance(each[1], hessian(f)(2 * x)), 1e-14);
}

TEST(Levels, AreLeftByExceptions) {
  const Tensor x = randn({3, 2});
  struct Boom {};
  const auto thrower = [](const Tensor& t) -> Tensor {
    grad([](const Tensor& u) -> Tensor {
      vmap([](const Tensor&) -> Tensor { throw Boom(); })(u);
      return u;
    })(t);
    return t;
  };
  EXPECT_THROW(vmap(thrower)(x), Boom);
  const Tensor leaf = randn({3}).requires_grad_();
  EXPECT_TRUE((leaf * 2).requires_grad());
  EXPECT_EQ(tls_included(), DispatchKeySet::fromRaw(detail::kDefaultIncluded));
  EXPECT_EQ(tls_excluded(), DispatchKeySet::fromRaw(detail::kDefaultExcluded));
  EXPECT_TRUE(GradMode::is_enabled());
}

}  // namespace
}  // namespace shunt::test
