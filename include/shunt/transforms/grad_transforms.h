// Transforms that differentiate a function: grad, value_and_grad, vjp, jacrev, hessian.
//
//   auto loss = [](const Tensor& w, const Tensor& x, const Tensor& y) { return (x.mv(w) - y).square().mean(); };
//   Tensor g = shunt::grad(loss)(w, x, y);                            // of the first argument
//   auto each = shunt::vmap(shunt::grad(loss), {.in_dims = {std::nullopt, 0, 0}});   // a gradient for each sample
//   Tensor h = shunt::hessian([](const Tensor& v) { return v.pow(3).sum(); })(v);
//
// A transform returns a callable that holds a copy of the function.
//   - No gradient is accumulated into the grad() of a tensor.
//   - Transforms nest in each other and in vmap, in any order.
//   - Results are differentiable by autograd if arguments require grad.
//   - Any thread may call a transformed function, several at once if they may call the function itself.
//   - The tensors that the function gets are valid until it returns. Using one later throws if any of it was recorded.
#pragma once

#include <shunt/transforms/vmap.h>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace shunt {

namespace detail {

/// The level in which a function is differentiated, and the inputs of the function. vjp's pullback shares it.
class SHUNT_API GradCall {
 public:
  /// `transform` is its name, for messages.
  explicit GradCall(std::string transform);
  ~GradCall();
  GradCall(const GradCall&) = delete;
  GradCall& operator=(const GradCall&) = delete;

  /// "Inside" is between these two: there the function runs, and gradients are computed.
  void enter();
  void leave() noexcept;
  /// The input for a tensor of a differentiated argument. Throws unless its dtype is floating-point.
  Tensor wrap(size_t argument, const Tensor& t);
  /// Throws unless the result is a defined 0-dim tensor of a floating dtype.
  void checkScalar(const Tensor& result) const;
  /// The gradients of all inputs, in order; zeros for an input that no output depends on. `grads`: of vjp the gradients
  /// of `outputs`, where undefined means 0; of other transforms empty, which means 1. Call it inside.
  std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grads, bool keep_graph);
  /// The gradients of all inputs, sorted by the arguments at `argnums`; `n` is the number of arguments.
  std::vector<Tensor> ordered(std::vector<Tensor> gradients, const std::vector<int64_t>& argnums, size_t n) const;
  /// The value of a tensor of the level; any other tensor unchanged. Call it outside.
  Tensor unwrap(const Tensor& t) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline bool contains(const std::vector<int64_t>& list, size_t i, size_t n) {
  for (const int64_t a : list)
    if (a == static_cast<int64_t>(i) || a + static_cast<int64_t>(n) == static_cast<int64_t>(i)) return true;
  return false;
}
SHUNT_API void checkArgnums(const char* transform, const std::vector<int64_t>& argnums,
                            const std::vector<bool>& tensors);

/// Runs `f` with the arguments at `argnums` wrapped. Call it inside.
template <class F, class... Args>
auto runTracked(GradCall& call, const F& f, const std::vector<int64_t>& argnums, const Args&... args) {
  size_t i = 0;
  const auto wrap = [&]<class T>(const T& value) -> decltype(auto) {
    const size_t argument = i++;
    return mapArgument(value, [&](const Tensor& t) {
      return contains(argnums, argument, sizeof...(Args)) ? call.wrap(argument, t) : t;
    });
  };
  using Result = std::remove_cvref_t<decltype(f(wrap(args)...))>;
  checkTransformResult<Result>();
  const std::tuple<decltype(wrap(args))...> wrapped{wrap(args)...};
  return std::apply([&](auto&&... values) -> Result { return std::invoke(f, values...); }, wrapped);
}

/// `value` with its tensors replaced by those of `list` from `next` on, in order.
template <class T>
auto replaceTensors(const T& value, const std::vector<Tensor>& list, size_t& next) {
  return mapArgument(value, [&](const Tensor&) { return list[next++]; });
}

/// Every tensor of a result, in order, with undefined ones also for optionals without a tensor. So two results of one
/// type have their tensors at the same positions.
struct PlacesOf {
  static constexpr bool kTakesUndefined = true;
  std::vector<Tensor> all;
  Tensor operator()(const Tensor& t) { return all.emplace_back(t); }
};
template <class R>
std::vector<Tensor> placesOf(const R& result) {
  PlacesOf places;
  TensorsIn<R>::map(result, places);
  return std::move(places.all);
}

/// The value of a function with a scalar result, and the gradients of the arguments at `argnums`.
template <class F, class... Args>
std::pair<Tensor, std::vector<Tensor>> valueAndGradients(const char* transform, const F& f,
                                                         const std::vector<int64_t>& argnums, const Args&... args) {
  checkArgnums(transform, argnums, {holdsTensors<Args>()...});
  GradCall call(transform);
  Tensor value;
  std::vector<Tensor> grads;
  {
    call.enter();
    const LeaveAtEnd<GradCall> leave{call};
    static_assert(std::is_same_v<decltype(runTracked(call, f, argnums, args...)), Tensor>,
                  "the function to differentiate has to return one Tensor; vjp takes functions of several results");
    value = runTracked(call, f, argnums, args...);
    call.checkScalar(value);
    grads = call.ordered(call.gradients({value}, {}, false), argnums, sizeof...(Args));
  }
  for (Tensor& g : grads) g = call.unwrap(g);
  return {call.unwrap(value), std::move(grads)};
}

template <class First, class... Rest>
const First& firstOf(const First& first, const Rest&...) {
  return first;
}

}  // namespace detail

