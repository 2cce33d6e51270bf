// FunctionRef: a reference to a callable, two words, without allocation. It owns nothing: the callable must outlive it,
// so use it for arguments only. A value type; calls are as thread-safe as the callable.
#pragma once

#include <shunt/core/macros.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace shunt {

/// Specialised for function types R(Args...). The callable must outlive the reference.
template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Args...>)
  FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace shunt
