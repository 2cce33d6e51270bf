// The same operator in different circumstances: gradients, views, mixed precision, devices.
#include "examples/dispatcher_tour/tour.h"

#include <shunt/jit/explain.h>
#include <shunt/shunt.h>

#include <iostream>

namespace tour {

using namespace shunt;

namespace {

void printResult(const Tensor& t) {
  std::cout << "result " << t.item() << ", grad_fn " << (t.grad_fn() ? t.grad_fn()->name() : "none") << '\n';
}

struct Cube : shunt::autograd::Function<Cube> {
  static Tensor forward(shunt::autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static shunt::autograd::variable_list backward(shunt::autograd::AutogradContext* ctx,
                                                 shunt::autograd::variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    return {grads[0] * 3 * x * x};
  }
};

}  // namespace

void autograd() {
  const Tensor a = tensor({5.0}).requires_grad_(), b = tensor({3.0}).requires_grad_();
  const Tensor result = add(a, b);  // Autograd, then CPU
  printResult(result);
  result.backward();
  std::cout << "da " << a.grad() << ", db " << b.grad() << '\n';
}

void noGrad() {
  const Tensor a = tensor({5.0}).requires_grad_(), b = tensor({3.0}).requires_grad_();
  const NoGradGuard no_grad;
  printResult(add(a, b));  // CPU
}

void customGradient() {
  Library def(Library::Kind::kFragment, "mylib");
  def.def("cube(Tensor x) -> Tensor");
  def.impl("cube", DispatchKey::Autograd, [](const Tensor& x) { return Cube::apply(x); });
  const auto cube = Dispatcher::singleton().findSchemaOrThrow("mylib::cube", "").typed<Tensor(const Tensor&)>();
  const Tensor x = tensor({2.0}).requires_grad_();
  const Tensor y = cube.call(x);
  y.backward();
  std::cout << "cube " << y.item() << ", gradient " << x.grad().item() << '\n';
}

void views() {
  const Tensor x = zeros({2, 3});
  const Tensor row = x.select(0, 1);
  row.add_(1);  // ADInplaceOrView: the storage is x's, and so is the version
  std::cout << "sum " << x.sum().item() << ", version of the base " << x._version() << ", of the view "
            << row._version() << '\n';
  const Tensor w = ones({2}).requires_grad_(), squared = w * w;
  squared.add_(1);
  std::cout << "after an in-place operator: " << squared.grad_fn()->name() << '\n';
  const Tensor saved = w.exp();  // exp's gradient needs its result
  saved.add_(1);
  try {
    saved.sum().backward();
  } catch (const Error& e) {
    std::cout << e.what() << '\n';
  }
}

void autocast() {
  const Tensor x = randn({4, 8}), w = randn({2, 8});
  std::cout << "linear outside: " << linear(x, w).dtype() << '\n';
  const AutocastGuard guard(kCPU, kBFloat16);
  const Tensor y = linear(x, w);
  std::cout << "inside: " << y.dtype() << ", a loss of that: " << mse_loss(y, y).dtype() << '\n';
}

void backendSelect() {
  const Tensor cpu = zeros({10}), meta = zeros({10}, TensorOptions(kMeta));  // no tensor to choose by: the options do
  std::cout << "zeros on " << cpu.device() << " and on " << meta.device() << '\n';
  std::cout << "sums on " << (cpu + cpu).device() << " and on " << (meta + meta).device() << '\n';
  for (const std::function<void()>& call :
       {std::function<void()>([&] { cpu + meta; }), std::function<void()>([] { zeros({10}, TensorOptions(kCUDA)); })}) {
    try {
      call();
    } catch (const Error& e) {
      const std::string message = e.what();
      std::cout << message.substr(0, message.find('\n')) << '\n';
    }
  }
}

void why() {
  struct Quiet : DispatchMode {
    std::string name() const override { return "Quiet"; }
    void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
  };
  Quiet mode;
  const DispatchModeGuard inside(mode);
  const AutocastGuard guard(kCPU, kBFloat16);
  const Tensor x = ones({2, 2}), w = ones({2, 2}).requires_grad_();
  const jit::Explanation e = jit::explain("aten::mm", x, w);
  for (const std::string& name : e.dispatch_modes) std::cout << "first the mode " << name << '\n';
  for (const jit::ExplainedStep& step : e.chain)
    if (!step.skipped) std::cout << step.key << ": " << step.reason << ", " << step.place << '\n';
  x.mm(w);  // SHUNT_TRACE=1 prints the same steps when they happen
}

}  // namespace tour
