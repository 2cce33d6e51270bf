#include "kernels/nn/direct_linear.h"

#include "generated/native_functions.h"
#include "generated/wrappers.h"
#include "kernels/common/result.h"
#include "kernels/linalg/operands.h"
#include "kernels/wrappers/inplace_or_view.h"

#include <shunt/core/op_state.h>

#include <algorithm>
#include <cstring>

namespace shunt::native {

namespace {

using wrappers::kAfterAutograd;
using wrappers::kAfterInplaceOrView;

template <auto Kernel>
const void* inTable() {
  using Traits = boxing::FunctionTraits<decltype(Kernel)>;
  return reinterpret_cast<const void*>(
      &boxing::StaticKernel<Kernel, typename Traits::Return, typename Traits::Args>::call);
}

struct BuiltIn {
  const void* view_wrapper;  // null: the operator makes no view
  const void* autograd_wrapper;
  const void* kernel;
};

/// Whether a call with these keys of arguments would run the kernel, below wrappers at most.
bool runsBuiltIn(const Operator& op, uint64_t keys, const BuiltIn& built_in) {
  const detail::CallFrame frame(op);
  const OpState& s = frame.state(op);
  DispatchKeySet ks = detail::effectiveKeys(s, keys);
  const void* next = s.lookup(ks).unboxed;
  if (next == built_in.view_wrapper && next != nullptr) {
    ks = ks & kAfterInplaceOrView & s.maskFor(ks);
    next = s.lookup(ks).unboxed;
  }
  if (next == built_in.autograd_wrapper) {
    ks = ks & kAfterAutograd & s.maskFor(ks);
    next = s.lookup(ks).unboxed;
  }
  return next == built_in.kernel;
}

bool runsBuiltInOperators(uint64_t all_keys, uint64_t weight_keys) {
  static const BuiltIn kT = {inTable<&wrappers::inplace_or_view::t>(), inTable<&wrappers::autograd_kernels::t>(),
                             inTable<static_cast<ops::t::Schema*>(&native::t)>()};
  static const BuiltIn kAddmm = {nullptr, inTable<&wrappers::autograd_kernels::addmm>(),
                                 inTable<&wrappers::backend_CPU::addmm>()};
  // The weight's view has Autograd's key whether or not it requires grad.
  const uint64_t keys_of_addmm = all_keys | DispatchKeySet(DispatchKey::AutogradCPU).raw();
  return runsBuiltIn(ops::t::symbol, weight_keys, kT) && runsBuiltIn(ops::addmm::symbol, keys_of_addmm, kAddmm);
}

bool fits(const TensorImpl& input, const TensorImpl& weight, const TensorImpl& bias) {
  const ScalarType dtype = input.dtype();
  return (dtype == kFloat || dtype == kDouble) && weight.dtype() == dtype && bias.dtype() == dtype &&
         input.device().is_cpu() && weight.device().is_cpu() && bias.device().is_cpu() && input.dim() == 2 &&
         weight.dim() == 2 && bias.dim() == 1 && input.sizes()[1] == weight.sizes()[1] &&
         bias.sizes()[0] == weight.sizes()[0] && bias.is_contiguous();
}

bool recordsGraph(const TensorImpl& input, const TensorImpl& weight, const TensorImpl& bias) {
  return GradMode::is_enabled() && (weight.requires_grad() || bias.requires_grad() || input.requires_grad());
}

template <class T>
void multiply(const TensorImpl& input, const linalg::Orientation& a, const TensorImpl& weight,
              const linalg::Orientation& b, const TensorImpl& bias, const TensorImpl& out) {
  const int64_t m = input.sizes()[0], k = input.sizes()[1], n = bias.sizes()[0];
  T* const result = reinterpret_cast<T*>(out.data());
  const auto row = static_cast<size_t>(n) * sizeof(T);
  for (int64_t i = 0; row != 0 && i < m; ++i) std::memcpy(result + i * n, bias.data(), row);
  linalg::gemm<T>(m, n, k, T(1), {reinterpret_cast<const T*>(input.data()), a.ld, a.transposed},
                  {reinterpret_cast<const T*>(weight.data()), b.ld, b.transposed}, T(1), result,
                  std::max<int64_t>(n, 1));
}

}  // namespace

Tensor directLinear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const TensorImpl &x = *input.unsafeGetTensorImpl(), &w = *weight.unsafeGetTensorImpl(),
                   &added = *bias.unsafeGetTensorImpl();
  if (!fits(x, w, added) || recordsGraph(x, w, added) || detail::trace_enabled.load(std::memory_order_relaxed))
    return {};
  const int64_t m = x.sizes()[0], k = x.sizes()[1], n = w.sizes()[0];
  const linalg::Orientation a = linalg::orientationOf(m, k, x.strides()[0], x.strides()[1]);
  const linalg::Orientation b = linalg::orientationOf(k, n, w.strides()[1], w.strides()[0]);
  if (!a.usable || !b.usable) return {};
  if (!runsBuiltInOperators(detail::keysOf(input) | detail::keysOf(weight) | detail::keysOf(bias),
                            detail::keysOf(weight)))
    return {};
  const int64_t sizes[] = {m, n};
  Tensor out = newResult(x, IntArrayRef(sizes, 2), x.dtype());
  const TensorImpl& impl = *out.unsafeGetTensorImpl();
  if (x.dtype() == kFloat)
    multiply<float>(x, a, w, b, added, impl);
  else
    multiply<double>(x, a, w, b, added, impl);
  return out;
}

}  // namespace shunt::native
