// Kernels: what a registration holds, what a table entry calls, and the conversions between boxed and unboxed calls.
//
// A kernel is callable in two forms. Unboxed: `Return(*)(OperatorKernel*, DispatchKeySet, Args...)`, erased to void*
// and always called with the operator's one C++ signature. Boxed: arguments and returns on a Stack. Each form is
// derived from the other by the templates in boxing.h. Table entries are immutable; the functor is kept alive by the
// OpState.
#pragma once

#include <shunt/core/boxing.h>

#include <memory>

namespace shunt {

class OperatorHandle;

/// A function named as a template argument: SHUNT_FN(f) is such a value, and a kernel made from it has no indirection.
template <class Signature, Signature* Fn>
struct CompileTimeFunctionPointer {};
#define SHUNT_FN(...)                                                                                        \
  ::shunt::CompileTimeFunctionPointer<std::remove_pointer_t<std::remove_reference_t<decltype(__VA_ARGS__)>>, \
                                      (__VA_ARGS__)>()

/// A boxed kernel: takes the arguments off the stack, and leaves the returns.
using BoxedKernelFn = void (*)(OperatorKernel*, const OperatorHandle&, DispatchKeySet, Stack*);

/// The type-erased kernel of a registration or a table slot.
struct KernelFunction {
  void* unboxed = nullptr;  // null: only boxed
  BoxedKernelFn boxed = nullptr;
  intrusive_ptr<OperatorKernel> functor;
  const CppSignature* signature = nullptr;  // null for boxed kernels

  /// Whether there is a kernel.
  bool isValid() const { return boxed != nullptr; }
  bool isFallthrough() const { return boxed == &fallthroughKernel; }
  bool operator==(const KernelFunction& o) const {
    return unboxed == o.unboxed && boxed == o.boxed && functor == o.functor;
  }

  /// A kernel that calls look past.
  static KernelFunction makeFallthrough() {
    KernelFunction k;
    k.boxed = &fallthroughKernel;
    return k;
  }
  /// The marker's address; calling it is a bug of Shunt's, since the mask removes its key from every call.
  SHUNT_API static void fallthroughKernel(OperatorKernel*, const OperatorHandle&, DispatchKeySet, Stack*);

  /// From a function known at compile time: called directly from the table entry.
  template <auto Fn>
  static KernelFunction fromFunction() {
    using T = boxing::FunctionTraits<decltype(Fn)>;
    KernelFunction k;
    k.unboxed = reinterpret_cast<void*>(&boxing::StaticKernel<Fn, typename T::Return, typename T::Args>::call);
    k.boxed = &boxing::BoxedFromUnboxed<typename T::Return, typename T::Args>::template callStatic<Fn>;
    k.signature = &CppSignature::of<typename T::Signature>();
    return k;
  }
  /// From a function pointer or a functor known at run time: one more indirection.
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
  /// `fn(const OperatorHandle&, Stack*)` or `fn(const OperatorHandle&, DispatchKeySet, Stack*)`.
  template <class F>
  static KernelFunction fromBoxed(F f) {
    KernelFunction k;
    k.functor = make_intrusive<boxing::BoxedFunctor<F>>(std::move(f));
    k.boxed = &boxing::BoxedFunctor<F>::call;
    return k;
  }
  /// From an object of kernel class F, which derives from OperatorKernel.
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

  // PyTorch's names of the factories. kAllowLegacyTypes is accepted and means nothing: one list of types serves all.
  template <auto Fn>
  static KernelFunction makeFromBoxedFunction() {
    KernelFunction k;
    k.boxed = &boxing::callStaticBoxed<Fn>;
    return k;
  }
  template <bool kAllowLegacyTypes = false, class F>
  static KernelFunction makeFromUnboxedFunctor(std::unique_ptr<OperatorKernel> functor) {
    return fromUserFunctor<F>(std::move(functor));
  }
  template <class Signature, Signature* Fn, bool kAllowLegacyTypes = false>
  static KernelFunction makeFromUnboxedFunction(CompileTimeFunctionPointer<Signature, Fn>) {
    return fromFunction<Fn>();
  }
  template <bool kAllowLegacyTypes = false, class Signature>
  static KernelFunction makeFromUnboxedRuntimeFunction(Signature* fn) {
    return fromFunctor(fn);
  }
  template <bool kAllowLegacyTypes = false, class F>
  static KernelFunction makeFromUnboxedLambda(F&& f) {
    return fromFunctor(std::decay_t<F>(std::forward<F>(f)));
  }

  /// Calls the kernel itself; nothing is dispatched.
  void callBoxed(const OperatorHandle& op, DispatchKeySet ks, Stack* stack) const {
    boxed(functor.get(), op, ks, stack);
  }
  /// The same with arguments of C++ types. Throws where the kernel's signature is another one.
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
