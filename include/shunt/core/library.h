// Library: registration blocks. A library object holds its registrations and takes them back when it is destroyed.
//
//   SHUNT_LIBRARY(myops, m)           { m.def("myadd(Tensor self, Tensor other) -> Tensor"); }
//   SHUNT_LIBRARY_IMPL(myops, CPU, m) { m.impl("myadd", &myadd_cpu); }
//   SHUNT_LIBRARY_IMPL(_, MyKey, m)   { m.fallback(CppFunction::makeFallthrough()); }
//
// Used at static initialisation or any time later, on any thread; one Library object is not for several threads at
// once.
#pragma once

#include <shunt/core/dispatcher.h>

namespace shunt {

/// A kernel to register, with what is known of it.
class SHUNT_API CppFunction {
 public:
  /// A function pointer, or any copyable callable whose operator() is not overloaded.
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
  /// No kernel: calls look past the key.
  static CppFunction makeFallthrough() { return CppFunction(KernelFunction::makeFallthrough(), 0); }
  /// A kernel for any operator: f(op, stack), or f(op, keys, stack).
  template <class F>
  static CppFunction makeFromBoxed(F f) {
    return CppFunction(KernelFunction::fromBoxed(std::move(f)), 0);
  }
  /// The same from a function that is known at compile time.
  template <auto Fn>
  static CppFunction makeFromBoxedFunction() {
    return CppFunction(KernelFunction::makeFromBoxedFunction<Fn>(), 0);
  }
  /// A function known at compile time: no indirection at run time.
  template <auto Fn>
  static CppFunction makeUnboxed() {
    return CppFunction(KernelFunction::fromFunction<Fn>(), 0);
  }

  /// The kernel, and the key that dispatch() gave it.
  const KernelFunction& kernel() const { return kernel_; }
  std::optional<DispatchKey> dispatch_key() const { return key_; }

 private:
  friend CppFunction dispatch(DispatchKey key, CppFunction f);
  CppFunction(KernelFunction kernel, int) : kernel_(std::move(kernel)) {}
  KernelFunction kernel_;
  std::optional<DispatchKey> key_;
};

/// A kernel for a key other than the block's.
inline CppFunction dispatch(DispatchKey key, CppFunction f) {
  f.key_ = key;
  return f;
}

/// The key of a device type's kernels.
inline DispatchKey dispatchKeyOf(DeviceType type) { return toRuntimeKey(Functionality::Dense, backendOf(type)); }
inline CppFunction dispatch(DeviceType type, CppFunction f) { return dispatch(dispatchKeyOf(type), std::move(f)); }

class SHUNT_API Library {
 public:
  /// Which of SHUNT_LIBRARY, SHUNT_LIBRARY_FRAGMENT and SHUNT_LIBRARY_IMPL it is.
  enum class Kind { kDef, kFragment, kImpl };
  /// `ns` "_" (IMPL only) is the wildcard for fallbacks.
  Library(Kind kind, std::string ns, std::optional<DispatchKey> key = std::nullopt,
          std::source_location where = std::source_location::current());
  Library(Library&&) = default;
  ~Library() { reset(); }

  Library& def(FunctionSchema schema, std::source_location where = std::source_location::current());
  /// A schema without namespace, or with this library's.
  Library& def(std::string_view schema, std::source_location where = std::source_location::current());
  /// A name or a schema with a kernel for every backend (CompositeImplicit); a bare name gets the schema of the
  /// function.
  Library& def(std::string_view name_or_schema, CppFunction f,
               std::source_location where = std::source_location::current());
  Library& impl(std::string_view name, CppFunction f, std::source_location where = std::source_location::current());
  Library& impl(std::string_view name, DispatchKey key, CppFunction f,
                std::source_location where = std::source_location::current()) {
    return impl(name, dispatch(key, std::move(f)), where);
  }
  Library& impl(std::string_view name, DeviceType type, CppFunction f,
                std::source_location where = std::source_location::current()) {
    return impl(name, dispatch(type, std::move(f)), where);
  }
  /// Kernels made from functor F for an operator that is defined already, and for its in-place form ("f_" of "f", with
  /// the same overload name) and its out= form ("f.out", or "f.N_out" of "f.N") where those are defined too. Needs
  /// <shunt/elementwise/library.h>.
  template <class F>
  Library& elementwise(std::string_view name, std::source_location where = std::source_location::current());
  Library& fallback(CppFunction f, std::source_location where = std::source_location::current());
  /// Takes every registration back, newest first, and waits until other threads have destroyed the functors that they
  /// were about to, so the caller may hold no lock that a functor's destructor takes; inside such a destructor it
  /// doesn't wait. Nor for calls: those of other threads may be running in the kernels still.
  void reset();
  /// Takes every registration back and waits until all calls of other threads that began before are over, and
  /// everything that held the kernels' functors is gone: then their code may be unloaded. An error, which changes
  /// nothing, inside a call of this thread's own.
  void drain();

 private:
  /// The forms of an elementwise operator: its name without overload, and the forms' full names, empty where not
  /// defined.
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
