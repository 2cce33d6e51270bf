#include "examples/compile/checks.h"

#include "examples/parts.h"

#include <shunt/core/log.h>
#include <shunt/shunt.h>

#include <iostream>
#include <string>

namespace examples {

using shunt::Tensor;

// The program calls backward(); forward and backward pass are graphs.
void outside() {
  const Tensor w1 = shunt::randn({4, 16}).requires_grad_(), w2 = shunt::randn({16, 1}).requires_grad_();
  const auto net = [&](const Tensor& x) { return x.mm(w1).relu().mm(w2); };
  // Without checks: a checked run returns the results of net, with their usual nodes.
  const auto model = shunt::compile(net, {.check = shunt::CompileCheck::kNever, .record_after = 1});
  const Tensor x = shunt::randn({32, 4}), y = x.sum(1, true);
  const auto gradient = [&](const Tensor& out) {
    w1.mutable_grad() = Tensor();
    w2.mutable_grad() = Tensor();
    shunt::mse_loss(out, y).backward();
    return w1.grad();
  };
  const Tensor eager = gradient(net(x));
  model(x);
  const Tensor out = model(x);
  std::cout << "the result's node: " << out.grad_fn()->name() << '\n';
  show(gradient(out).equal(eager), "the gradients: the same bits");
}

void captures() {
  const shunt::CompileOptions at_once{.check = shunt::CompileCheck::kFirst, .record_after = 1, .name = "step"};
  double lr = 0.1;
  const Tensor w = shunt::ones({1});
  const auto update = [&](const Tensor& t) { return t - shunt::ones({1}) * lr; };

  // Named, each value of the number has a graph.
  shunt::CompileOptions named = at_once;
  named.scalars = {&lr};
  const auto seen = shunt::compile(update, named);
  bool same = true;
  for (const double rate : {0.1, 0.1, 0.1, 0.01, 0.01, 0.01}) {
    lr = rate;
    same = same && seen(w).equal(update(w));
  }
  show(same, "named in scalars: right for each value");

  // Not named, the graph holds the value of the recording. The next check finds it: a warning, and the function runs.
  static std::string warning;
  const auto sink = [](shunt::LogLevel, const char* text) { warning = text; };
  const auto unseen = shunt::compile(update, at_once);
  lr = 0.1;
  for (int i = 0; i < 3; ++i) unseen(w);
  shunt::set_log_sink(sink);
  lr = 0.01;
  const Tensor checked = unseen(w);
  shunt::set_log_sink(nullptr);
  std::cout << warning << '\n';
  show(checked.equal(update(w)) && unseen(w).equal(update(w)), "not named: a check found the change");
}

}  // namespace examples
