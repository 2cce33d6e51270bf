// Stand-ins: kernels that do in one step what their operator's composite does by calling another operator. For the
// dictionary's generated registrations (`direct_while` in kernels/operators).
//
// A stand-in serves its key exactly while the composite is in force and the other operator's kernel for that key is the
// one that it was made for; an override or a fallback of the other operator is then seen by both. See Note [Stand-ins]
// in src/dispatch/compute_table.h. Any thread may call.
#pragma once

#include <shunt/core/dispatcher.h>

namespace shunt {

/// What a kernel stands in for. Kernels as KernelFunction::unboxed.
struct StandIn {
  const Operator* other = nullptr;  // registered before, and without stand-ins itself
  const void* built_in = nullptr;   // the other operator's kernel for the key
  const void* composite = nullptr;  // the operator's own, for CompositeExplicitAutograd, which calls the other one
};

/// As Dispatcher::registerImpl, of a backend's key.
SHUNT_API RegistrationHandle registerStandIn(const OperatorName& name, DispatchKey key, KernelFunction kernel,
                                             const StandIn& as, std::source_location where);

}  // namespace shunt
