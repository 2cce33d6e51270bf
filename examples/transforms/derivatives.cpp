#include "examples/transforms/derivatives.h"

#include "examples/parts.h"

#include <shunt/shunt.h>
#include <shunt/trace/trace.h>
#include <shunt/transforms/grad_transforms.h>

#include <iostream>
#include <optional>

namespace examples {

using shunt::Tensor;

void products() {
  const auto area = [](const Tensor& a, const Tensor& b) { return (a * b).sum(); };
  const Tensor a = shunt::arange(3, shunt::kFloat), b = shunt::ones({3}) * 2;
  const auto both = shunt::grad(area, {0, 1})(a, b);
  show(both[0].equal(b) && both[1].equal(a), "grad by both arguments");
  const auto [value, slope] = shunt::value_and_grad(area)(a, b);
  show(value.item<float>() == 6 && slope.equal(b), "value_and_grad: both from one run");
  const auto squares = [](const Tensor& x) { return x * x; };
  const auto [result, pull] = shunt::vjp(squares, a);
  show(result.equal(a * a) && pull(b).equal(b * 2 * a), "vjp: the result, and a function of its gradient");
  const auto norm = [](const Tensor& x) { return x.square().sum(); };
  const Tensor rows = shunt::linspace(-1, 1, 30).reshape({10, 3});
  show(shunt::vmap(norm, {.chunk_size = 4})(rows).equal(shunt::vmap(norm)(rows)),
       "vmap, 4 samples at a time: the same");
}

void randomness() {
  const auto noisy = [](const Tensor& x) { return x + shunt::randn({2}); };
  const Tensor x = shunt::zeros({3, 2});
  try {
    shunt::vmap(noisy)(x);
    show(false, "a random operator is refused");
  } catch (const shunt::Error& e) {
    std::cout << "refused by default: " << e.what() << '\n';
  }
  const Tensor same = shunt::vmap(noisy, {.randomness = shunt::Randomness::kSame})(x);
  show(same[0].equal(same[1]) && same[1].equal(same[2]), "kSame: the same noise for each sample");
  const Tensor different = shunt::vmap(noisy, {.randomness = shunt::Randomness::kDifferent})(x);
  show(!different[0].equal(different[1]), "kDifferent: other noise");
}

void combined() {
  const auto loss = [](const Tensor& w, const Tensor& x) { return (x.dot(w) - 1).square(); };
  const auto per_sample = shunt::vmap(shunt::grad(loss), {.in_dims = {std::nullopt, 0}});
  const Tensor w = shunt::ones({3}), xs = shunt::linspace(0, 1, 12).reshape({4, 3}), expected = per_sample(w, xs);

  const auto compiled = shunt::compile(per_sample, {.record_after = 1});
  bool same = true;
  for (int i = 0; i < 3; ++i) same = same && compiled(w, xs).equal(expected);
  show(same, "compile around vmap around grad: the same bits");
  std::cout << compiled.counts().hits << " calls ran the graph\n";

  const shunt::Graph graph = shunt::trace(per_sample, std::tuple{w, xs});
  show(graph.run({w, xs})[0].equal(expected), "trace around vmap around grad: the same bits");

  const auto inside = shunt::compile(loss, {.record_after = 1});
  const Tensor losses = shunt::vmap(loss, {.in_dims = {std::nullopt, 0}})(w, xs);
  for (int i = 0; i < 3; ++i) same = same && shunt::vmap(inside, {.in_dims = {std::nullopt, 0}})(w, xs).equal(losses);
  show(same && inside.counts().hits == 0, "vmap around compile: the function runs, without a graph");

  const auto traces = [](const Tensor& x) {
    return shunt::trace([](const Tensor& t) { return t * 2; }, x).run({x})[0];
  };
  try {
    shunt::vmap(traces)(xs);
    show(false, "vmap around trace is refused");
  } catch (const shunt::Error& e) {
    std::cout << "vmap around trace: " << e.what() << '\n';
  }
}

}  // namespace examples
