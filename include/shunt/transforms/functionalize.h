// Functionalize: programs that write in place and into views run without a single write. A functional tensor looks like
// the tensor that it was made of; an in-place operator on it computes the functional form and gives the tensor, and
// every alias of it, the new value.
//
//   Tensor x = shunt::to_functional(shunt::zeros({2, 2}));
//   x[0].add_(1);                                   // select, add and select_scatter; x now shows [[1, 1], [0, 0]]
//   Tensor y = shunt::from_functional(x);
//
//   auto g = shunt::functionalize([](const Tensor& x) { x.t().mul_(2); return x.sum(); });
//   Tensor s = g(x);                                // x is written once, at the end
//
// Note [Functional tensors]
// A functional tensor is a wrapper: a TensorImpl with the key Functionalize and without data. It holds a *base*, shared
// with its aliases, and its own *chain* of view operators. The base holds the value, an ordinary tensor that nobody
// writes, and its generation. What a tensor shows is its chain applied to the base's value, done again when the base
// has a new generation.
//   - An operator that writes nothing runs on the values. A result that shares memory with an argument's value becomes
//   an alias of
//     that argument, with the operator as one more link; every other result gets a base of its own.
//   - One that writes first runs on fake tensors of the same geometry and graph (fake_tensor.h), which throws what the
//   plain call
//     would throw and tells the shape that out= gets. Then its functional form, found by comparing schemas, runs on the
//     values, and the result becomes the new value: of the base itself, or through the chain. The inverse of a link is
//     the operator <name>_scatter where there is one (slice_scatter), else as_strided_scatter, which is right for any
//     views.
//   - In-place view operators (t_, squeeze_) add a link.
// A new value keeps sizes, strides, offset and the storage's size of the old one, so views and results are those of the
// plain program, bit by bit. Autograd, Autocast and the kernels run below on the values: graphs are recorded there, and
// Tensor's autograd methods answer for them. A leaf changed under no_grad stays the leaf: it keeps requires_grad, grad
// and accumulator. When an in-place view operator gives it another shape there, the user's tensor gets that shape too,
// so that gradients arrive in it. One base and its aliases are for one thread at a time.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <array>
#include <memory>
#include <optional>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shunt {

/// A functional tensor with `t` as its value, and a base of its own: other aliases of `t` are not tracked. `t` is not
/// written, and must not be while the result is in use; a leaf may get another shape (Note [Functional tensors]).
/// Throws when `t` is undefined or functional already.
SHUNT_API Tensor to_functional(const Tensor& t);
/// The value that a functional tensor has now; not to be written. Throws for other tensors.
SHUNT_API Tensor from_functional(const Tensor& t);
/// Whether `t` is a functional tensor; an undefined one isn't.
inline bool is_functional(const Tensor& t) { return t.defined() && t.key_set().has(Functionality::Functionalize); }

/// While it lives, on the thread that made it, factories return functional tensors. Plain tensors are constants:
/// operators with plain tensors only run as ever, and writing to one from a functional tensor is an error.
class [[nodiscard]] FunctionalizeGuard {
 public:
  FunctionalizeGuard() : guard_(DispatchKey::Functionalize) {}
  /// Whether one is active on this thread.
  static bool is_enabled() { return tls_is_included(DispatchKey::Functionalize); }

 private:
  IncludeDispatchKeyGuard guard_;
};

/// While it lives, on the thread that made it, every call that Functionalize makes below is checked: its schema must
/// not write, versions and bytes of all its tensors must be the same after it, and no operator that its kernels call
/// through the dispatcher may write to memory of the program: what a checked call was given or returned. Kernels write
/// to memory of their own. A violation throws. Not seen: backward formulas, and what kernels do with pointers to memory
/// that they were not given. Slow: copies every argument's storage.
class SHUNT_API FunctionalizeCheckGuard {
 public:
  FunctionalizeCheckGuard();
  ~FunctionalizeCheckGuard();
  FunctionalizeCheckGuard(const FunctionalizeCheckGuard&) = delete;
  FunctionalizeCheckGuard& operator=(const FunctionalizeCheckGuard&) = delete;
  /// Calls checked since it was made.
  int64_t calls() const;

 private:
  int64_t first_;
};

/// The operator that computes without writing what `op`, which writes, would write; nothing when no schema fits. For
/// tests and tools.
SHUNT_API std::optional<OperatorHandle> functional_form(const OperatorHandle& op);

namespace detail {

/// The functional tensors of one call of a functionalized function.
class SHUNT_API FunctionalizeCall {
 public:
  FunctionalizeCall();
  ~FunctionalizeCall();
  /// Inputs that share memory become aliases where they can, and one tensor given twice one functional tensor. Inside
  /// another call, or under a guard, everything stays what it is.
  Tensor wrap(const Tensor& t);
  /// Writes to the inputs, with resize_, as_strided_ and copy_, what the function has changed.
  void writeBack();
  /// After writeBack(): an input itself, a view of one made again on it, or the value.
  Tensor unwrap(const Tensor& t);

