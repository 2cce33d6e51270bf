// Calls of an operator in a grad level without a Stack: what the fallbacks of Batched and TransformBack (fallback.cpp)
// do with a call that has tensors of the level, writes none and takes no list. Operators that are so
// called outside of the level run in their thunks. All others are the fallbacks', which are also the boxed form of
// these kernels.
#pragma once

#include "src/dispatch/reliance.h"
#include "src/transforms/vmap/call.h"

#include <shunt/core/dispatcher.h>
#include <shunt/ops.h>

#include <tuple>
#include <type_traits>

namespace shunt::levels {

SHUNT_ALWAYS_INLINE const Tensor& valueOf(const Tensor& t, const Level& level) {
  return belongsTo(t, level) ? storageOf(t).value : t;
}
SHUNT_ALWAYS_INLINE Tensor& valueOf(Tensor& t, const Level& level) {
  return belongsTo(t, level) ? storageOf(t).value : t;
}
inline std::optional<Tensor> valueOf(const std::optional<Tensor>& t, const Level& level) {
  return t ? std::optional<Tensor>(valueOf(*t, level)) : std::nullopt;
}
template <class T>
SHUNT_ALWAYS_INLINE const T& valueOf(const T& other, const Level&) {
  return other;
}

template <class... T>
bool isAnyOf(const Level& level, const T&... a) {
  const auto is = [&]<class A>(const A& x) {
    if constexpr (std::is_same_v<A, Tensor>)
      return belongsTo(x, level);
    else if constexpr (std::is_same_v<A, std::optional<Tensor>>)
      return x && belongsTo(*x, level);
    else
      return false;
  };
  return (is(a) || ...);
}

/// What acts on values, and not inside a grad level.
inline constexpr DispatchKeySet kOfValues{DispatchKey::Tracer, DispatchKey::Fake};

/// Of a tensor from outside: whether it has a graph, or keys, that are not this level's.
inline bool isForeign(const Tensor& t) {
  return t.defined() && (t.requires_grad() || t.is_inference() || t.key_set().hasAny(kOfValues));
}

template <class... T>
bool isAnyForeign(const Level& level, const T&... a) {
  const auto is = [&]<class A>(const A& x) {
    if constexpr (std::is_same_v<A, Tensor>)
      return !belongsTo(x, level) && isForeign(x);
    else if constexpr (std::is_same_v<A, std::optional<Tensor>>)
      return x && !belongsTo(*x, level) && isForeign(*x);
    else
      return false;
  };
  return (is(a) || ...);
}

/// Whether the level computes gradients and records nothing: what it calls is called outside at once.
inline bool recordsNothing(const Level& level, DispatchKeySet keys) {
  return level.in_backward && !GradMode::is_enabled() && !keys.hasAny(kAutocastKeys.functionalities());
}

/// With what keys a call goes on in the level. What acts on values does so outside; on here it stands where the
/// function itself has entered it.
inline DispatchKeySet keysInGrad(DispatchKeySet keys) {
  const DispatchKeySet of_values = kOfValues - tls_included();
  return (keys & DispatchKeySet::fullAfter(DispatchKey::Batched)) - of_values;
}

inline Tensor tracked(const Level& level, Tensor t) { return t.defined() ? makeTracked(level, std::move(t)) : t; }
template <class... T>
std::tuple<T...> tracked(const Level& level, std::tuple<T...> results) {
  return std::apply([&](T&... t) { return std::tuple<T...>(tracked(level, std::move(t))...); }, results);
}

template <class R>
constexpr bool kHoldsTensorsOnly = std::is_same_v<R, Tensor>;
template <class... T>
constexpr bool kHoldsTensorsOnly<std::tuple<T...>> = (std::is_same_v<T, Tensor> && ...);

template <class T>
constexpr bool kIsTensorList = std::is_same_v<T, TensorList> || std::is_same_v<T, TensorOptList>;

template <class Op, class Signature = typename Op::Schema>
struct InGrad;

template <class Op, class R, class... A>
struct InGrad<Op, R(A...)> {
  /// Whether calls of the operator can be made so at all.
  static constexpr bool kKnows =
      kHoldsTensorsOnly<R> && !(std::is_same_v<A, Tensor&> || ...) && !(kIsTensorList<std::remove_cvref_t<A>> || ...);

  /// Whether this one can. `level` is the innermost one.
  SHUNT_ALWAYS_INLINE static bool takes(const Level& level, DispatchKeySet keys, const std::remove_cvref_t<A>&... a) {
    return isAnyOf(level, a...) && (recordsNothing(level, keys) || !isAnyForeign(level, a...));
  }

  /// The kernel of Batched, in a grad level.
  SHUNT_ALWAYS_INLINE static R call(const Level& level, DispatchKeySet keys, A... a) {
    if (recordsNothing(level, keys)) return outside(level, a...);
    return Op::redispatch(keysInGrad(keys), std::forward<A>(a)...);
  }

  /// The kernel of TransformBack.
  static R back(OperatorKernel*, DispatchKeySet keys, A... a) {
    const LevelFrame* frame = innermost();
    if (frame != nullptr && frame->level().kind == Kind::kGrad && !isComposite(Op::symbol, keys)) [[likely]]
      return tracked(frame->level(), outside(frame->level(), a...));
    return boxing::callBoxedAsUnboxed<R, A...>(&boxing::callStaticBoxed<&transformBack>, nullptr,
                                               OperatorHandle(Op::symbol), keys, std::forward<A>(a)...);
  }

 private:
  template <class... T>
  SHUNT_ALWAYS_INLINE static R outside(const Level& level, T&... a) {
    const Outside scope;
    return Op::call(valueOf(a, level)...);
  }
};

}  // namespace shunt::levels
