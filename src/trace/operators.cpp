// The library "trace": what eager code does to a tensor's grad, as operators that stand in graphs (Note [Graphs],
// include/shunt/trace/graph.h). On ordinary and fake tensors they do it.
#include "src/trace/operators.h"

#include <shunt/autograd/autograd_meta.h>
#include <shunt/core/library.h>
#include <shunt/transforms/functionalize.h>

#include "src/autograd/accumulate.h"
#include "src/trace/recording.h"

namespace shunt::trace_detail {

void setGrad(const Tensor& self, Tensor grad) { self.mutable_grad() = std::move(grad); }

void accumulateGrad(const Tensor& self, Tensor grad, bool held) {
  SHUNT_CHECK(self.defined() && grad.defined(), "trace::accumulate_grad_: argument '", self.defined() ? "grad" : "self",
              "' is undefined");
  SHUNT_CHECK(grad.sizes().equals(self.sizes()) && grad.dtype() == self.dtype(),
              "trace::accumulate_grad_: argument 'grad' is ", grad.dtype(), grad.sizes(), ", but 'self' is ",
              self.dtype(), self.sizes());
  const Tensor holder = held ? grad : Tensor();
  autograd::accumulate(self, std::move(grad));
}

namespace {

Tensor grad(const Tensor& self) { return self.grad(); }

void setGradOrNone(Tensor& self, const std::optional<Tensor>& grad) { setGrad(self, grad.value_or(Tensor())); }

Tensor& setRequiresGrad(Tensor& self, bool requires_grad) {
  self.set_requires_grad(requires_grad);
  return self;
}

// Boxed, so that a gradient that nobody else holds is moved from the stack and kept as it is.
void accumulate(const OperatorHandle&, Stack* stack) {
  const bool held = pop(*stack).toBool();
  Tensor grad = std::move(pop(*stack).toTensor());
  const Tensor self = std::move(pop(*stack).toTensor());
  accumulateGrad(self, std::move(grad), held);
}

// Functional tensors are not in these: a grad lives on the leaf behind one, and may be written, so what is read of it
// is a copy.
const Tensor& behind(const Tensor& t) { return is_functional(t) ? *t.unsafeGetTensorImpl()->graph_tensor() : t; }

void functionalized(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  const uint64_t saved = detail::tls_state.included;
  struct Restore {
    uint64_t saved;
    ~Restore() { detail::tls_state.included = saved; }
  } const restore{saved};
  detail::tls_state.included &= ~DispatchKeySet::of(Functionality::Functionalize).raw();
  const size_t n = op.schema().arguments().size();
  const Tensor self = peek(*stack, 0, n).toTensor();
  peek(*stack, 0, n) = IValue(behind(self));
  if (n > 1)
    if (IValue& v = peek(*stack, 1, n); v.isTensor() && is_functional(v.toTensor()))
      v = IValue(from_functional(v.toTensor()));
  op.callBoxed(stack);
  if (op.schema().returns().empty()) return;
  IValue& result = stack->back();
  if (op.schema().is_mutable())
    result = IValue(self);
  else if (result.toTensor().defined())
    result = IValue(to_functional(result.toTensor().clone()));
}

constexpr const char* kSchemas[] = {
    "grad(Tensor self) -> Tensor",
    "set_grad_(Tensor(a!) self, Tensor? grad) -> ()",
    "accumulate_grad_(Tensor(a!) self, Tensor grad, bool held=False) -> ()",
    "requires_grad_(Tensor(a!) self, bool requires_grad) -> Tensor(a!)",
};

void implement(Library& m, DispatchKey key) {
  m.impl("grad", key, CppFunction::makeUnboxed<&grad>());
  m.impl("set_grad_", key, CppFunction::makeUnboxed<&setGradOrNone>());
  m.impl("accumulate_grad_", key, CppFunction::makeFromBoxedFunction<&accumulate>());
  m.impl("requires_grad_", key, CppFunction::makeUnboxed<&setRequiresGrad>());
}

SHUNT_LIBRARY(trace, m) {
  for (const char* schema : kSchemas) m.def(schema);
  implement(m, DispatchKey::CompositeExplicitAutograd);
  implement(m, DispatchKey::Fake);
  for (const char* schema : kSchemas) {
    const std::string name = parseSchema(schema).operator_name().str();
    m.impl(name, DispatchKey::Autograd, CppFunction::makeFallthrough());
    m.impl(name, DispatchKey::Functionalize, CppFunction::makeFromBoxedFunction<&functionalized>());
  }
}

}  // namespace
}  // namespace shunt::trace_detail
