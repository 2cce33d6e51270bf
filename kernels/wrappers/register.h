// Registering the dictionary: tables of operators and kernels that generated files hold, and the loops over them.
//
// Runs once, at the library's static initialisation, on one thread. The registrations are never taken back: operators of
// the dictionary live as long as the process.
#pragma once

#include <shunt/core/dispatcher.h>

namespace shunt::wrappers {

/// A kernel known at compile time, as a functor for its boxed form, which is shared by all kernels of one signature.
struct UnboxedHolder : OperatorKernel {
  explicit UnboxedHolder(void* function) : function(function) {}
  void* const function;
};

template <class Signature>
struct BoxedThroughHolder;
template <class R, class... A>
struct BoxedThroughHolder<R(A...)> {
  static void call(OperatorKernel* functor, const OperatorHandle&, DispatchKeySet ks, Stack* stack) {
    using Function = R (*)(OperatorKernel*, DispatchKeySet, A...);
    const auto function = reinterpret_cast<Function>(static_cast<UnboxedHolder*>(functor)->function);
    boxing::BoxedFromUnboxed<R, boxing::Types<A...>>::run(
        stack, [=](auto&&... a) -> R { return function(functor, ks, static_cast<decltype(a)>(a)...); });
  }
};

/// What a C++ signature contributes to a kernel.
struct SignatureTraits {
  BoxedKernelFn boxed;
  const CppSignature& (*signature)();
};
template <class Signature>
inline constexpr SignatureTraits kSignatureTraits{&BoxedThroughHolder<Signature>::call, &CppSignature::of<Signature>};

struct OperatorRow {
  Operator* symbol;
  const char* schema;
};
struct KernelRow {
  const Operator* symbol;
  DispatchKey key;
  void* function;                 // StaticKernel<...>::call; null registers a fallthrough
  const SignatureTraits* traits;  // null for a fallthrough
};

void registerOperators(ArrayRef<OperatorRow> rows);
void registerKernels(ArrayRef<KernelRow> rows);

}  // namespace shunt::wrappers
