// vmap and grad in pairs with others: modes in the kernels' place and fake tensors; and what a function may write. The
// oracle is the program without the other one.
#include "tests/vmap/util.h"

#include <shunt/compile/compile.h>
#include <shunt/interpose/dispatch_mode.h>
#include <shunt/transforms/fake_tensor.h>

#include <utility>

namespace shunt::test {
namespace {

Tensor numbers(IntArrayRef sizes) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return arange(n).to(kFloat).add(1).div(7).view(sizes);
}

using Named = std::pair<const char*, std::function<Tensor(const Tensor&)>>;

// ---- modes in the kernels' place ----------------------------------------------------------------------------------
struct Pass : DispatchMode {
  explicit Pass(Level level) : at(level) {}
  Level level() const override { return at; }
  void handle(const OperatorHandle& op, Stack* stack) override {
    composites += op.operator_name().name == "aten::linear" || op.operator_name().name == "aten::square";
    ++calls;
    op.callBoxed(stack);
  }
  Level at;
  int calls = 0, composites = 0;
};

const std::vector<Named>& composites() {
  static const std::vector<Named> all = {
      {"linear", [](const Tensor& x) { return linear(x, x).sum(); }},
      {"to", [](const Tensor& x) { return (x * x).to(kDouble).sum(); }},
      {"reshape", [](const Tensor& x) { return (x.reshape({4}) * x.reshape({4})).sum(); }},
      {"square", [](const Tensor& x) { return x.square().sum(); }},
      {"matmul", [](const Tensor& x) { return x.matmul(x[0]).sum(); }},
      {"softmax", [](const Tensor& x) { return (x.softmax(-1) * x).sum(); }},
      {"layer_norm", [](const Tensor& x) { return (layer_norm(x, {2}, x[0], x[1], 1e-5) * x).sum(); }},
      {"cross_entropy", [](const Tensor& x) { return cross_entropy_loss(x, zeros({2}, TensorOptions(kLong))); }},
      {"jacrev", [](const Tensor& x) { return jacrev([](const Tensor& t) { return t.square(); })(x).sum(); }},
      {"mm", [](const Tensor& x) { return x.mm(x).sum(); }},
  };
  return all;
}

TEST(Pairs, AModeInTheKernelsPlaceKeepsGradientsOfComposites) {
  const Tensor x = numbers({2, 2}), batch = numbers({3, 2, 2});
  for (const auto level : {DispatchMode::Level::kCall, DispatchMode::Level::kKernel})
    for (const auto& [name, f] : composites()) {
      SCOPED_TRACE(name);
      const Tensor one = grad(f)(x), each = vmap(grad(f))(batch);
      Pass around(level), inside(level), around_batch(level);
      {
        const DispatchModeGuard on(around);
        EXPECT_TRUE(sameValues(grad(f)(x), one));
      }
      {
        const DispatchModeGuard on(around_batch);
        EXPECT_TRUE(sameValues(vmap(grad(f))(batch), each));
      }
      EXPECT_TRUE(sameValues(grad([&](const Tensor& t) {
                               const DispatchModeGuard on(inside);
                               return f(t);
                             })(x),
                             one));
      EXPECT_GT(inside.calls, 0);
      if (level == DispatchMode::Level::kKernel) {
        EXPECT_EQ(around.composites + inside.composites, 0);
      }
    }
}

TEST(Pairs, ACompiledGradientUnderAModeInTheKernelsPlace) {
  const Tensor x = numbers({2, 2});
  const auto f = [](const Tensor& t) { return linear(t, t).softmax(-1).square().sum(); };
  auto compiled = compile(grad(f));
  const Tensor expected = grad(f)(x);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(sameValues(compiled(x), expected));
  Pass mode(DispatchMode::Level::kKernel);
  const DispatchModeGuard on(mode);
  EXPECT_TRUE(sameValues(compiled(x), expected));
  EXPECT_GT(mode.calls, 0);
}

// ---- fake tensors -------------------------------------------------------------------------------------------------
TEST(Pairs, VjpIsTracedOnFakeTensorsAndCompiled) {
  const Tensor x = numbers({3});
  const auto f = [](const Tensor& t) { return (t * t).tanh(); };
  const auto by_ones = [&](const Tensor& t) { return vjp(f, t).second(ones({3})); };
  const auto by_argument = [&](const Tensor& t, const Tensor& c) { return vjp(f, t).second(c); };
  const auto inner = [&](const Tensor& t) {
    const Tensor g = autograd::grad({f(t)}, {t}, {ones({3})}, true, true)[0];
    return (g * g).sum();
  };
  EXPECT_TRUE(sameValues(trace(by_ones, x, {.fake = true}).run({x})[0], by_ones(x)));
  EXPECT_TRUE(sameValues(trace(by_argument, std::tuple{x, x}, {.fake = true}).run({x, x})[0], by_argument(x, x)));
  EXPECT_TRUE(sameValues(trace(grad(inner), x, {.fake = true}).run({x})[0], grad(inner)(x)));
  auto compiled = compile(by_ones);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(sameValues(compiled(x), by_ones(x)));
  EXPECT_GT(compiled.counts().hits, 0u);
  FakeTensorMode fake;
  const Tensor shape = fake.from_tensor(x);
  EXPECT_TRUE(is_fake(by_ones(shape)));
  EXPECT_TRUE(is_fake(grad(inner)(shape)));
}

TEST(Pairs, ARealGradientOfAFakeResultIsRefused) {
  const Tensor x = to_fake(numbers({3}));
  const auto pull = vjp([](const Tensor& t) { return t * t; }, x).second;
  EXPECT_NE(errorOf([&] { pull(ones({3})); }).find("grad_output[0] is a real tensor and output[0] is a fake one"),
            std::string::npos);
}

// ---- what a function may write ------------------------------------------------------------------------------------
TEST(Pairs, FactoriesInsideOfGradMakeTensorsOfTheLevel) {
  const Tensor x = numbers({3}), w = numbers({3}).exp();
  const std::vector<std::pair<const char*, std::function<Tensor()>>> factories = {
      {"zeros", [] { return zeros({3}); }},          {"tensor", [] { return tensor({0.f, 0.f, 0.f}); }},
      {"zeros_like", [&] { return zeros_like(w); }}, {"new_zeros", [&] { return w.new_zeros({3}); }},
      {"clone", [&] { return w.clone().mul_(0); }},
  };
  for (const auto& [name, make] : factories) {
    SCOPED_TRACE(name);
    const auto f = [&make = make](const Tensor& t) {
      Tensor y = make();
      y.add_(t * 2);
      y.slice(0, 0, 1).copy_(t.slice(0, 2, 3));
      return (y * y).sum();
    };
    const Tensor leaf = x.clone().requires_grad_();
    f(leaf).backward();
    EXPECT_TRUE(sameValues(grad(f)(x), leaf.grad()));
    EXPECT_TRUE(sameValues(hessian(f)(x), diag(tensor({0.f, 8.f, 10.f}))));
  }
}

TEST(Pairs, ALeafMadeInsideOfGradIsDifferentiatedThere) {
  const Tensor x = numbers({3});
  const auto by_grad = [](const Tensor& t) {
    const Tensor v = ones({3}).requires_grad_();
    return autograd::grad({(v * t * t).sum()}, {v}, {}, true, true)[0].sum();
  };
  const auto by_backward = [](const Tensor& t) {
    const Tensor v = ones({3}).requires_grad_();
    (v * t * t).sum().backward({}, true, true, std::vector<Tensor>{v});
    const Tensor sum = v.grad().sum();
    Tensor(v).mutable_grad() = Tensor();  // with which it would live for ever
    return sum;
  };
  EXPECT_TRUE(sameValues(grad(by_grad)(x), x * 2));
  EXPECT_TRUE(sameValues(grad(by_backward)(x), x * 2));
}

TEST(Pairs, ATableThatAFunctionKeepsStaysAConstant) {
  const Tensor x = numbers({3});
  Tensor table, result;
  const auto f = [&](const Tensor& t) {
    if (!table.defined()) table = arange(3).to(kFloat);
    result = t * table;
    return result.sum();
  };
  const Tensor expected = arange(3).to(kFloat);
  EXPECT_TRUE(sameValues(grad(f)(x), expected));
  EXPECT_NE(errorOf([&] { (void)(result + 1); }).find("to a function which has returned"), std::string::npos);
  table.add_(1).sub_(1);
  EXPECT_TRUE(sameValues(grad(f)(x), expected));
  EXPECT_TRUE(sameValues(f(x), (x * expected).sum()));
  EXPECT_TRUE(sameValues(vmap(grad(f))(stack({x, x})), stack({expected, expected})));
}

TEST(Pairs, AFactorysTensorIsFilledThroughItsPointer) {
  const Tensor x = numbers({3});
  const auto f = [](const Tensor& t) {
    Tensor w = empty({3});
    for (int i = 0; i < 3; ++i) w.data_ptr<float>()[i] = static_cast<float>(i);
    w.mul_(2);
    EXPECT_EQ(w.data_ptr<float>()[2], 4);
    EXPECT_NE(errorOf([&] { t.data_ptr(); }).find("inside vmap or grad"), std::string::npos);
    return (t * w).sum();
  };
  EXPECT_TRUE(sameValues(grad(f)(x), arange(3).to(kFloat) * 2));
  EXPECT_TRUE(sameValues(vmap(grad(f))(stack({x, x}))[1], arange(3).to(kFloat) * 2));
}

TEST(Pairs, WritingToATensorFromOutsideIsRefused) {
  const Tensor x = numbers({3}), w = numbers({3});
  const auto f = [&](const Tensor& t) {
    Tensor v = w.view({3});
    v.add_(t);
    return v.sum();
  };
  EXPECT_NE(errorOf([&] { grad(f)(x); }).find("from outside of the function that grad, vjp or jacrev differentiates"),
            std::string::npos);
  EXPECT_TRUE(sameValues(w, x));
}

// Of what doesn't depend on the argument no gradient is lost.
TEST(GradPairs, OutsideTensorsAreWrittenWithWhatFactoriesMakeInside) {
  const Tensor count = zeros({}), running = ones({4}), outer = zeros({4});
  Tensor kept;
  const auto f = [&](const Tensor& x) {
    Tensor(count).add_(ones({}));
    const Tensor before = running.clone();
    Tensor(running).mul_(0.5).copy_(before);
    if (!kept.defined()) kept = zeros({3});
    {
      const NoGradGuard no_grad;
      Tensor written = outer;
      add_out(written, ones({4}), ones({4}));
      kept.add_(1);
    }
    return x.sum();
  };
  const Tensor x = ones({4});
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(sameValues(grad(f)(x), ones({4})));
  EXPECT_TRUE(sameValues(count, full({}, 2.0)) && sameValues(running, ones({4})) && sameValues(outer, full({4}, 2.0)));
  EXPECT_TRUE(kept.add_(1).is_same(kept));
  EXPECT_TRUE(sameValues(kept + 0, full({3}, 3.0)));
  EXPECT_NE(kept.toString().find("3., 3., 3."), std::string::npos);
}

}  // namespace
}  // namespace shunt::test
