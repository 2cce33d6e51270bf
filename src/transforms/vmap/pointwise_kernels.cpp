// The kernels of pointwise operators for the key Batched: where the batches stand side by side already the operator is
// called on the values, without a Stack; that call finds its thunk. All else is for the fallback, which is also their
// boxed form. In grad levels: in_grad.h.
#include "src/transforms/vmap/in_grad.h"
#include "src/transforms/vmap/registered.h"
#include "src/transforms/vmap/side_by_side.h"

#include <type_traits>

namespace shunt::levels {
namespace {

/// `self`'s value was written.
Tensor& written(Tensor& self) {
  if (!self.is_inference()) self.unsafeGetTensorImpl()->version().bump();
  return self;
}

template <class Op, class Signature = typename Op::Schema>
struct Pointwise;

template <class Op, class R, class... A>
struct Pointwise<Op, R(A...)> {
  static constexpr bool kInplace = std::is_same_v<R, Tensor&>;

  static R call(OperatorKernel*, DispatchKeySet keys, A... a) {
    const LevelFrame* frame = innermost();
    if (frame != nullptr && frame->level().kind == Kind::kVmap) {
      const Level& level = frame->level();
      SideBySide values(level);
      if ((values.takes(a) && ...) && values.anyBatched() && writesBatched(level, a...)) [[likely]] {
        countRule();
        if constexpr (kInplace)
          return callInPlace(level, a...);
        else
          return makeBatched(level, callOutside(level, a...), 0);
      }
    } else if constexpr (InGrad<Op>::kKnows) {
      if (frame != nullptr && InGrad<Op>::takes(frame->level(), keys, a...)) [[likely]] {
        detail::relyOn(Op::symbol);  // as the fallback does
        return InGrad<Op>::call(frame->level(), keys, std::forward<A>(a)...);
      }
    }
    return boxing::callBoxedAsUnboxed<R, A...>(&boxing::callStaticBoxed<&batchedFallback>, nullptr,
                                               OperatorHandle(Op::symbol), keys, std::forward<A>(a)...);
  }

 private:
  template <class First, class... Others>
  static bool writesBatched([[maybe_unused]] const Level& level, [[maybe_unused]] const First& first,
                            const Others&...) {
    if constexpr (kInplace)
      return belongsTo(first, level) && !storageOf(first).is_pick;
    else
      return true;
  }
  template <class... T>
  static R callOutside(const Level& level, T&... a) {
    const Outside outside;
    return Op::call(valueOf(a, level)...);
  }
  template <class... T>
  static Tensor& callInPlace(const Level& level, Tensor& self, T&... others) {
    callOutside(level, self, others...);
    return written(self);
  }
};

}  // namespace

void registerPointwise() {
  const LevelKernel kernels[] = {
#define SHUNT_POINTWISE(op) kernelFor<ops::op, &Pointwise<ops::op>::call>(),
#include "generated/batch_pointwise.inc"
#undef SHUNT_POINTWISE
  };
  registerKernels(kernels);
  registerInGrad();
  registerComposites();
}

}  // namespace shunt::levels
