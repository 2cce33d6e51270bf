// Losses of the difference between an input and its target: a functor, and what becomes of its results. Any thread.
#pragma once

#include "generated/native_functions.h"
#include "kernels/common/overlap.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/reduction.h"
#include "kernels/pointwise/run.h"
#include "kernels/rows/reduce_operator.h"

#include <shunt/tensor/expand_utils.h>

namespace shunt::nn {

/// `numbers`: the functor's.
template <class F, class... Numbers>
SHUNT_ALWAYS_INLINE Tensor pointwiseLoss(const char* op, int64_t reduction, const Tensor& self, const Tensor& target,
                                         const Numbers&... numbers) {
  const LossReduction how = lossReduction(reduction);
  const Tensor losses = elementwise::run<F>(op, self, target, numbers...);
  if (how == LossReduction::kMean)
    return reduce::reduceOperator<accumulators::Mean>("mean", losses, std::nullopt, false, std::nullopt);
  if (how == LossReduction::kSum)
    return reduce::reduceOperator<accumulators::Sum>("sum", losses, std::nullopt, false, std::nullopt);
  return losses;
}

template <class F, class... Numbers>
SHUNT_ALWAYS_INLINE Tensor& pointwiseLossOut(const char* op, int64_t reduction, Tensor& out, const Tensor& self,
                                             const Tensor& target, const Numbers&... numbers) {
  const LossReduction how = lossReduction(reduction);
  if (how == LossReduction::kNone) {
    elementwise::runOut<F>(op, out, self, target, numbers...);
    return out;
  }
  const Tensor losses = elementwise::run<F>(op, self, target, numbers...);
  // Refused as if the losses were written to it, too.
  const TensorImpl& to = native::implOf(out, op, "out");
  SHUNT_CHECK(canCast(losses.scalar_type(), to.dtype()), op, "(): result type ", losses.scalar_type(),
              " can't be cast to the desired output type ", to.dtype());
  if (to.sizes() == losses.sizes()) elementwise::assertNoInternalOverlap(op, to, Overlap::kError);
  if (how == LossReduction::kMean) return native::mean_dim_out(losses, std::nullopt, false, std::nullopt, out);
  return native::sum_dim_out(losses, std::nullopt, false, std::nullopt, out);
}

/// Whether the gradient of self, which is contiguous, has its shape. A larger target decides on its own.
inline bool hasShapeOfInput(const Tensor& grad_output, const Tensor& self, const Tensor& target) {
  return is_expandable_to(target.sizes(), self.sizes()) && is_expandable_to(grad_output.sizes(), self.sizes());
}

}  // namespace shunt::nn
