// The kernels of pointwise operators for the key Batched: where the batches stand side by side already the operator is
// called on the values, without a Stack; that call finds its thunk. All else is for the fallback, which is also their
// boxed form.
#include "src/transforms/vmap/call.h"
#include "src/transforms/vmap/side_by_side.h"

#include <shunt/core/dispatcher.h>
#include <shunt/ops.h>

#include <type_traits>
#include <vector>

namespace shunt::levels {
namespace {

SHUNT_ALWAYS_INLINE const Tensor& valueOf(const Tensor& t, const Level& level) {
  return belongsTo(t, level) ? storageOf(t).value : t;
}
SHUNT_ALWAYS_INLINE Tensor& valueOf(Tensor& t, const Level& level) {
  return belongsTo(t, level) ? storageOf(t).value : t;
}
std::optional<Tensor> valueOf(const std::optional<Tensor>& t, const Level& level) {
  return t ? std::optional<Tensor>(valueOf(*t, level)) : std::nullopt;
}
template <class T>
SHUNT_ALWAYS_INLINE const T& valueOf(const T& other, const Level&) {
  return other;
}

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
    }
    return boxing::callBoxedAsUnboxed<R, A...>(&boxing::callStaticBoxed<&batchedFallback>, nullptr,
                                               OperatorHandle(Op::symbol), keys, std::forward<A>(a)...);
  }

 private:
  template <class First, class... Others>
  static bool writesBatched([[maybe_unused]] const Level& level, [[maybe_unused]] const First& first,
                            const Others&...) {
    if constexpr (kInplace)
      return belongsTo(first, level);
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

struct Row {
  const Operator* symbol;
  void* kernel;
  const CppSignature& (*signature)();
};

template <class Op>
Row rowFor() {
  return {&Op::symbol, reinterpret_cast<void*>(&Pointwise<Op>::call), &CppSignature::of<typename Op::Schema>};
}

}  // namespace

void registerPointwise() {
  const Row rows[] = {
#define SHUNT_POINTWISE(op) rowFor<ops::op>(),
#include "generated/batch_pointwise.inc"
#undef SHUNT_POINTWISE
  };
  static auto& handles = *new std::vector<RegistrationHandle>;  // never destroyed, as the dictionary's
  for (const Row& row : rows) {
    KernelFunction kernel = KernelFunction::makeFromBoxedFunction<&batchedFallback>();
    kernel.unboxed = row.kernel;
    kernel.signature = &row.signature();
    const OperatorName name(std::string(row.symbol->name()), std::string(row.symbol->overload()));
    handles.push_back(Dispatcher::singleton().registerImpl(name, DispatchKey::Batched, std::move(kernel),
                                                           std::source_location::current()));
  }
}

}  // namespace shunt::levels
