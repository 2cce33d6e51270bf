// Functionalize: runs a program that writes in place and into views without a single write. A functional tensor looks
// like the tensor that it was made from. An in-place operator on it computes the functional form, and gives the tensor
// and every alias of it the new value.
//
//   Tensor x = shunt::to_functional(shunt::zeros({2, 2}));
//   x[0].add_(1);                                   // select, add and select_scatter; x now shows [[1, 1], [0, 0]]
//   Tensor y = shunt::from_functional(x);
//
//   auto g = shunt::functionalize([](const Tensor& x) { x.t().mul_(2); return x.sum(); });
//   Tensor s = g(x);                                // x is written once, at the end
//
// A base and its aliases are for one thread at a time. Guards act on the thread that made them.
//
// Note [Functional tensors]
// A functional tensor is a wrapper: a TensorImpl with the key Functionalize and without data. It has a *base*, shared
// with its aliases, and a *chain* of view operators. The base holds the value, an ordinary tensor that nobody writes,
// and its generation. A tensor shows its chain applied to the base's value. The chain is applied again when the base
// has a new generation.
//   - An operator that writes nothing runs on the values. A result that shares memory with an argument's value becomes
//     an alias of that argument, with the operator as one more link. Other results get a new base.
//   - An operator that writes first runs on fake tensors of the same geometry and graph (fake_tensor.h). This throws
//     what the plain call would throw, and finds the shape that out= gets. Then its functional form, found by comparing
//     schemas, runs on the values. The result becomes the new value: of the base itself, or through the chain. The
//     inverse of a link is the operator <name>_scatter if it exists (slice_scatter), else as_strided_scatter, which
//     fits all views.
//   - An in-place view operator (t_, squeeze_) adds a link.
// A new value keeps sizes, strides, offset and storage size of the old one. So views and results are those of the plain
// program, to the bit.
//   - Autograd, Autocast and the kernels run below, on the values. Graphs are recorded there, and Tensor's autograd
//     methods use them.
//   - A leaf that is changed under no_grad stays the leaf, with its requires_grad, grad and accumulator. If an in-place
//     view operator changes its shape there, the user's tensor gets that shape too, so that gradients fit it.
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

/// A functional tensor with `t` as its value and a new base: other aliases of `t` are not tracked. `t` is not written,
/// and must not be written while the result is in use. A leaf's shape may change: Note [Functional tensors]. Throws if
/// `t` is undefined or already functional.
SHUNT_API Tensor to_functional(const Tensor& t);
/// The current value of a functional tensor, which must not be written. Throws for other tensors.
SHUNT_API Tensor from_functional(const Tensor& t);
/// Whether `t` is defined and functional.
inline bool is_functional(const Tensor& t) { return t.defined() && t.key_set().has(Functionality::Functionalize); }

/// While it lives, on the thread that made it, factories return functional tensors. Plain tensors are constants:
/// operators with plain tensors only run as usual, and writing a functional tensor to a plain one throws.
class [[nodiscard]] FunctionalizeGuard {
 public:
  FunctionalizeGuard() : guard_(DispatchKey::Functionalize) {}
  /// Whether a guard is active on this thread.
  static bool is_enabled() { return tls_is_included(DispatchKey::Functionalize); }

 private:
  IncludeDispatchKeyGuard guard_;
};

/// While it lives, on the thread that made it, every call that Functionalize makes below is checked. It throws if
///   - the schema of the call writes;
///   - the version, bytes or shape of an argument differ after the call;
///   - an operator that its kernels call through the dispatcher writes to memory of the program, which is all that a
///     checked call was given or has returned. Kernels may write to memory that they allocate.
/// Backward formulas, and writes through pointers to memory that a kernel was not given, are not seen. Slow: each call
/// copies the storage of every argument.
class SHUNT_API FunctionalizeCheckGuard {
 public:
  FunctionalizeCheckGuard();
  ~FunctionalizeCheckGuard();
  FunctionalizeCheckGuard(const FunctionalizeCheckGuard&) = delete;
  FunctionalizeCheckGuard& operator=(const FunctionalizeCheckGuard&) = delete;
  /// The number of calls checked since it was made.
  int64_t calls() const;

 private:
  int64_t first_;
};

/// The operator that computes what `op` writes, and writes nothing; nullopt if no schema fits. For tests and tools.
SHUNT_API std::optional<OperatorHandle> functional_form(const OperatorHandle& op);

namespace detail {

/// The functional tensors of one call of a functionalized function.
class SHUNT_API FunctionalizeCall {
 public:
  FunctionalizeCall();
  ~FunctionalizeCall();
  /// The functional tensor of an input. Inputs that share memory become aliases if possible, and a tensor that is given
  /// twice becomes one functional tensor. Inside another call, or under a guard, returns `t`.
  Tensor wrap(const Tensor& t);
  /// Writes what the function has changed to the inputs, with resize_, as_strided_ and copy_.
  void writeBack();
  /// After writeBack(): the input itself, a view of an input made again on it, or the value.
  Tensor unwrap(const Tensor& t);

 private:
  struct Inputs;
  std::unique_ptr<Inputs> inputs_;
};

/// How a type holds tensors. If kAny, map(value, f) returns the value with f(const Tensor&) -> Tensor in place of each
/// tensor. Undefined ones stay. With F::kTakesUndefined, f gets these too, and one for each optional without a tensor.
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

/// Returns a function that does what `f` does, but without writes. It wraps tensors among the arguments (Tensor,
/// TensorList; optional, vector, array, pair and tuple of them) and runs `f` under a FunctionalizeGuard. Then it writes
/// back what `f` has changed of the arguments, and returns the result of `f` with plain tensors.
///   - Other containers of tensors don't compile. Tensors in members of other types are not seen; they are constants.
///   - Under a FunctionalizeGuard, the returned function is `f` itself.
/// It throws what `f` throws, and leaves the arguments unchanged then. It also throws if `f` writes
/// an argument, uses another one that shares its memory, and the other's new value can't be derived. That is so if they
/// have different dtypes, are separate leaves, or are wrappers of one tensor.
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
