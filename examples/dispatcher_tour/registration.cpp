// Who fills an operator's table.
#include "examples/dispatcher_tour/tour.h"

#include <shunt/shunt.h>

#include <cmath>
#include <iostream>

namespace tour {

using namespace shunt;

namespace {

Tensor loudNeg(const Tensor& self) {
  std::cout << "our own neg\n";
  return self * -1;
}

Tensor customAddCpu(const Tensor& x, const Tensor& y) {
  std::cout << "the CPU's kernel\n";
  return x + y;
}

Tensor customAddMeta(const Tensor& x, const Tensor& y) {
  std::cout << "Meta's kernel\n";
  return empty_like(x + y);
}

SHUNT_LIBRARY(mylib, m) { m.def("custom_add(Tensor x, Tensor y) -> Tensor"); }
SHUNT_LIBRARY_IMPL(mylib, CPU, m) { m.impl("custom_add", &customAddCpu); }
SHUNT_LIBRARY_IMPL(mylib, Meta, m) { m.impl("custom_add", &customAddMeta); }

OperatorHandle find(const char* name, const char* overload = "") {
  return Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

}  // namespace

void ownKernel() {
  const Tensor x = ones({2});
  {
    Library block(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    block.impl("neg", &loudNeg);
    std::cout << x.neg() << '\n';
  }
  std::cout << "and the library's again: " << x.neg() << '\n';  // the registration went with its block
}

void customOperator() {
  const auto custom_add = find("mylib::custom_add").typed<Tensor(const Tensor&, const Tensor&)>();
  custom_add.call(randn({10}), randn({10}));
  custom_add.call(empty({10}, TensorOptions(kMeta)), empty({10}, TensorOptions(kMeta)));
}

void precedence() {
  const auto kernel = [](const char* name) {
    return [name](const Tensor& x) {
      std::cout << name << '\n';
      return x;
    };
  };
  Library def(Library::Kind::kFragment, "mylib");
  def.def("which(Tensor x) -> Tensor");
  const auto which = find("mylib::which").typed<Tensor(const Tensor&)>();
  const Tensor x = empty({1}, TensorOptions(kMeta));

  Library fallback(Library::Kind::kImpl, "_", DispatchKey::Meta);
  fallback.fallback(CppFunction::makeFromBoxed(
      [](const OperatorHandle& op, Stack*) { std::cout << "fallback, for " << op.operator_name() << '\n'; }));
  which.call(x);
  Library catch_all(Library::Kind::kImpl, "mylib");
  catch_all.impl("which", kernel("catch-all"));
  which.call(x);
  Library specific(Library::Kind::kImpl, "mylib", DispatchKey::Meta);
  specific.impl("which", kernel("specific"));
  which.call(x);
}

void boxedFallback() {
  // One function for every operator: the arguments come on a stack.
  Library tracer(Library::Kind::kImpl, "_", DispatchKey::Tracer);
  tracer.fallback(CppFunction::makeFromBoxed([](const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
    std::cout << "traced " << op.operator_name() << " with " << op.schema().arguments().size() << " arguments\n";
    const ExcludeDispatchKeyGuard once(DispatchKey::Tracer);  // not the operators that the kernel calls
    op.redispatchBoxed(keys & DispatchKeySet::fullAfter(DispatchKey::Tracer), stack);
  }));
  Tensor y;
  {
    const IncludeDispatchKeyGuard on(DispatchKey::Tracer);
    y = ones({2}).mul(3).add(1);
  }
  std::cout << y << '\n';
}

void decomposition() {
  // A composite serves every backend, and its gradient is that of what it calls; a kernel of the backend's own wins.
  const auto erf_gelu = [](const Tensor& x) { return x * 0.5 * ((x / std::sqrt(2.0)).erf() + 1); };
  Library def(Library::Kind::kFragment, "mylib");
  def.def("gelu(Tensor x) -> Tensor", erf_gelu);
  const auto my_gelu = find("mylib::gelu").typed<Tensor(const Tensor&)>();
  const Tensor x = arange(-2, 3, kFloat).requires_grad_();
  const Tensor y = my_gelu.call(x);
  std::cout << "as the library's: " << ((y - gelu(x)).abs().max().item<double>() < 1e-6 ? "yes" : "no") << ", "
            << y.grad_fn()->name() << '\n';
  Library native(Library::Kind::kImpl, "mylib", DispatchKey::CPU);
  native.impl("gelu", [](const Tensor& t) {
    std::cout << "native\n";
    return gelu(t);
  });
  my_gelu.call(x.detach());
}

void structured() {
  const Tensor x = ones({3});
  Tensor out = empty({0});
  std::cout << add(x, 1) << '\n';
  std::cout << add_out(out, x, x) << " resized to " << out.sizes() << '\n';
  std::cout << x.add_(x) << '\n';
}

void dump() {
  const OperatorHandle add = find("aten::add", "Tensor");
  std::cout << add.schema() << '\n' << add.dumpState() << "computed table:\n" << add.dumpComputedTable();
  std::cout << Dispatcher::singleton().getAllOpNames().size() << " operators\n";
}

}  // namespace tour
