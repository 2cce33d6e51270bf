// The composites that networks call: their kernels for the keys of levels, which go from level to level and to their
// parts without a Stack, where the fallbacks (fallback.cpp) would with one.
#include "src/transforms/vmap/registered.h"

namespace shunt::levels {
namespace {

template <class Op, class Signature = typename Op::Schema>
struct Composite;

template <class Op, class R, class... A>
struct Composite<Op, R(A...)> {
  static_assert(InGrad<Op>::kKnows);

  static R call(OperatorKernel*, DispatchKeySet keys, A... a) {
    if (const LevelFrame* frame = innermost(); frame != nullptr && isAnyOf(frame->level(), a...)) [[likely]] {
      const Level& level = frame->level();
      detail::relyOn(Op::symbol);  // as the fallback does
      if (level.kind == Kind::kGrad) {
        if (InGrad<Op>::takes(level, keys, a...)) return InGrad<Op>::call(level, keys, std::forward<A>(a)...);
      } else if (isRunByParts(Op::symbol, keys)) {
        return parts(autocastFor(Op::symbol, keys), backendsOf(keys), std::forward<A>(a)...);
      }
    }
    return boxing::callBoxedAsUnboxed<R, A...>(&boxing::callStaticBoxed<&batchedFallback>, nullptr,
                                               OperatorHandle(Op::symbol), keys, std::forward<A>(a)...);
  }

  static R back(OperatorKernel* kernel, DispatchKeySet keys, A... a) {
    const LevelFrame* frame = innermost();
    if (frame != nullptr && frame->level().kind == Kind::kGrad && isComposite(Op::symbol, keys)) [[likely]]
      return parts({}, keys.backends(), std::forward<A>(a)...);
    return InGrad<Op>::back(kernel, keys, std::forward<A>(a)...);
  }

 private:
  /// runParts (fallback.cpp).
  static R parts(DispatchKeySet autocast, DispatchKeySet backends, A... a) {
    if constexpr (std::is_same_v<Op, ops::linear>) {
      if (autocast.empty())
        if (R out = linearOfSamples(backends | DispatchKeySet::of(Functionality::Dense), a...); out.defined())
          return out;
    }
    return Op::redispatch(autocast | backends, std::forward<A>(a)...);
  }
};

template <class... Op>
void registerAll() {
  const LevelKernel kernels[] = {{&Op::symbol, reinterpret_cast<void*>(&Composite<Op>::call),
                                  reinterpret_cast<void*>(&Composite<Op>::back),
                                  &CppSignature::of<typename Op::Schema>}...};
  registerKernels(kernels);
}

}  // namespace

void registerComposites() { registerAll<ops::linear, ops::matmul, ops::cross_entropy_loss, ops::layer_norm>(); }

}  // namespace shunt::levels
