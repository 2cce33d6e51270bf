// Registering the dictionary: tables of operators and kernels that generated files hold, and the loops over them.
//
// Runs once, at the library's static initialisation, on one thread. The registrations are never taken back: operators
// of the dictionary live as long as the process. Each row's place is its entry in the YAML files.
#pragma once

#include <shunt/core/stand_in.h>

#include <source_location>

namespace shunt::wrappers {

/// The boxed form of every kernel of one signature: unboxes, calls, boxes. One instantiation per signature, not per
/// kernel.
template <class Signature>
struct BoxedCall;
template <class R, class... A>
struct BoxedCall<R(A...)> {
  using Function = R (*)(OperatorKernel*, DispatchKeySet, A...);
  SHUNT_NOINLINE static void call(Function function, DispatchKeySet ks, Stack* stack) {
    boxing::BoxedFromUnboxed<R, boxing::Types<A...>>::run(
        stack, [=](auto&&... a) -> R { return function(nullptr, ks, static_cast<decltype(a)>(a)...); });
  }
};

template <class Signature, auto Function>
void boxedKernel(OperatorKernel*, const OperatorHandle&, DispatchKeySet ks, Stack* stack) {
  BoxedCall<Signature>::call(Function, ks, stack);
}

struct OperatorRow {
  Operator* symbol;
  const char* schema;
  std::source_location where;
};
struct KernelRow {
  const Operator* symbol;
  DispatchKey key;
  void* unboxed;  // null registers a fallthrough
  BoxedKernelFn boxed;
  const CppSignature& (*signature)();
  std::source_location where;
  StandIn as{};  // of a stand-in
};

/// `Function` is StaticKernel<...>::call of a kernel with the operator's signature.
template <class Signature, auto Function>
KernelRow kernelRow(const Operator& symbol, DispatchKey key, std::source_location where) {
  return {
      &symbol, key, reinterpret_cast<void*>(Function), &boxedKernel<Signature, Function>, &CppSignature::of<Signature>,
      where};
}
/// `BuiltIn` and `Composite` are StaticKernel<...>::call, too: of `other`'s kernel for the row's key, and of what calls
/// it.
template <auto BuiltIn, auto Composite>
KernelRow standInRow(KernelRow row, const Operator& other) {
  row.as = {&other, reinterpret_cast<const void*>(BuiltIn), reinterpret_cast<const void*>(Composite)};
  return row;
}
inline KernelRow fallthroughRow(const Operator& symbol, DispatchKey key, std::source_location where) {
  return {&symbol, key, nullptr, nullptr, nullptr, where};
}

void registerOperators(ArrayRef<OperatorRow> rows);
void registerKernels(ArrayRef<KernelRow> rows);

}  // namespace shunt::wrappers
