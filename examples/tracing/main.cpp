// Tracing: a function runs once, and what it called is a graph: to look at, to change, to keep in a file, to run again.
#include <shunt/shunt.h>
#include <shunt/trace/dot.h>
#include <shunt/trace/trace.h>

#include "examples/parts.h"
#include "examples/tracing/double_by_adding.h"

#include <filesystem>
#include <iostream>
#include <string>

namespace {

using shunt::Graph;
using shunt::Tensor;

struct Layer {
  Tensor w = shunt::randn({3, 4});
  Tensor operator()(const Tensor& x) const { return (x.mm(w) * 2).relu(); }
};

bool same(const Tensor& a, const Tensor& b) { return a.eq(b).all().item<bool>(); }

void graph() {
  const Layer layer;
  const Graph g = shunt::trace(layer, shunt::randn({2, 3}));
  std::cout << g.print();
}

void pass() {
  const Layer layer;
  Graph g = shunt::trace(layer, shunt::randn({2, 3}));
  std::cout << examples::doubleByAdding(g) << " node changed\n" << g.print();
  const Tensor x = shunt::randn({2, 3});
  std::cout << (same(g.run({x})[0], layer(x)) ? "the same bits" : "other bits") << '\n';
}

/// Least squares by gradient descent.
struct Regression {
  explicit Regression(const Tensor& start) : w(start.clone().requires_grad_()) {}
  Tensor step(const Tensor& x, const Tensor& y) const {
    w.mutable_grad() = Tensor();
    const Tensor loss = (x.mm(w) - y).square().mean();
    loss.backward();
    const shunt::NoGradGuard no_grad;
    w.sub_(w.grad() * 0.1);
    return loss;
  }
  Tensor w;
};

// Forward, backward and update in one graph. On fake tensors the trace itself is no step.
void training() {
  const Tensor start = shunt::randn({4, 1}), x = shunt::randn({16, 4}), y = shunt::randn({16, 1});
  const Regression eager(start), traced(start);
  const Graph g = shunt::trace([&](const Tensor& a, const Tensor& b) { return traced.step(a, b); }, std::tuple{x, y},
                               {.fake = true});
  std::cout << g.print();
  for (int i = 0; i < 10; ++i) {
    eager.step(x, y);
    g.run({x, y});
  }
  std::cout << "after ten steps: " << (same(eager.w, traced.w) ? "the same bits" : "other bits") << '\n';
}

void file() {
  const Layer layer;
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "shunt_tracing_example.graph";
  const Graph g = shunt::trace(layer, shunt::randn({2, 3}));
  g.save(path.string());
  const Graph back = Graph::load(path.string());
  std::filesystem::remove(path);
  const Tensor x = shunt::randn({2, 3});
  std::cout << "loaded: " << (back.print() == g.print() ? "the same graph, " : "another graph, ")
            << (same(back.run({x})[0], g.run({x})[0]) ? "the same bits" : "other bits") << '\n';
}

// A function that writes, as a graph that doesn't; what nobody uses, and what is computed twice, is removed.
void rewrite() {
  const auto f = [](const Tensor& x) {
    Tensor y = x.exp();
    y[0].mul_(2);        // a write through a view
    x.sin();             // nobody uses it
    return y + x.exp();  // exp, again
  };
  const Tensor x = shunt::randn({2, 3});
  Graph g = shunt::trace(f, x, {.functionalize = true});
  g.common_subexpressions();
  g.eliminate_dead_code();
  g.verify();
  const std::string text = g.print();
  std::cout << text;
  examples::show(text.find("aten::sin") == std::string::npos, "sin, whose result nobody uses, is gone");
  examples::show(text.find("aten::exp") == text.rfind("aten::exp"), "exp is called once");
  examples::show(same(g.run({x})[0], f(x)), "the same bits");
  examples::show(shunt::toDot(g).find("digraph") != std::string::npos, "toDot draws it for Graphviz");
}

}  // namespace

int main(int argc, char** argv) {
  return examples::runParts(
      argc, argv, "tracing",
      {{"graph", graph}, {"pass", pass}, {"training", training}, {"file", file}, {"rewrite", rewrite}});
}
