// Operators, other than pointwise ones, of which networks and their gradients are made: their kernels for the keys of
// levels, which do without a Stack what they can (in_grad.h, of_samples.h). The rest is the fallbacks'.
#include "src/transforms/vmap/of_samples.h"
#include "src/transforms/vmap/registered.h"

#include <vector>

namespace shunt::levels {
namespace {

bool isDefined(const Tensor& result) { return result.defined(); }
template <class... T>
bool isDefined(const std::tuple<T...>& results) {
  return std::get<0>(results).defined();
}

Tensor batched(const Level& level, Tensor value) { return makeBatched(level, std::move(value), 0); }
template <class... T>
std::tuple<T...> batched(const Level& level, std::tuple<T...> values) {
  return std::apply([&](T&... t) { return std::tuple<T...>(batched(level, std::move(t))...); }, values);
}

template <class Op, class Signature = typename Op::Schema>
struct Recorded;

template <class Op, class R, class... A>
struct Recorded<Op, R(A...)> {
  static_assert(InGrad<Op>::kKnows);
  /// Composites may be run part by part inside of a vmap even if no tensor is of it: their parts may be random.
  static constexpr bool kHasParts = std::is_same_v<Op, ops::outer>;
  /// What these make of a tensor from outside is a tensor of the level.
  static constexpr bool kMakes = std::is_same_v<Op, ops::ones_like> || std::is_same_v<Op, ops::zeros_like>;
  static R call(OperatorKernel*, DispatchKeySet keys, A... a) {
    if (const LevelFrame* frame = innermost(); frame != nullptr) [[likely]] {
      const Level& level = frame->level();
      detail::relyOn(Op::symbol);  // as the fallback does
      if (!(level.kind == Kind::kGrad ? kMakes : kHasParts) && !isAnyOf(level, a...)) {
        const Outside outside;
        return Op::call(std::forward<A>(a)...);
      }
      if (level.kind == Kind::kGrad) {
        if (InGrad<Op>::takes(level, keys, a...)) return InGrad<Op>::call(level, keys, std::forward<A>(a)...);
      } else if (!autocastIsOn()) {
        R result = OfSamples<Op>::call(*frame, keys, a...);
        if (isDefined(result)) return batched(level, std::move(result));
      }
    }
    return boxing::callBoxedAsUnboxed<R, A...>(&boxing::callStaticBoxed<&batchedFallback>, nullptr,
                                               OperatorHandle(Op::symbol), keys, std::forward<A>(a)...);
  }
};

template <class... Op>
void registerAll() {
  const LevelKernel kernels[] = {kernelFor<Op, &Recorded<Op>::call>()...};
  registerKernels(kernels);
}

KernelFunction kernelOf(KernelFunction boxed, void* unboxed, const LevelKernel& row) {
  boxed.unboxed = unboxed;
  boxed.signature = &row.signature();
  return boxed;
}

}  // namespace

void registerKernels(std::span<const LevelKernel> kernels) {
  static auto& handles = *new std::vector<RegistrationHandle>;  // never destroyed, as the dictionary's
  const auto put = [&](const OperatorName& name, DispatchKey key, KernelFunction kernel) {
    handles.push_back(
        Dispatcher::singleton().registerImpl(name, key, std::move(kernel), std::source_location::current()));
  };
  for (const LevelKernel& row : kernels) {
    const OperatorName name(std::string(row.symbol->name()), std::string(row.symbol->overload()));
    put(name, DispatchKey::Batched,
        kernelOf(KernelFunction::makeFromBoxedFunction<&batchedFallback>(), row.batched, row));
    if (row.back != nullptr)
      put(name, DispatchKey::TransformBack,
          kernelOf(KernelFunction::makeFromBoxedFunction<&transformBack>(), row.back, row));
  }
}

void registerInGrad() {
  // Products.
  registerAll<ops::mm, ops::mv, ops::dot, ops::addmm, ops::bmm, ops::baddbmm, ops::outer>();
  // Views.
  registerAll<ops::t, ops::transpose_int, ops::permute, ops::view, ops::_reshape_alias, ops::expand, ops::unsqueeze,
              ops::squeeze_dim, ops::select_int, ops::slice_Tensor>();
  // Reductions.
  registerAll<ops::sum, ops::sum_dim_IntList, ops::mean, ops::mean_dim>();
  // Rows and losses.
  registerAll<ops::_log_softmax, ops::_log_softmax_backward_data, ops::_softmax, ops::_softmax_backward_data,
              ops::nll_loss_forward, ops::nll_loss_backward, ops::mse_loss, ops::mse_loss_backward,
              ops::native_layer_norm>();
  registerAll<ops::ones_like, ops::zeros_like>();
}

}  // namespace shunt::levels
