// The elementwise entries as a thunk runs them: for the operands that its plan expects, the loop and the allocation
// inline, everything constant that the plan knows; for all others the interpreter's entries.
//
// Note [Expected operands]
// The compiler puts these functions in the place of runFunctional, runOutRequest and runInplaceRequest, and gives
// kExpected the operands of the call that made the pair hot. What is expected is compared with what is there at every
// call, right before the loop, so a thunk needs no guard but these comparisons and is right for operands of every kind.
// Bits: the generic loop computes what the ahead-of-time loops do (functor.h), in another order of the same elements.
#pragma once

#include "kernels/pointwise/plan.h"
#include "kernels/pointwise/run.h"

#include <shunt/core/hot.h>

namespace shunt::elementwise {

using Record = ::shunt::detail::LoopRecord;

/// Kinds of inputs beside Record's. One element with dimensions, unlike one without, counts in promotion as a tensor
/// does.
inline constexpr uint8_t kOneOfSeveralDims = 5;
/// Dense, of the whole's sizes but the last, which is 1: one element for each row.
inline constexpr uint8_t kColumn = 6;
/// An operand of any layout, by its stride in the dimension that the interpreter's plan makes the inner one. With any
/// other stride there its elements are gathered, as the interpreter does: a loop that takes them one by one needs 1.9
/// times as long.
inline constexpr uint8_t kUnitStride = 7, kZeroStride = 8, kAnyStride = 9;
/// Where Record::kind has the output's, of operands by their strides.
inline constexpr int kOutputKind = Record::kMaxInputs - 1;
static_assert(kMaxInputs <= kOutputKind);
constexpr bool isStride(uint8_t kind) { return kind >= kUnitStride; }
/// Shorter rows of columns and of strided operands are left to the interpreter, which collects them.
inline constexpr int64_t kLeastRow = 8;

/// The plan's operands. In the library itself nothing is expected.
extern const Record kExpected;

/// For requests of N inputs: dense operands, which need no plan, and operands by their strides, which the interpreter
/// plans.
template <int N>
Tensor functionalExpected(const Request& request);
template <int N>
void outExpected(const Request& request, Tensor& out);
template <int N>
void inplaceExpected(const Request& request, Tensor& self);
template <int N>
Tensor functionalStrided(const Request& request);
template <int N>
void outStrided(const Request& request, Tensor& out);
template <int N>
void inplaceStrided(const Request& request, Tensor& self);

// As calls: what isn't inlined needn't be compiled.
/// prepareScalars (fast_call.h).
SHUNT_NOINLINE void prepareScalarsApart(const Request& request, ScalarType common, ScalarSlot* slots);
/// Elements of `t`, if it is repeated along the first dimensions of `whole`; else -1.
SHUNT_NOINLINE int64_t rowOf(const TensorImpl& whole, const TensorImpl& t);
/// Elements of a row, if `t` is a column of `whole`; else -1.
SHUNT_NOINLINE int64_t rowBesideColumn(const TensorImpl& whole, const TensorImpl& t);
/// Whether every input's strides are those of a dense tensor also where they address nothing, and the plan's output's
/// are then.
SHUNT_NOINLINE bool haveUsualStrides(const Request& request);

/// The loop of the record's functor. The library's runs the ahead-of-time loop, and a thunk of the first tier calls it;
/// in one of the second tier the compiler puts the generic loop here, which has the same parameters but the last.
SHUNT_NOINLINE bool expectedLoop(const View& out, const View* in, int64_t n, const ScalarSlot* scalars,
                                 ScalarType common, const KernelDescriptor& op);

/// plan.execute(), counted as a planned call: the strided forms' operands are not the expected ones.
SHUNT_NOINLINE void executePlan(Plan& plan);

/// Notes what a request has before it, if the thread's call is being recorded and this is its first.
/// `it` is null for operands that need no plan.
SHUNT_COLD void recordOperands(const Request& request, Record::Form form, const Tensor* out, ScalarType common,
                               const Iteration* it);
SHUNT_ALWAYS_INLINE bool recording() { return ::shunt::detail::tls_state.record != nullptr; }

}  // namespace shunt::elementwise
