// KernelFunction: a type-erased kernel, as registrations hold it and table entries call it.
//
// A kernel has two forms; templates in boxing.h derive each from the other:
//   unboxed   `Return(*)(OperatorKernel*, DispatchKeySet, Args...)`, erased to void*. Every call uses the operator's
//             one C++ signature.
//   boxed     Arguments and returns are on a Stack.
// Table entries are immutable. The OpState that holds them shares ownership of their functors.
#pragma once

#include <shunt/core/boxing.h>

#include <memory>

namespace shunt {

class OperatorHandle;

/// A function as a template argument. SHUNT_FN(f) makes one; a kernel made from it calls f without indirection.
template <class Signature, Signature* Fn>
struct CompileTimeFunctionPointer {};
#define SHUNT_FN(...)                                                                                        \
  ::shunt::CompileTimeFunctionPointer<std::remove_pointer_t<std::remove_reference_t<decltype(__VA_ARGS__)>>, \
                                      (__VA_ARGS__)>()

/// A boxed kernel: pops the arguments off the stack and pushes the returns.
using BoxedKernelFn = void (*)(OperatorKernel*, const OperatorHandle&, DispatchKeySet, Stack*);

/// The type-erased kernel of a registration or a table slot.
struct KernelFunction {
  void* unboxed = nullptr;                  // null: the kernel has only the boxed form
  BoxedKernelFn boxed = nullptr;            // null: no kernel
  intrusive_ptr<OperatorKernel> functor;    // null for functions known at compile time
  const CppSignature* signature = nullptr;  // null for boxed kernels

  /// Whether there is a kernel.
  bool isValid() const { return boxed != nullptr; }
  bool isFallthrough() const { return boxed == &fallthroughKernel; }
  bool operator==(const KernelFunction& o) const {
    return unboxed == o.unboxed && boxed == o.boxed && functor == o.functor;
  }

  /// A kernel that makes calls skip its key.
  static KernelFunction makeFallthrough() {
    KernelFunction k;
    k.boxed = &fallthroughKernel;
    return k;
  }
  /// Its address marks a fallthrough. Throws an internal error if called: the mask removes its key from every call.
  SHUNT_API static void fallthroughKernel(OperatorKernel*, const OperatorHandle&, DispatchKeySet, Stack*);

  /// From a function known at compile time. The table entry calls it directly.
  template <auto Fn>
  static KernelFunction fromFunction() {
    using T = boxing::FunctionTraits<decltype(Fn)>;
    KernelFunction k;
    k.unboxed = reinterpret_cast<void*>(&boxing::StaticKernel<Fn, typename T::Return, typename T::Args>::call);
    k.boxed = &boxing::BoxedFromUnboxed<typename T::Return, typename T::Args>::template callStatic<Fn>;
    k.signature = &CppSignature::of<typename T::Signature>();
    return k;
  }
  /// From a function pointer or functor known at run time. Each call costs one more indirection.
  template <class F>
  static KernelFunction fromFunctor(F f) {
    using T = boxing::FunctionTraits<F>;
    using Holder = boxing::FunctorKernel<F, typename T::Return, typename T::Args>;
    KernelFunction k;
    k.functor = make_intrusive<Holder>(std::move(f));
    k.unboxed = reinterpret_cast<void*>(&Holder::call);
    k.boxed = &boxing::BoxedFromUnboxed<typename T::Return, typename T::Args>::template callFunctor<Holder>;
    k.signature = &CppSignature::of<typename T::Signature>();
    return k;
  }
  /// From `fn(const OperatorHandle&, Stack*)` or `fn(const OperatorHandle&, DispatchKeySet, Stack*)`.
  template <class F>
  static KernelFunction fromBoxed(F f) {
    KernelFunction k;
    k.functor = make_intrusive<boxing::BoxedFunctor<F>>(std::move(f));
    k.boxed = &boxing::BoxedFunctor<F>::call;
    return k;
  }
  /// Takes ownership of an object whose class is F, derived from OperatorKernel.
  template <class F>
  static KernelFunction fromUserFunctor(std::unique_ptr<OperatorKernel> functor) {
    using T = boxing::FunctionTraits<F>;
    using Calls = boxing::UserFunctor<F, typename T::Return, typename T::Args>;
    KernelFunction k;
    k.functor = intrusive_ptr<OperatorKernel>::reclaim(functor.release());
    k.unboxed = reinterpret_cast<void*>(&Calls::call);
    k.boxed = &Calls::callBoxed;
    k.signature = &CppSignature::of<typename T::Signature>();
    return k;
  }

  // The factories under PyTorch's names. kAllowLegacyTypes has no effect: there is one list of types.

  /// From a boxed function known at compile time.
  template <auto Fn>
  static KernelFunction makeFromBoxedFunction() {
    KernelFunction k;
    k.boxed = &boxing::callStaticBoxed<Fn>;
    return k;
  }
  /// fromUserFunctor: takes ownership of an object of class F.
  template <bool kAllowLegacyTypes = false, class F>
  static KernelFunction makeFromUnboxedFunctor(std::unique_ptr<OperatorKernel> functor) {
    return fromUserFunctor<F>(std::move(functor));
  }
  /// fromFunction, from SHUNT_FN(f): calls have no indirection.
  template <class Signature, Signature* Fn, bool kAllowLegacyTypes = false>
  static KernelFunction makeFromUnboxedFunction(CompileTimeFunctionPointer<Signature, Fn>) {
    return fromFunction<Fn>();
  }
  /// fromFunctor, from a function pointer: calls have one more indirection than with SHUNT_FN.
  template <bool kAllowLegacyTypes = false, class Signature>
  static KernelFunction makeFromUnboxedRuntimeFunction(Signature* fn) {
    return fromFunctor(fn);
  }
  /// fromFunctor, from a copy of `f`, whose operator() must not be overloaded.
  template <bool kAllowLegacyTypes = false, class F>
  static KernelFunction makeFromUnboxedLambda(F&& f) {
    return fromFunctor(std::decay_t<F>(std::forward<F>(f)));
  }

  /// Runs this kernel without dispatch. The stack holds the arguments, then the returns.
  void callBoxed(const OperatorHandle& op, DispatchKeySet ks, Stack* stack) const {
    boxed(functor.get(), op, ks, stack);
  }
  /// The same with C++ arguments. Throws if the kernel has another C++ signature.
  template <class R, class... A>
  R call(const OperatorHandle& op, DispatchKeySet ks, A... a) const {
    if (unboxed == nullptr)
      return boxing::callBoxedAsUnboxed<R, A...>(boxed, functor.get(), op, ks, std::forward<A>(a)...);
    SHUNT_CHECK(*signature == CppSignature::of<R(A...)>(), "KernelFunction::call: the kernel's C++ signature is ",
                signature->str(), ", it was called as ", CppSignature::of<R(A...)>().str());
    return reinterpret_cast<R (*)(OperatorKernel*, DispatchKeySet, A...)>(unboxed)(functor.get(), ks,
                                                                                   std::forward<A>(a)...);
  }
};

}  // namespace shunt
