// The CPU fallback: operators that a device's backend has no kernel for run on the CPU, with copies there and back.
//
//   SHUNT_LIBRARY_IMPL(_, PrivateUse1, m) {
//   m.fallback(shunt::CppFunction::makeFromBoxedFunction<&shunt::cpu_fallback>()); }
//
// Note [CPU fallback]
// It stands below Autograd and Autocast, which the device thus has for every operator without writing anything.
// Composite operators and all views never get here: they are made of other operators, or share their base's storage on
// any device. What a backend has to have itself: empty.memory_format, empty_strided and copy_ (from, to and within the
// device), which the fallback is made of.
// - Arguments: each tensor of the device is copied to the CPU once, however often it is an argument. Tensors that
// overlap a written
//   one become views of one copy, so they overlap on the CPU too. 0-dim CPU tensors stay as they are; any other mixture
//   of devices is an error.
// - Written arguments (in-place, out=) are copied back, resized first where the operator resized them, and where the
// operator returns
//   one, the caller gets the tensor it passed.
// - Other results move to the arguments' device, or to the one that a `device` argument names.
// - An operator whose result is a view would give one of the copy: that is an error.
// Each operator is named once in the log, as a warning.
#pragma once

#include <shunt/core/op_state.h>
#include <shunt/core/operator_name.h>

#include <vector>

namespace shunt {

/// Any thread. Throws what the operator throws on the CPU, and as the note says.
SHUNT_API void cpu_fallback(const OperatorHandle& op, Stack* stack);

/// The operators that have run in it so far, sorted.
SHUNT_API std::vector<OperatorName> cpu_fallback_operators();

/// For kernels that serve only some of their calls: the rest to a fallback, with the operator's typed arguments.
///   return call_fallback_fn<&cpu_fallback, ops::add_Tensor>::call(self, other, alpha);
template <auto Fallback, class Op, class Schema = typename Op::Schema>
struct call_fallback_fn;
template <auto Fallback, class Op, class R, class... A>
struct call_fallback_fn<Fallback, Op, R(A...)> {
  static R call(A... a) {
    return boxing::callBoxedAsUnboxed<R, A...>(
        [](OperatorKernel*, const OperatorHandle& op, DispatchKeySet, Stack* stack) { Fallback(op, stack); }, nullptr,
        OperatorHandle(Op::symbol), DispatchKeySet(), std::forward<A>(a)...);
  }
};

}  // namespace shunt
