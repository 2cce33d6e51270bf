// The operators nll_loss_forward and nll_loss_backward: picks, weighs and reduces log-probabilities of target classes.
#include "generated/native_functions.h"
#include "kernels/common/result.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/nll_loss_loops.h"

namespace shunt::native {

namespace {

using nn::LossReduction;

/// Input of N x C log-probabilities (or C, then N is 1) with its N targets and C weights.
struct Batch {
  const TensorImpl& input;
  const TensorImpl& target;
  const TensorImpl* weight;
  int64_t ignore_index;
  int64_t samples = 1;
  int64_t classes = 0;

  bool batched() const { return input.dim() == 2; }
};

Batch checkedBatch(const char* op, const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                   int64_t ignore_index) {
  const bool weighted = weight && weight->defined();
  Batch b{implOf(self, op), implOf(target, op, "target"), weighted ? weight->unsafeGetTensorImpl() : nullptr,
          ignore_index};
  SHUNT_CHECK(b.input.dim() > 0 && b.input.dim() <= 2, "input tensor should be 1D or 2D");
  SHUNT_CHECK(b.target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  SHUNT_CHECK(b.target.dim() == 0 ? b.input.dim() == 1 : b.input.sizes()[0] == b.target.numel(),
              "size mismatch (got input: ", b.input.sizes(), ", target: ", b.target.sizes(), ")");
  b.classes = b.input.sizes().back();
  b.samples = b.batched() ? b.input.sizes()[0] : 1;
  SHUNT_CHECK(!weighted || (weight->dim() == 1 && weight->numel() == b.classes),
              "weight tensor should be defined either for all ", b.classes,
              " classes or no classes but got weight tensor of shape: ", b.weight->sizes());
  SHUNT_CHECK(!weighted || weight->dtype() == b.input.dtype(), "expected scalar type ", b.input.dtype(), " but found ",
              b.weight->dtype(), " for argument 'weight', which needs the dtype of 'self'");
  SHUNT_CHECK(b.target.dtype() == kLong || b.target.dtype() == kByte, "expected scalar type Long but found ",
              b.target.dtype(), " for argument 'target', which holds class numbers");
  return b;
}

nn::Likelihoods likelihoodsOf(const Batch& b) {
  return {.input = b.input.data(),
          .target = b.target.data(),
          .weight = b.weight != nullptr ? b.weight->data() : nullptr,
          .byte_targets = b.target.dtype() == kByte,
          .sample_stride = b.batched() ? b.input.strides()[0] : 0,
          .class_stride = b.input.strides().back(),
          .target_stride = b.target.dim() == 0 ? 0 : b.target.strides()[0],
          .weight_stride = b.weight != nullptr ? b.weight->strides()[0] : 0,
          .samples = b.samples,
          .classes = b.classes,
          .ignore_index = b.ignore_index};
}

/// What the mean's gradient is divided by: the total weight of the forward, before its rounding where it is that one's.
template <class T>
opmath_t<T> divisorOf(const nn::Likelihoods& b, T total_weight) {
  if constexpr (sizeof(T) == 2)
    if (const float exact = nn::exactTotalWeight<T>(b); cast<float>(cast<T>(exact)) == cast<float>(total_weight))
      return exact;
  return cast<opmath_t<T>>(total_weight);
}

}  // namespace

std::tuple<Tensor, Tensor> nll_loss_forward(const Tensor& self, const Tensor& target,
                                            const std::optional<Tensor>& weight, int64_t reduction,
                                            int64_t ignore_index) {
  const Batch b = checkedBatch("nll_loss_forward", self, target, weight, ignore_index);
  const LossReduction how = nn::lossReduction(reduction);
  const bool each = how == LossReduction::kNone && b.batched();
  const IntArrayRef sizes = each ? IntArrayRef(b.samples) : IntArrayRef();
  Tensor out = newResult(b.input, sizes, b.input.dtype());
  Tensor total_weight = newResult(b.input, {}, b.input.dtype());
  dispatchFloatingTypes(b.input.dtype(), "nll_loss_out_frame", [&]<class T>(std::type_identity<T>) {
    if (!hasData(b.input)) return;
    T* const result = reinterpret_cast<T*>(out.unsafeGetTensorImpl()->data());
    T* const total = reinterpret_cast<T*>(total_weight.unsafeGetTensorImpl()->data());
    *total = T(0);
    if (each)
      nn::forwardEach<T>(likelihoodsOf(b), result);
    else
      nn::forwardReduced<T>(likelihoodsOf(b), how == LossReduction::kMean, result, total);
  });
  return {std::move(out), std::move(total_weight)};
}

Tensor nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                         const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
                         const Tensor& total_weight) {
  const Batch b = checkedBatch("nll_loss_backward", self, target, weight, ignore_index);
  const LossReduction how = nn::lossReduction(reduction);
  const TensorImpl& grad = implOf(grad_output, "nll_loss_backward", "grad_output");
  const TensorImpl& total = implOf(total_weight, "nll_loss_backward", "total_weight");
  SHUNT_CHECK(total.numel() == 1, "expected total_weight to be a  single element tensor, got: ", total.sizes(), " (",
              total.numel(), " elements)");
  const bool is_grads = grad.dtype() != b.input.dtype();
  SHUNT_CHECK(!is_grads && total.dtype() == b.input.dtype(), "expected scalar type ", b.input.dtype(), " but found ",
              is_grads ? grad.dtype() : total.dtype(), " for argument '", is_grads ? "grad_output" : "total_weight",
              "', which needs the dtype of 'self'");
  const bool each = how == LossReduction::kNone && b.batched();
  if (each)
    SHUNT_CHECK(grad.dim() == 1 && grad.numel() == b.samples,
                "Expected a tensor of dimension 1 and tensor.size[0] == ", b.samples, " but got: dimension ",
                grad.dim(), " and tensor.size[0] = ", grad.dim() > 0 ? grad.sizes()[0] : 0);
  else
    SHUNT_CHECK(grad.dim() <= 1 && grad.numel() == 1,
                "Expected a single element grad_output tensor, but got: ", grad.sizes());
  Tensor out = newResult(b.input, b.input.sizes(), b.input.dtype());
  dispatchFloatingTypes(b.input.dtype(), "nll_loss_backward_out_frame", [&]<class T>(std::type_identity<T>) {
    if (!hasData(b.input)) return;
    const nn::Likelihoods likelihoods = likelihoodsOf(b);
    const T total_of_weights = *reinterpret_cast<const T*>(total.data());
    nn::backward<T>(likelihoods, reinterpret_cast<const T*>(grad.data()), each ? grad.strides()[0] : 0,
                    how == LossReduction::kMean ? divisorOf(likelihoods, total_of_weights) : opmath_t<T>(1),
                    reinterpret_cast<T*>(out.unsafeGetTensorImpl()->data()));
  });
  return out;
}

}  // namespace shunt::native
