// The elementwise entries as a thunk runs them: for the operands that its plan expects, the loop inline or called, and
// everything constant that the plan knows; for all others the interpreter's entries.
//
// Note [Expected operands]
// The compiler puts these functions in the place of runFunctional, runOutRequest and runInplaceRequest, and gives
// kExpected the operands of the call that made the pair hot. What is expected is compared with what is there at every
// call, right before the loop, so a thunk needs no guard but these comparisons and is right for operands of every kind.
// Where a thunk has several records the compiler copies these functions for each: what the one turns away is for the
// next (jit/emit/plan_constants.cpp).
// Bits: the generic loop computes what the ahead-of-time loops do (functor.h), in another order of the same elements.
#pragma once

#include "kernels/pointwise/plan.h"
#include "kernels/pointwise/run.h"

#include <shunt/core/missed_call.h>

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
constexpr bool isStride(uint8_t kind) { return kind >= kUnitStride && kind <= kAnyStride; }
/// A number where it takes part in promotion by its category: beside tensors of another dtype than the common one.
inline constexpr uint8_t kBoolNumber = 10, kIntegerNumber = 11, kFloatingNumber = 12;
constexpr bool isCategory(uint8_t kind) { return kind >= kBoolNumber && kind <= kFloatingNumber; }
constexpr bool isNumber(uint8_t kind) { return kind == Record::kNumber || isCategory(kind); }
inline uint8_t categoryOf(const Scalar& number) {
  return number.isFloatingPoint() ? kFloatingNumber : number.isBoolean() ? kBoolNumber : kIntegerNumber;
}
/// Where Record::kind has kForced of a request whose common dtype the kernel chose.
inline constexpr int kForcedPlace = kMaxInputs;
inline constexpr uint8_t kForced = 13;
static_assert(kForcedPlace < kOutputKind);
/// Dense and repeated along the first dimensions of the whole: a bias.
inline constexpr uint8_t kRow = 14;
/// Shorter rows of columns and of strided operands are left to the interpreter, which collects them.
inline constexpr int64_t kLeastRow = 8;

/// The plan's operands. In the library itself nothing is expected.
extern const Record kExpected;

/// For requests of N inputs. Dense operands need no plan; most calls have nothing but tensors of one shape and of the
/// loop's own dtypes, and numbers, which take a third of the code that all others do. Operands by their strides are
/// planned by the interpreter.
template <int N>
struct UniformCall;  // expected_uniform.h
template <int N>
struct DenseCall;  // expected_dense.h
template <class Call>
Tensor functionalExpected(const Request& request);
template <class Call>
void outExpected(const Request& request, Tensor& out);
template <class Call>
void inplaceExpected(const Request& request, Tensor& self);
template <int N>
Tensor functionalStrided(const Request& request);
template <int N>
void outStrided(const Request& request, Tensor& out);
template <int N>
void inplaceStrided(const Request& request, Tensor& self);

/// Where guards send other operands: the interpreter's entries, which may record them; past their fast path where it
/// would turn the operands away as well. Where a thunk expects several kinds of operands, the compiler puts the next
/// one's guard in the place of all but the last of these calls.
SHUNT_NOINLINE Tensor functionalMissed(const Request& request, jit::MissCount* misses);
SHUNT_NOINLINE void outMissed(const Request& request, Tensor& out, jit::MissCount* misses);
SHUNT_NOINLINE void inplaceMissed(const Request& request, Tensor& self, jit::MissCount* misses);
SHUNT_NOINLINE void rowsMissed(const Request& request, Plan& plan, Tensor& out, Record::Form form,
                               jit::MissCount* misses);
/// And operands as expected, of which there are so many that the interpreter's loop is the better one. Apart, since
/// these don't count as misses: no other record would do better.
SHUNT_NOINLINE Tensor functionalLarge(const Request& request);
SHUNT_NOINLINE void outLarge(const Request& request, Tensor& out);
SHUNT_NOINLINE void inplaceLarge(const Request& request, Tensor& self);
SHUNT_NOINLINE void rowsLarge(Plan& plan);

/// Whether the guards of these forms would let the request's operands pass, apart from the element count.
bool expectsUniform(const Request& request, const Tensor* out, const Record& record);
bool expectsDense(const Request& request, const Tensor* out, const Record& record);
bool expectsStrides(const Request& request, const Plan& plan, bool given, const Record& record);

// As calls: what isn't inlined needn't be compiled.
/// prepareScalars (fast_call.h).
SHUNT_NOINLINE void prepareScalarsApart(const Request& request, ScalarType common, ScalarSlot* slots);
// Pure, so that what a guard has read before such a call is known behind it.
/// Elements of `t`, if it is repeated along the first dimensions of `whole`; else -1.
[[gnu::pure]] SHUNT_NOINLINE int64_t rowOf(const TensorImpl& whole, const TensorImpl& t);
/// Elements of a row, if `t` is a column of `whole`; else -1.
[[gnu::pure]] SHUNT_NOINLINE int64_t rowBesideColumn(const TensorImpl& whole, const TensorImpl& t);
/// Whether a dense input in the storage of a dense output lies in other bytes, or is the same view of the same ones.
[[gnu::pure]] SHUNT_NOINLINE bool isApart(const TensorImpl& out, const TensorImpl& t);
/// Whether every input's strides are those of a dense tensor also where they address nothing, and the plan's output's
/// are then.
[[gnu::pure]] SHUNT_NOINLINE bool haveUsualStrides(const Request& request);

/// Where the compiler puts the loop of the record's functor: the generic one, made for the operands, which has the same
/// parameters but the last.
SHUNT_NOINLINE bool expectedLoop(const View& out, const View* in, int64_t n, const ScalarSlot* scalars,
                                 ScalarType common, const KernelDescriptor& op) noexcept;
/// Or the ahead-of-time one, which is called: a LoopFn.
SHUNT_NOINLINE bool readyLoop(std::byte* out, const std::byte* const* in, uint32_t repeated, int64_t n,
                              const ScalarSlot* scalars) noexcept;

/// Notes what a request has before it, if the thread's call is being recorded and this is its first.
/// `plan` is null for operands that need none.
SHUNT_COLD void recordOperands(const Request& request, Record::Form form, const Tensor* out, ScalarType common,
                               const Plan* plan);
SHUNT_ALWAYS_INLINE bool recording() { return ::shunt::detail::tls_state.record != nullptr; }

}  // namespace shunt::elementwise
