// The operators nll_loss_forward and nll_loss_backward: picks, weighs and reduces log-probabilities of target classes.
#include "generated/native_functions.h"
#include "kernels/common/result.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/reduction.h"
#include "kernels/rows/cascade.h"

#include <shunt/elementwise/cast.h>

#include <cstring>

namespace shunt::native {

namespace {

using nn::LossReduction;
using reduce::Cascade;
using reduce::kBlock;

/// Input of N x C log-probabilities (or C, then N is 1) with its N targets and C weights, strides in elements.
struct Batch {
  const TensorImpl& input;
  const TensorImpl& target;
  const TensorImpl* weight;
  int64_t ignore_index;
  int64_t samples = 1;
  int64_t classes = 0;

  bool batched() const { return input.dim() == 2; }
  int64_t sampleStride() const { return batched() ? input.strides()[0] : 0; }
  int64_t classStride() const { return input.strides().back(); }
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
              b.weight->dtype());
  SHUNT_CHECK(b.target.dtype() == kLong || b.target.dtype() == kByte, "expected scalar type Long but found ",
              b.target.dtype());
  return b;
}

/// Reads targets and weights. T is the input's element type.
template <class T>
class Reader {
 public:
  using A = opmath_t<T>;
  explicit Reader(const Batch& b)
      : b_(b),
        target_(b.target.data()),
        target_stride_(b.target.dim() == 0 ? 0 : b.target.strides()[0]),
        is_byte_(b.target.dtype() == kByte),
        weight_(b.weight != nullptr ? reinterpret_cast<const T*>(b.weight->data()) : nullptr),
        weight_stride_(b.weight != nullptr ? b.weight->strides()[0] : 0) {}

  /// The class of sample i; -1 for one to ignore. Throws when there is no such class.
  int64_t target(int64_t i) const {
    const int64_t at = i * target_stride_;
    const int64_t t =
        is_byte_ ? reinterpret_cast<const uint8_t*>(target_)[at] : reinterpret_cast<const int64_t*>(target_)[at];
    if (t == b_.ignore_index) return -1;
    SHUNT_CHECK_INDEX(t >= 0 && t < b_.classes, "Target ", t, " is out of bounds.");
    return t;
  }
  A weight(int64_t t) const { return weight_ == nullptr ? A(1) : cast<A>(weight_[t * weight_stride_]); }

 private:
  const Batch& b_;
  const std::byte* target_;
  int64_t target_stride_;
  bool is_byte_;
  const T* weight_;
  int64_t weight_stride_;
};

template <class T>
void forwardEach(const Batch& b, T* out) {
  const Reader<T> read(b);
  const T* x = reinterpret_cast<const T*>(b.input.data());
  for (int64_t i = 0; i < b.samples; ++i) {
    const int64_t t = read.target(i);
    using A = opmath_t<T>;
    out[i] = t < 0 ? T(0) : cast<T>(-cast<A>(x[i * b.sampleStride() + t * b.classStride()]) * read.weight(t));
  }
}

template <class T>
void forwardReduced(const Batch& b, bool mean, T* out, T* total_weight) {
  using A = opmath_t<T>;
  const Reader<T> read(b);
  const T* x = reinterpret_cast<const T*>(b.input.data());
  const auto block = reduce::reductionLoops<A>(reduce::indexOf<accumulators::Sum>()).block;
  Cascade<A> losses, weights;
  A loss[kBlock], weight[kBlock];
  for (int64_t begin = 0; begin < b.samples; begin += kBlock) {
    const int64_t n = std::min(kBlock, b.samples - begin);
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = begin + k;
      const int64_t t = read.target(i);
      weight[k] = t < 0 ? A(0) : read.weight(t);
      loss[k] = t < 0 ? A(0) : -cast<A>(x[i * b.sampleStride() + t * b.classStride()]) * weight[k];
    }
    losses.push(block(loss, n, A(0), A(0)));
    weights.push(block(weight, n, A(0), A(0)));
  }
  const A total = weights.result();
  *out = cast<T>(mean ? losses.result() / total : losses.result());
  *total_weight = cast<T>(total);
}

template <class T>
void backward(const Batch& b, LossReduction reduction, const TensorImpl& grad, const TensorImpl& total_weight, T* out) {
  using A = opmath_t<T>;
  const Reader<T> read(b);
  const T* g = reinterpret_cast<const T*>(grad.data());
  const bool each = reduction == LossReduction::kNone && b.batched();
  const int64_t grad_stride = each ? grad.strides()[0] : 0;
  const A divisor =
      reduction == LossReduction::kMean ? cast<A>(*reinterpret_cast<const T*>(total_weight.data())) : A(1);
  if (b.samples * b.classes == 0) return;  // `out` may be null then
  std::memset(static_cast<void*>(out), 0, static_cast<size_t>(b.samples * b.classes) * sizeof(T));
  for (int64_t i = 0; i < b.samples; ++i) {
    const int64_t t = read.target(i);
    if (t >= 0) out[i * b.classes + t] = cast<T>(-(cast<A>(g[i * grad_stride]) / divisor) * read.weight(t));
  }
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
      forwardEach<T>(b, result);
    else
      forwardReduced<T>(b, how == LossReduction::kMean, result, total);
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
  SHUNT_CHECK(grad.dtype() == b.input.dtype() && total.dtype() == b.input.dtype(), "expected scalar type ",
              b.input.dtype(), " but found ", grad.dtype() == b.input.dtype() ? total.dtype() : grad.dtype());
  if (how == LossReduction::kNone && b.batched())
    SHUNT_CHECK(grad.dim() == 1 && grad.numel() == b.samples,
                "Expected a tensor of dimension 1 and tensor.size[0] == ", b.samples, " but got: dimension ",
                grad.dim(), " and tensor.size[0] = ", grad.dim() > 0 ? grad.sizes()[0] : 0);
  else
    SHUNT_CHECK(grad.dim() <= 1 && grad.numel() == 1,
                "Expected a single element grad_output tensor, but got: ", grad.sizes());
  Tensor out = newResult(b.input, b.input.sizes(), b.input.dtype());
  dispatchFloatingTypes(b.input.dtype(), "nll_loss_backward_out_frame", [&]<class T>(std::type_identity<T>) {
    if (hasData(b.input)) backward<T>(b, how, grad, total, reinterpret_cast<T*>(out.unsafeGetTensorImpl()->data()));
  });
  return out;
}

}  // namespace shunt::native
