// The CPU fallback: runs operators on the CPU for which a device's backend has no kernel, with copies there and back.
//
//   SHUNT_LIBRARY_IMPL(_, PrivateUse1, m) {
//   m.fallback(shunt::CppFunction::makeFromBoxedFunction<&shunt::cpu_fallback>()); }
//
// Note [CPU fallback]
// It stands below Autograd and Autocast, so the device has both for every operator without further code. Composites and
// views never reach it: they are made of other operators, or share their base's storage on any device. A backend must
// provide empty.memory_format, empty_strided and copy_ (from, to and within the device), which the fallback uses.
//   - Arguments: each tensor of the device is copied to the CPU once, even if it is several arguments. Tensors that
//     overlap a written one become views of one copy, so they overlap on the CPU too. 0-dim CPU tensors stay as they
//     are. Other mixtures of devices are an error.
//   - Written arguments (in-place, out=) are copied back, after a resize if the operator resized them. If the operator
//     returns one, the caller gets the tensor that it passed.
//   - Other results move to the device of the arguments, or to the one that a `device` argument names.
//   - An operator that returns a view is an error, because the result would be a view of the copy.
// The log names each operator once, as a warning.
#pragma once

#include <shunt/core/op_state.h>
#include <shunt/core/operator_name.h>

#include <vector>

namespace shunt {

/// Any thread. Throws what the operator throws on the CPU, Error for mixed devices, and NotImplementedError for an
/// operator that can't fall back.
SHUNT_API void cpu_fallback(const OperatorHandle& op, Stack* stack);

/// The operators that have fallen back so far in this process, sorted.
SHUNT_API std::vector<OperatorName> cpu_fallback_operators();

/// For kernels that handle only some calls: passes the others to a fallback, with the operator's typed arguments.
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
