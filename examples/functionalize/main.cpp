// Functionalization: what in-place operators become, which is useful for compilers, since no value ever changes.
#include <shunt/shunt.h>
#include <shunt/transforms/functionalize.h>

#include <iostream>

namespace {

using shunt::Tensor;

// Says which operators really run, below Functionalize.
void report(const shunt::TraceStep& step) {
  if (step.key != shunt::DispatchKey::Functionalize && std::string_view(step.kind) == "call (boxed)" &&
      step.depth == 2 && !step.keys.has(shunt::Functionality::Fake))
    std::cout << "  " << step.op.operator_name() << '\n';
}

template <class F>
void show(const char* what, F f) {
  std::cout << what << '\n';
  shunt::set_trace(true, report);
  f();
  shunt::set_trace(false);
}

// x is changed in place: the program sees x change, and no operator below writes.
void operators() {
  const Tensor x = shunt::to_functional(shunt::ones({2, 2}));
  show("x.add_(1)", [&] { x.add_(1); });        // x_new = x.add(1), and x refers to it
  show("x[0].mul_(2)", [&] { x[0].mul_(2); });  // a view: its part is put back
  show("y = x.t(); y.zero_(); x + 1", [&] {
    x.t().zero_();
    x + 1;
  });  // every alias sees it
  std::cout << x << '\n';
}

Tensor train(const Tensor& w, const Tensor& x) {
  for (int step = 0; step < 3; ++step) {
    const Tensor loss = (x.mm(w).tanh() - 0.5).square().mean();
    w.mutable_grad() = Tensor();
    loss.backward();
    const shunt::NoGradGuard no_grad;
    w.sub_(w.grad() * 0.1);
  }
  return x.mm(w);
}

void training() {
  const Tensor x = shunt::randn({8, 4}), start = shunt::randn({4, 2});
  const Tensor plain = start.clone().requires_grad_(), functional = start.clone().requires_grad_();
  const shunt::FunctionalizeCheckGuard check;  // throws if any call below writes
  const bool same_result = train(plain, x).eq(shunt::functionalize(train)(functional, x)).all().item<bool>();
  const bool same = same_result && plain.eq(functional).all().item<bool>();
  std::cout << "after three steps: " << (same ? "the same bits" : "other bits") << ", "
            << (check.calls() > 0 ? "nothing written" : "nothing checked") << '\n';
}

}  // namespace

int main() {
  operators();
  training();
}
