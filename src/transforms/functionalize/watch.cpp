#include "src/transforms/functionalize/watch.h"

#include "src/dispatch/boxed_arguments.h"
#include "src/dispatch/subclass_calls.h"

#include <shunt/core/stack_tensors.h>
#include <shunt/core/tls.h>

namespace shunt::functional {
namespace {

/// The call without modes, which stay on for what it calls in turn.
void callBelowModes(const OperatorHandle& op, Stack* stack) {
  if (handleBySubclass(op, stack)) return;
  const uint64_t keys = boxed::prepare(op, *stack);
  const detail::LocalState& tls = detail::tls_state;
  const auto effective = DispatchKeySet::fromRaw((keys | tls.included) & ~tls.excluded);
  op.redispatchBoxed(effective & DispatchKeySet::fullAfter(DispatchKey::Python), stack);
}

}  // namespace

void ProgramStorages::add(const Tensor& t) {
  if (!t.unsafeGetTensorImpl()->has_storage()) return;
  known_.insert_or_assign(t.storage().get(), weak_intrusive_ptr<StorageImpl>(t.storage()));
  if (known_.size() < sweep_at_) return;
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = 2 * known_.size() + 64;
}

void Watch::handle(const OperatorHandle& op, Stack* stack) {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_write()) continue;
    forEachTensor((*stack)[stack->size() - arguments.size() + i], [&](const Tensor& t) {
      SHUNT_CHECK(!t.unsafeGetTensorImpl()->has_storage() || !program_.has(t.storage()), "operator ",
                  outer_.operator_name(), " calls ", op.operator_name(), ", which writes to its argument '",
                  arguments[i].name, "', a tensor of the program, ", t.dtype(), t.sizes(), ", though the schema of ",
                  outer_.operator_name(), " says that it writes nothing");
    });
  }
  Watch nested(outer_, program_);
  const DispatchModeGuard guard(nested);
  callBelowModes(op, stack);
}

}  // namespace shunt::functional
