// to_functional, from_functional, and functionalize()'s way in and out.
#include <shunt/transforms/functionalize.h>

#include "src/tensor/printing.h"
#include "src/transforms/functionalize/forms.h"
#include "src/transforms/functionalize/inputs.h"
#include "src/transforms/vmap/levels.h"

namespace shunt {

using functional::functionalOf;
using functional::FunctionalTensor;

Tensor to_functional(const Tensor& t) {
  SHUNT_CHECK(t.defined(), "to_functional: the tensor is undefined; expected one with data");
  SHUNT_CHECK(!is_functional(t), "to_functional: the tensor is functional already");
  return functional::wrapValue(t);
}

Tensor from_functional(const Tensor& t) {
  SHUNT_CHECK(t.defined(), "from_functional: the tensor is undefined; expected a functional tensor");
  const FunctionalTensor* f = functionalOf(t);
  SHUNT_CHECK(f != nullptr, "from_functional: expected a functional tensor, got one with the keys ", t.key_set(),
              "; make one with to_functional(t)");
  return f->value();
}

std::optional<OperatorHandle> functional_form(const OperatorHandle& op) {
  const functional::FunctionalForm* form = functional::functionalForm(op);
  return form == nullptr ? std::nullopt : std::optional<OperatorHandle>(form->op);
}

namespace detail {

std::string functionalToString(const Tensor& t) { return "FunctionalTensor(" + from_functional(t).toString() + ")"; }

FunctionalizeCall::FunctionalizeCall()
    : inputs_(std::make_unique<Inputs>(FunctionalizeGuard::is_enabled() || levels::isFunctionalizedFurtherOut())) {}

FunctionalizeCall::~FunctionalizeCall() {
  if (!inputs_->written) inputs_->restore();
}

Tensor FunctionalizeCall::wrap(const Tensor& t) { return inputs_->wrap(t); }
void FunctionalizeCall::writeBack() { inputs_->writeBack(); }
Tensor FunctionalizeCall::unwrap(const Tensor& t) { return inputs_->unwrap(t); }

}  // namespace detail
}  // namespace shunt
