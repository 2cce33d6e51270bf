// The elementwise entries as a thunk runs them: for the operands that its plan expects, the loop and the allocation inline,
// everything constant that the plan knows; for all others the interpreter's entries.
//
// Note [Expected operands]
// The compiler puts these functions in the place of runFunctional, runOutRequest and runInplaceRequest, and gives kExpected
// the operands of the call that made the pair hot. What is expected is compared with what is there at every call, right
// before the loop, so a thunk needs no guard but these comparisons and is right for operands of every kind.
// Bits: the generic loop computes what the ahead-of-time loops do (functor.h), in another order of the same elements.
#pragma once

#include "kernels/elementwise/plan.h"
#include "kernels/elementwise/run.h"

#include <shunt/core/hot.h>

namespace shunt::elementwise {

using Record = ::shunt::detail::ElementwiseRecord;

/// The plan's operands. In the library itself nothing is expected.
extern const Record kExpected;

Tensor runFunctionalExpected(const Request& request);
void runOutExpected(const Request& request, Tensor& out);
void runInplaceExpected(const Request& request, Tensor& self);

/// The generic loop of the record's functor: the compiler puts it here. In the library itself: an error.
bool expectedLoop(const View& out, const View* in, int64_t n, const ScalarSlot* scalars, ScalarType common);

/// Notes what a request has before it, if the thread's call is being recorded and this is its first.
SHUNT_COLD void recordOperands(const Request& request, Record::Form form, const Tensor* out, ScalarType common);
SHUNT_ALWAYS_INLINE bool recording() { return ::shunt::detail::tls_state.record != nullptr; }

}  // namespace shunt::elementwise
