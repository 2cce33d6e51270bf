// The functional forms of in-place operators whose dictionary entry has none: random numbers, copy_, zero_. Composites:
// they write to a clone that nobody else has, so autograd sees what it sees in the in-place operator.
#include <shunt/core/library.h>
#include <shunt/ops.h>

namespace shunt::functional {
namespace {

constexpr const char* kSchemas[] = {
    "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    "zero(Tensor self) -> Tensor",
    "uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor",
    "normal(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor",
    "random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
    "random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor",
    "random(Tensor self, *, Generator? generator=None) -> Tensor",
};

void writeToClone(const OperatorHandle& op, DispatchKeySet, Stack* stack) {
  const OperatorName name = op.operator_name();
  const OperatorHandle inplace = Dispatcher::singleton().findSchemaOrThrow(
      detail::str("aten::", name.baseName(), "_").c_str(), name.overload_name.c_str());
  IValue& self = peek(*stack, 0, op.schema().arguments().size());
  self = IValue(self.toTensor().clone());
  inplace.callBoxed(stack);
}

SHUNT_LIBRARY(functional, m) {
  for (const char* text : kSchemas) {
    m.def(text);
    m.impl(parseSchema(text).operator_name().str(), DispatchKey::CompositeImplicitAutograd,
           CppFunction::makeFromBoxedFunction<&writeToClone>());
  }
}

}  // namespace
}  // namespace shunt::functional