/// Returns a function that computes the gradient of `f` with respect to its first argument. `f` must return a 0-dim
/// Tensor. The argument is a Tensor, or an optional, vector, array, pair or tuple of Tensors, all of a floating dtype;
/// the gradient has the same type and shapes. Throws if the result of `f` is not such a scalar, or if `f` writes values
/// that depend on the argument to a tensor from outside.
template <class F>
auto grad(F f) {
  return [f = std::move(f)]<class... Args>(const Args&... args) {
    const auto grads = detail::valueAndGradients("grad", f, {0}, args...).second;
    size_t next = 0;
    return detail::replaceTensors(detail::firstOf(args...), grads, next);
  };
}
/// The same with respect to the arguments at `argnums`, each named once; negative ones count from the end. Returns the
/// gradients of their tensors, one argument after another, in the order of `argnums`.
template <class F>
auto grad(F f, std::vector<int64_t> argnums) {
  return [f = std::move(f), argnums = std::move(argnums)]<class... Args>(const Args&... args) -> std::vector<Tensor> {
    return detail::valueAndGradients("grad", f, argnums, args...).second;
  };
}

/// As grad, but the function returns a pair of value and gradient.
template <class F>
auto value_and_grad(F f) {
  return [f = std::move(f)]<class... Args>(const Args&... args) {
    auto [value, grads] = detail::valueAndGradients("value_and_grad", f, {0}, args...);
    size_t next = 0;
    return std::make_pair(std::move(value), detail::replaceTensors(detail::firstOf(args...), grads, next));
  };
}
template <class F>
auto value_and_grad(F f, std::vector<int64_t> argnums) {
  return [f = std::move(f), argnums = std::move(argnums)]<class... Args>(const Args&... args) {
    return detail::valueAndGradients("value_and_grad", f, argnums, args...);
  };
}