 private:
  struct Inputs;
  std::unique_ptr<Inputs> inputs_;
};

/// How a value holds tensors: not at all, or map(value, f) is the value with f(const Tensor&) -> Tensor in the place of
/// each. Undefined ones stay, unless F::kTakesUndefined: then f gets them, too, and one for an optional without tensor.
template <class T>
struct TensorsIn {
  static constexpr bool kAny = false;
};
template <>
struct TensorsIn<Tensor> {
  static constexpr bool kAny = true;
  template <class F>
  static Tensor map(const Tensor& t, F& f) {
    if constexpr (requires { F::kTakesUndefined; })
      return f(t);
    else
      return t.defined() ? f(t) : t;
  }
};
template <class T, class F>
decltype(auto) mapTensorsIn(const T& value, F& f) {
  if constexpr (TensorsIn<T>::kAny)
    return TensorsIn<T>::map(value, f);
  else
    return (value);
}
template <class T>
  requires TensorsIn<T>::kAny
struct TensorsIn<std::optional<T>> {
  static constexpr bool kAny = true;
  template <class F>
  static std::optional<T> map(const std::optional<T>& value, F& f) {
    if (value) return mapTensorsIn(*value, f);
    if constexpr (std::is_same_v<T, Tensor> && requires { F::kTakesUndefined; }) f(Tensor());
    return std::nullopt;
  }
};
template <class T>
  requires TensorsIn<T>::kAny
struct TensorsIn<std::vector<T>> {
  static constexpr bool kAny = true;
  template <class F>
  static std::vector<T> map(const std::vector<T>& list, F& f) {
    std::vector<T> out;
    out.reserve(list.size());
    for (const T& value : list) out.push_back(mapTensorsIn(value, f));
    return out;
  }
};
template <class T, size_t N>
  requires TensorsIn<T>::kAny
struct TensorsIn<std::array<T, N>> {
  static constexpr bool kAny = true;
  template <class F>
  static std::array<T, N> map(std::array<T, N> values, F& f) {
    for (T& value : values) value = mapTensorsIn(std::as_const(value), f);
    return values;
  }
};
template <class A, class B>
  requires(TensorsIn<A>::kAny || TensorsIn<B>::kAny)
struct TensorsIn<std::pair<A, B>> {
  static constexpr bool kAny = true;
  template <class F>
  static std::pair<A, B> map(const std::pair<A, B>& value, F& f) {
    return std::pair<A, B>(mapTensorsIn(value.first, f), mapTensorsIn(value.second, f));
  }
};
template <class... T>
  requires(TensorsIn<T>::kAny || ...)
struct TensorsIn<std::tuple<T...>> {
  static constexpr bool kAny = true;
  template <class F>
  static std::tuple<T...> map(const std::tuple<T...>& values, F& f) {
    return std::apply([&](const T&... value) { return std::tuple<T...>(mapTensorsIn(value, f)...); }, values);
  }
};

template <class T>
constexpr bool isOtherContainerOfTensors() {
  if constexpr (std::is_convertible_v<T, Tensor> || TensorsIn<T>::kAny)
    return false;
  else if constexpr (std::ranges::range<T>)
    return TensorsIn<std::ranges::range_value_t<T>>::kAny;
  else
    return false;
}

template <class T>
decltype(auto) wrapAll(FunctionalizeCall& call, T&& value) {
  using Value = std::remove_cvref_t<T>;
  auto wrap = [&](const Tensor& t) { return call.wrap(t); };
  if constexpr (std::is_same_v<Value, TensorList>) {
    return TensorsIn<std::vector<Tensor>>::map(std::vector<Tensor>(value.begin(), value.end()), wrap);
  } else if constexpr (TensorsIn<Value>::kAny) {
    return TensorsIn<Value>::map(value, wrap);
  } else if constexpr (std::is_convertible_v<T, Tensor>) {
    return TensorsIn<Tensor>::map(static_cast<Tensor>(std::forward<T>(value)), wrap);
  } else {
    static_assert(!isOtherContainerOfTensors<Value>(),
                  "functionalize: an argument is a container of tensors that it can't look into, so they would be "
                  "written at once; pass a "
                  "Tensor, TensorList, or optional, vector, array, pair or tuple of them");
    return std::forward<T>(value);
  }
}

template <class T>
T unwrapAll(FunctionalizeCall& call, T&& value) {
  static_assert(!std::is_reference_v<T>);
  auto unwrap = [&](const Tensor& t) { return is_functional(t) ? call.unwrap(t) : t; };
  static_assert(!isOtherContainerOfTensors<T>(),
                "functionalize: the function returns a container of tensors that it can't look into, so they would "
                "stay functional; return a "
                "Tensor, or optional, vector, array, pair or tuple of them");
  if constexpr (TensorsIn<T>::kAny)
    return TensorsIn<T>::map(value, unwrap);
  else
    return std::move(value);
}

}  // namespace detail

/// A function that does what `f` does to the same arguments, but without writes: wraps tensors among the arguments
/// (Tensor, TensorList; optional, vector, array, pair and tuple of them), runs `f` under a FunctionalizeGuard, writes
/// what became of the arguments back at the end, and returns what f returns with plain tensors in it. Other containers
/// of tensors don't compile; tensors in members of the user's own types are not seen, and so are constants. When `f`
/// throws, the arguments are as they were. Under a FunctionalizeGuard it is `f` itself. Throws what f throws, and where
/// an argument is used after another that shares its memory was written, if the one can't be known from the other:
/// other dtypes, leaves of their own, wrappers of one tensor.
template <class F>
auto functionalize(F f) {
  return [f = std::move(f)]<class... Args>(Args&&... args) {
    detail::FunctionalizeCall call;
    const auto run = [&] {
      const FunctionalizeGuard guard;
      return f(detail::wrapAll(call, std::forward<Args>(args))...);
    };
    if constexpr (std::is_void_v<decltype(run())>) {
      run();
      call.writeBack();
    } else {
      auto result = run();
      call.writeBack();
      return detail::unwrapAll(call, std::move(result));
    }
  };
}

}  // namespace shunt
