// The functions of the example programs, traced: their graphs verify and do again what the functions do.
#include "tests/support/same_bits.h"

#include <shunt/trace/trace.h>

#include "examples/digits/model.h"
#include "examples/fake/model.h"

#include <shunt/shunt.h>

#include <gtest/gtest.h>

#include <optional>

namespace shunt {
namespace {

using test::sameBits;

struct Training {
  explicit Training(bool autocast) : net(7), autocast(autocast) {}
  template <class Optimizer>
  Tensor step(Optimizer& optimizer, const Tensor& x, const Tensor& y) const {
    optimizer.zero_grad();
    std::optional<AutocastGuard> guard;
    if (autocast) guard.emplace(kCPU, kBFloat16);
    const Tensor loss = cross_entropy_loss(net.forward(x), y);
    guard.reset();
    loss.backward();
    optimizer.step();
    return loss;
  }
  digits::Net net;
  bool autocast;
};

std::pair<Tensor, Tensor> batch(uint64_t seed, int64_t rows) {
  manual_seed(seed);
  const Tensor x = rand({rows, 64});
  return {x, randint(10, {rows})};
}

template <class Make>
void expectSameTraining(bool autocast, Make make) {
  const Training eager(autocast), traced(autocast);
  auto eager_optimizer = make(eager.net.parameters()), traced_optimizer = make(traced.net.parameters());
  const auto f = [&](const Tensor& x, const Tensor& y) { return traced.step(traced_optimizer, x, y); };
  // The first step makes what the optimiser keeps; a graph of a later one finds it.
  const auto [x0, y0] = batch(1, 8);
  eager.step(eager_optimizer, x0, y0);
  f(x0, y0);
  const Graph g = trace(f, std::tuple{x0, y0}, {.fake = true});
  g.verify();
  for (uint64_t i = 2; i < 8; ++i) {
    const auto [x, y] = batch(i, 8);
    const Tensor expected = eager.step(eager_optimizer, x, y);
    EXPECT_TRUE(sameBits(g.run({x, y})[0], expected)) << i;
  }
  EXPECT_TRUE(sameBits(eager.net.parameters(), traced.net.parameters()));
}

TEST(TracedExamples, DigitsWithSGD) {
  for (const bool autocast : {false, true})
    expectSameTraining(autocast, [](std::vector<Tensor> p) { return digits::SGD(std::move(p), 0.1); });
}

TEST(TracedExamples, DigitsWithMomentum) {
  for (const bool autocast : {false, true})
    expectSameTraining(autocast, [](std::vector<Tensor> p) { return digits::SGD(std::move(p), 0.02, 0.9); });
}

// Adam's corrections are numbers that change with each step, so a graph holds those of its step.
TEST(TracedExamples, DigitsWithAdam) {
  const Training eager(false), traced(false);
  digits::Adam eager_optimizer(eager.net.parameters(), 1e-3), traced_optimizer(traced.net.parameters(), 1e-3);
  const auto [x, y] = batch(1, 8);
  const Graph g = trace([&](const Tensor& a, const Tensor& b) { return traced.step(traced_optimizer, a, b); },
                        std::tuple{x, y}, {.fake = true});
  g.verify();
  EXPECT_TRUE(sameBits(g.run({x, y})[0], eager.step(eager_optimizer, x, y)));
  EXPECT_TRUE(sameBits(eager.net.parameters(), traced.net.parameters()));
}

TEST(TracedExamples, TheModelWithoutMemory) {
  manual_seed(3);
  fake_example::Model eager(3, 16, 4, TensorOptions(kFloat));
  manual_seed(3);
  fake_example::Model traced(3, 16, 4, TensorOptions(kFloat));
  fake_example::Adam eager_adam(eager.parameters()), traced_adam(traced.parameters());
  const auto step = [](const fake_example::Model& model, fake_example::Adam& adam, const Tensor& x, const Tensor& y) {
    const Tensor loss = cross_entropy_loss(model.forward(x), y);
    loss.backward();
    adam.step();
    return loss;
  };
  const Tensor x = randn({5, 16}), y = randint(4, {5});
  const Graph g = trace([&](const Tensor& a, const Tensor& b) { return step(traced, traced_adam, a, b); },
                        std::tuple{x, y}, {.fake = true});
  g.verify();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(sameBits(g.run({x, y})[0], step(eager, eager_adam, x, y))) << i;
  EXPECT_TRUE(sameBits(eager.parameters(), traced.parameters()));
}

// examples/functionalize: three steps in one function.
TEST(TracedExamples, TheFunctionalizedTraining) {
  const auto train = [](const Tensor& w, const Tensor& x) {
    for (int step = 0; step < 3; ++step) {
      const Tensor loss = (x.mm(w).tanh() - 0.5).square().mean();
      w.mutable_grad() = Tensor();
      loss.backward();
      const NoGradGuard no_grad;
      w.sub_(w.grad() * 0.1);
    }
    return x.mm(w);
  };
  const Tensor x = randn({8, 4}), start = randn({4, 2});
  for (const bool functionalize : {false, true}) {
    const Graph g = trace(train, std::pair{start.clone().requires_grad_(), x}, {.functionalize = functionalize});
    g.verify();
    const Tensor plain = start.clone().requires_grad_(), traced = start.clone().requires_grad_();
    EXPECT_TRUE(sameBits(g.run({traced, x})[0], train(plain, x)));
    EXPECT_TRUE(sameBits(traced, plain)) << g.print();
  }
}

}  // namespace
}  // namespace shunt
