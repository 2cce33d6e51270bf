// Operators, other than pointwise ones, of which networks and their gradients are made: their kernels in grad levels
// (in_grad.h). In a vmap level they are the fallback's.
#include "src/transforms/vmap/registered.h"

#include <vector>

namespace shunt::levels {
namespace {

template <class Op, class Signature = typename Op::Schema>
struct Recorded;

template <class Op, class R, class... A>
struct Recorded<Op, R(A...)> {
  static_assert(InGrad<Op>::kKnows);
  static R call(OperatorKernel*, DispatchKeySet keys, A... a) {
    const LevelFrame* frame = innermost();
    if (frame != nullptr && frame->level().kind == Kind::kGrad && InGrad<Op>::takes(frame->level(), keys, a...))
      return InGrad<Op>::call(frame->level(), keys, std::forward<A>(a)...);
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
  registerAll<ops::mm, ops::mv, ops::dot, ops::addmm, ops::bmm, ops::baddbmm>();
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
