// Operators with kernels of the program: the forms that an elementwise functor gives, its gradient, whether the
// compiler inlines it, and a library of kernels that is unloaded.
//
//   custom_kernels [forms | gradient | inlined | unload]
#include <shunt/shunt.h>

#include "examples/parts.h"

#include <dlfcn.h>

#include <iostream>
#include <stdexcept>

namespace {

using namespace shunt;
using examples::show;

Tensor addsquare(const Tensor& x, const Tensor& y, const Scalar& alpha = 1) {
  static const auto op = Dispatcher::singleton()
                             .findSchemaOrThrow("example_kernels::addsquare")
                             .typed<Tensor(const Tensor&, const Tensor&, const Scalar&)>();
  return op.call(x, y, alpha);
}

void forms() {
  const Tensor x = arange(6, kFloat).view({2, 3}), y = tensor({0.0, 1.0, 2.0});
  show(addsquare(x, y, 10).equal(x + y * y * 10), "[2, 3] and [3]: broadcast");
  show(addsquare(arange(3), arange(3)).scalar_type() == kLong, "integers stay integers");
  show(addsquare(arange(3), y).scalar_type() == kFloat, "an integer and a float: promoted to float");
  const auto in_place = Dispatcher::singleton()
                            .findSchemaOrThrow("example_kernels::addsquare_")
                            .typed<Tensor&(Tensor&, const Tensor&, const Scalar&)>();
  Tensor z = x.clone();
  in_place.call(z, y, 10);
  show(z.equal(addsquare(x, y, 10)), "the in-place form, from the same functor");
  const Tensor shape = addsquare(empty({4, 1}, TensorOptions(kMeta)), empty({5}, TensorOptions(kMeta)));
  show(shape.sizes() == IntArrayRef({4, 5}), "Meta: shapes without data");
}

struct AddSquareGradient : autograd::Function<AddSquareGradient> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, const Tensor& y, const Scalar& alpha) {
    ctx->save_for_backward({y});
    ctx->saved_data["alpha"] = alpha.toDouble();
    const AutoDispatchBelowAutograd below;  // the call below continues at the CPU kernel
    return addsquare(x, y, alpha);
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    const Tensor y = ctx->get_saved_variables()[0];
    return {grads[0], grads[0] * y * (2 * ctx->saved_data["alpha"].toDouble()), Tensor()};
  }
};

void gradient() {
  Library block(Library::Kind::kImpl, "example_kernels", DispatchKey::Autograd);
  block.impl("addsquare", [](const Tensor& x, const Tensor& y, const Scalar& alpha) {
    return AddSquareGradient::apply(x, y, alpha);
  });
  const Tensor x = ones({3}).requires_grad_(), y = tensor({1.0, 2.0, 3.0}).requires_grad_();
  addsquare(x, y, 2).sum().backward();
  show(x.grad().equal(ones({3})) && y.grad().equal(y.detach() * 4), "the gradients: 1 and 2 * alpha * y");
}

/// What the compiler's plan says about the kernels of the call.
void showPlan(const char* name, const jit::Explanation& e) {
  const auto says = [&](const char* text) { return e.plan.find(text) != std::string::npos; };
  const char* how = says("inline lib")                   ? "inlined"
                    : says("its library has no bitcode") ? "called, because shunt_add_kernels found no clang"
                    : e.plan.empty()                     ? "interpreted, because there is no compiler"
                                                         : nullptr;
  if (how == nullptr) throw std::runtime_error("an unexpected plan:\n" + e.plan);
  std::cout << name << ": " << how << '\n';
}

void inlined() {
  const Tensor x = randn({64});
  const OperatorHandle twice = Dispatcher::singleton().findSchemaOrThrow("example_kernels::twice");
  showPlan("addsquare", jit::explain("example_kernels::addsquare", x, x));
  showPlan("twice", jit::explain(twice, {x}));
  const auto call = twice.typed<Tensor(const Tensor&)>();
  bool same = true;
  for (int i = 0; i < 5000; ++i) same = same && addsquare(x, x).equal(x + x * x) && call.call(x).equal(x * 2);
  show(same, "compiled or not: the same bits");
}

void unload() {
  const Tensor x = tensor({-2.0, 2.0}), before = x.relu();
  void* library = dlopen(CUSTOM_KERNELS_PLUGIN, RTLD_NOW);
  if (library == nullptr) throw std::runtime_error(dlerror());
  reinterpret_cast<void (*)()>(dlsym(library, "plugin_load"))();
  show(x.relu().equal(tensor({-1.0, 2.0})), "loaded: relu runs the library's kernel");
  reinterpret_cast<void (*)()>(dlsym(library, "plugin_unload"))();
  dlclose(library);
  show(dlopen(CUSTOM_KERNELS_PLUGIN, RTLD_NOW | RTLD_NOLOAD) == nullptr, "unloaded: the library is gone");
  show(x.relu().equal(before), "and relu is what it was");
}

}  // namespace

int main(int argc, char** argv) {
  return examples::runParts(argc, argv, "custom_kernels",
                            {{"forms", forms}, {"gradient", gradient}, {"inlined", inlined}, {"unload", unload}});
}
