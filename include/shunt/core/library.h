// Library: a registration block. It owns its registrations and withdraws them when it is destroyed.
//
//   SHUNT_LIBRARY(myops, m)           { m.def("myadd(Tensor self, Tensor other) -> Tensor"); }
//   SHUNT_LIBRARY_IMPL(myops, CPU, m) { m.impl("myadd", &myadd_cpu); }
//   SHUNT_LIBRARY_IMPL(_, MyKey, m)   { m.fallback(CppFunction::makeFallthrough()); }
//
// Blocks work at static initialisation and at any later time, on any thread. Several threads must not use one Library
// object at once.
#pragma once

#include <shunt/core/dispatcher.h>

namespace shunt {

/// A kernel to register, and the key that dispatch() gave it.
class SHUNT_API CppFunction {
 public:
  /// From a function pointer, or a copyable callable whose operator() is not overloaded.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, CppFunction> &&
             !std::is_same_v<std::remove_cvref_t<F>, KernelFunction>)
  CppFunction(F&& f) : kernel_(KernelFunction::fromFunctor(std::decay_t<F>(std::forward<F>(f)))) {}
  explicit CppFunction(KernelFunction kernel) : kernel_(std::move(kernel)) {}
  template <class Signature, Signature* Fn>
  CppFunction(CompileTimeFunctionPointer<Signature, Fn>) : kernel_(KernelFunction::fromFunction<Fn>()) {}
  template <class F>
  static CppFunction makeFromUnboxedFunction(F&& f) {
    return CppFunction(std::forward<F>(f));
  }
  /// No kernel: calls skip the key.
  static CppFunction makeFallthrough() { return CppFunction(KernelFunction::makeFallthrough(), 0); }
  /// A boxed kernel, for operators of any signature: f(op, stack) or f(op, keys, stack).
  template <class F>
  static CppFunction makeFromBoxed(F f) {
    return CppFunction(KernelFunction::fromBoxed(std::move(f)), 0);
  }
  /// The same from a function known at compile time.
  template <auto Fn>
  static CppFunction makeFromBoxedFunction() {
    return CppFunction(KernelFunction::makeFromBoxedFunction<Fn>(), 0);
  }
  /// From a function known at compile time: calls have no indirection.
  template <auto Fn>
  static CppFunction makeUnboxed() {
    return CppFunction(KernelFunction::fromFunction<Fn>(), 0);
  }

  /// The kernel as it will be registered.
  const KernelFunction& kernel() const { return kernel_; }
  /// The key that dispatch() gave it; none: the block's.
  std::optional<DispatchKey> dispatch_key() const { return key_; }

 private:
  friend CppFunction dispatch(DispatchKey key, CppFunction f);
  CppFunction(KernelFunction kernel, int) : kernel_(std::move(kernel)) {}
  KernelFunction kernel_;
  std::optional<DispatchKey> key_;
};

/// `f` as a kernel for `key`. Its block must have the same key or none.
inline CppFunction dispatch(DispatchKey key, CppFunction f) {
  f.key_ = key;
  return f;
}

/// The key for kernels of a device type.
inline DispatchKey dispatchKeyOf(DeviceType type) { return toRuntimeKey(Functionality::Dense, backendOf(type)); }
inline CppFunction dispatch(DeviceType type, CppFunction f) { return dispatch(dispatchKeyOf(type), std::move(f)); }

class SHUNT_API Library {
 public:
  /// SHUNT_LIBRARY (once per namespace), SHUNT_LIBRARY_FRAGMENT (more definitions), SHUNT_LIBRARY_IMPL (kernels only).
  enum class Kind { kDef, kFragment, kImpl };
  /// `ns` "_" (kImpl only) is the wildcard for fallbacks. Throws if a second kDef library has the namespace.
  Library(Kind kind, std::string ns, std::optional<DispatchKey> key = std::nullopt,
          std::source_location where = std::source_location::current());
  Library(Library&&) = default;
  ~Library() { reset(); }

