// Stand-ins: kernels that do in one step what their operator's composite does by calling another operator. The
// dictionary's generated registrations use them (`direct_while` in kernels/operators).
//
// A stand-in serves its key only while the composite is in force and the other operator's kernel for that key is the
// built-in one. So an override or a fallback of the other operator takes effect in both. See Note [Stand-ins] in
// src/dispatch/compute_table.h. Any thread may call.
#pragma once

#include <shunt/core/dispatcher.h>

namespace shunt {

/// The operator and kernels that a stand-in depends on; kernels as KernelFunction::unboxed. All three are required.
struct StandIn {
  const Operator* other = nullptr;  // the operator that the composite calls: registered before, no stand-ins
  const void* built_in = nullptr;   // the other operator's kernel for the key
  const void* composite = nullptr;  // the operator's CompositeExplicitAutograd kernel, which calls `other`
};

/// Like Dispatcher::registerImpl. Throws unless `key` is a backend's and `as` is complete.
SHUNT_API RegistrationHandle registerStandIn(const OperatorName& name, DispatchKey key, KernelFunction kernel,
                                             const StandIn& as, std::source_location where);

}  // namespace shunt