/// Returns a pair of the result of f(primals...) and a function, the pullback. All tensors of primals must be of a
/// floating dtype.
///   - The pullback takes a gradient of the result, of the same type and shapes. Undefined tensors in it mean zeros,
///     and the gradient of an undefined tensor, or of one without gradient, is ignored.
///   - It returns the gradients of the primals: of one primal in its type, of several as a tuple.
///   - It may be called repeatedly, also in a vmap, but by one thread at a time.
template <class F, class... Primals>
auto vjp(F f, const Primals&... primals) {
  const auto call = std::make_shared<detail::GradCall>("vjp");
  std::vector<int64_t> argnums;
  for (size_t i = 0; i < sizeof...(Primals); ++i) argnums.push_back(static_cast<int64_t>(i));
  detail::checkArgnums("vjp", argnums, {detail::holdsTensors<Primals>()...});
  using Result = decltype(detail::runTracked(*call, f, argnums, primals...));
  const auto result = [&]() -> Result {
    call->enter();
    const detail::LeaveAtEnd<detail::GradCall> leave{*call};
    return detail::runTracked(*call, f, argnums, primals...);
  }();
  const std::vector<Tensor> outputs = detail::placesOf(result);
  auto pullback = [call, outputs, kept = std::make_tuple(primals...)](const Result& cotangent) {
    std::vector<Tensor> grads;
    {
      call->enter();
      const detail::LeaveAtEnd<detail::GradCall> leave{*call};
      grads = call->gradients(outputs, detail::placesOf(cotangent), true);
    }
    for (Tensor& g : grads) g = call->unwrap(g);
    size_t next = 0;
    auto all =
        std::apply([&](const auto&... p) { return std::tuple{detail::replaceTensors(p, grads, next)...}; }, kept);
    if constexpr (sizeof...(Primals) == 1)
      return std::get<0>(std::move(all));
    else
      return all;
  };
  auto unwrap = [&](const Tensor& t) { return call->unwrap(t); };
  return std::make_pair(detail::TensorsIn<Result>::map(result, unwrap), std::move(pullback));
}

namespace detail {
/// All unit cotangents for a result of n elements: [n, result's shape], each with a single 1.
SHUNT_API Tensor basisOf(const Tensor& result);
/// `rows` of shape [n, input's shape] as [result's shape, input's shape].
SHUNT_API Tensor asJacobian(const Tensor& rows, const Tensor& result, const Tensor& input);
template <size_t I, class F, class... Args>
auto asFunctionOf(const F& f, const Args&... args) {
  return [&](const Tensor& x) {
    const auto call = [&]<size_t... K>(std::index_sequence<K...>) {
      const auto pick = [&]<size_t J>(std::integral_constant<size_t, J>) -> decltype(auto) {
        if constexpr (J == I)
          return (x);
        else
          return std::get<J>(std::tie(args...));
      };
      return std::invoke(f, pick(std::integral_constant<size_t, K>{})...);
    };
    return call(std::index_sequence_for<Args...>{});
  };
}
}  // namespace detail

/// Returns a function that computes the Jacobian of `f` with respect to argument I, of shape [result's shape,
/// argument's shape]. The result of `f` and the argument are Tensors. Reverse mode: one row for each element of the
/// result, at most `chunk_size` rows in one vmap (0: all).
template <size_t I = 0, class F>
auto jacrev(F f, int64_t chunk_size = 0) {
  return [f = std::move(f), chunk_size]<class... Args>(const Args&... args) {
    static_assert(I < sizeof...(Args), "jacrev: the function is called with fewer arguments");
    const Tensor input = std::get<I>(std::tie(args...));
    const auto [result, pullback] = vjp(detail::asFunctionOf<I>(f, args...), input);
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(result)>, Tensor>, "jacrev: f has to return one Tensor");
    const Tensor rows = vmap(pullback, {.chunk_size = chunk_size})(detail::basisOf(result));
    return detail::asJacobian(rows, result, input);
  };
}

/// Returns a function that computes the second derivatives of `f` with respect to argument I, of shape [result's shape,
/// argument's shape, argument's shape]. The result of `f` and the argument are Tensors.
template <size_t I = 0, class F>
auto hessian(F f) {
  return jacrev<I>(jacrev<I>(std::move(f)));
}

}  // namespace shunt