  /// Defines an operator. Throws in kImpl libraries, and for a namespace other than the library's.
  Library& def(FunctionSchema schema, std::source_location where = std::source_location::current());
  /// The schema as text; the namespace may be left out.
  Library& def(std::string_view schema, std::source_location where = std::source_location::current());
  /// Registers `f` too, for the key that dispatch() gave it or CompositeImplicitAutograd. A bare name takes its schema
  /// from the function's signature, so `f` must not be boxed.
  Library& def(std::string_view name_or_schema, CppFunction f,
               std::source_location where = std::source_location::current());
  /// Registers a kernel: for the key of `f`, else the library's, else CompositeImplicitAutograd. The operator may be
  /// defined later. Throws if `f` and the library have different keys.
  Library& impl(std::string_view name, CppFunction f, std::source_location where = std::source_location::current());
  Library& impl(std::string_view name, DispatchKey key, CppFunction f,
                std::source_location where = std::source_location::current()) {
    return impl(name, dispatch(key, std::move(f)), where);
  }
  Library& impl(std::string_view name, DeviceType type, CppFunction f,
                std::source_location where = std::source_location::current()) {
    return impl(name, dispatch(type, std::move(f)), where);
  }
  /// Registers kernels made from functor F for the operator "f" and those of its forms that are defined: in-place "f_"
  /// (same overload name) and out= "f.out" (of "f.N": "f.N_out"). Throws unless "f" is defined. Needs
  /// <shunt/elementwise/library.h>.
  template <class F>
  Library& elementwise(std::string_view name, std::source_location where = std::source_location::current());
  /// A kernel for every operator, for the key of `f` or the library's. Throws without a key, or unless `ns` is "_".
  Library& fallback(CppFunction f, std::source_location where = std::source_location::current());
  /// Withdraws every registration, newest first, and waits until other threads have destroyed the functors that they
  /// were about to destroy.
  /// - The caller must hold no lock that a functor's destructor takes.
  /// - It doesn't wait inside such a destructor.
  /// - It doesn't wait for calls: other threads may still run the kernels.
  void reset();
  /// Calls reset(), and waits until all earlier calls of other threads have ended and the kernels' functors are
  /// destroyed. After that, their code may be unloaded. Throws, and changes nothing, inside a call of this thread or a
  /// Dispatcher::Batch. Throws after reset() on systems without membarrier(2).
  void drain();

 private:
  /// The base name of an elementwise operator, and the full names of its forms; empty: not defined.
  struct ElementwiseForms {
    std::string base, inplace, out;
  };
  ElementwiseForms elementwiseForms(std::string_view name) const;
  OperatorName qualified(OperatorName name, const char* what) const;
  Kind kind_;
  std::string ns_;
  std::optional<DispatchKey> key_;
  std::source_location where_;
  std::vector<RegistrationHandle> handles_;
};

namespace detail {
/// Runs a registration block at static initialisation.
struct LibraryInit {
  LibraryInit(Library::Kind kind, const char* ns, std::optional<DispatchKey> key, void (*fill)(Library&),
              std::source_location where = std::source_location::current())
      : library(kind, ns, key, where) {
    fill(library);
  }
  Library library;
};
}  // namespace detail

#define SHUNT_LIBRARY_BLOCK(kind, ns, key, m, id)                                             \
  static void SHUNT_CONCAT(shunt_library_fill_##ns##_, id)(::shunt::Library&);                \
  static ::shunt::detail::LibraryInit SHUNT_CONCAT(shunt_library_##ns##_, id)(                \
      ::shunt::Library::Kind::kind, #ns, key, &SHUNT_CONCAT(shunt_library_fill_##ns##_, id)); \
  static void SHUNT_CONCAT(shunt_library_fill_##ns##_, id)([[maybe_unused]] ::shunt::Library & m)

#define SHUNT_LIBRARY(ns, m) SHUNT_LIBRARY_BLOCK(kDef, ns, std::nullopt, m, __COUNTER__)
#define SHUNT_LIBRARY_FRAGMENT(ns, m) SHUNT_LIBRARY_BLOCK(kFragment, ns, std::nullopt, m, __COUNTER__)
#define SHUNT_LIBRARY_IMPL(ns, key, m) SHUNT_LIBRARY_BLOCK(kImpl, ns, ::shunt::DispatchKey::key, m, __COUNTER__)

}  // namespace shunt
