// The call of an operator from Python: one function for each C++ signature, instantiated by the generated sources.
#pragma once

#include "python/src/call/convert.h"
#include "python/src/call/entry.h"
#include "python/src/call/results.h"

namespace shunt::python {

inline bool isLong(const Tensor& t) { return t.defined() && t.numel() >= kLongCall; }
inline bool isLong(TensorList list) { return !list.empty() && isLong(list[0]); }
template <class T>
bool isLong(const T&) {
  return false;
}

/// The converted arguments. They are made in order, in place: some refer to themselves.
template <size_t I, class A>
struct Held {
  Converter<A> holder;
  Held(const Parameter* p, PyObject* const* slots) : holder(p[I], slots[I]) {}
};
template <class Places, class... A>
struct Arguments;
template <size_t... I, class... A>
struct Arguments<std::index_sequence<I...>, A...> : Held<I, A>... {
  Arguments(const Parameter* p, PyObject* const* slots) : Held<I, A>(p, slots)... {}
  bool isLongCall() const { return (isLong(static_cast<A>(Held<I, A>::holder)) || ... || false); }
  template <class R>
  R passTo(R (*call)(A...)) const {
    return call(static_cast<A>(Held<I, A>::holder)...);
  }
};

template <class Signature>
struct Invoker;
template <class R, class... A>
struct Invoker<R(A...)> {
  static PyObject* run(const Overload& overload, PyObject* const* slots) {
    const Arguments<std::index_sequence_for<A...>, A...> arguments(overload.signature.parameters.data(), slots);
    auto* const call = reinterpret_cast<R (*)(A...)>(overload.source->call);
    const auto unlocked = [&]() -> R {
      const WithoutGil released(arguments.isLongCall());
      return arguments.passTo(call);
    };
    if constexpr (std::is_void_v<R>) {
      unlocked();
      Py_RETURN_NONE;
    } else {
      return toPython(overload, unlocked());
    }
  }

 private:
  template <class T>
  static PyObject* toPython(const Overload&, T&& result) {
    return wrapResult(std::forward<T>(result));
  }
  template <class... T>
  static PyObject* toPython(const Overload& overload, std::tuple<T...>&& results) {
    return wrapResults(overload.result_type, std::move(results));
  }
};

}  // namespace shunt::python
