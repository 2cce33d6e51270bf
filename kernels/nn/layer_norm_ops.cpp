// The operators native_layer_norm and native_layer_norm_backward: shapes, dtypes and checks.
#include "generated/native_functions.h"
#include "kernels/common/result.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/dense.h"
#include "kernels/nn/layer_norm.h"
#include "kernels/rows/plan.h"

#include <sstream>

namespace shunt::native {

namespace {

using OptionalTensor = std::optional<Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

const TensorImpl* implOrNull(const OptionalTensor& t) { return t ? t->unsafeGetTensorImpl() : nullptr; }

[[noreturn]] SHUNT_COLD void throwInputShape(IntArrayRef normalized, IntArrayRef input) {
  std::ostringstream text;
  text << "Given normalized_shape=" << normalized << ", expected input with shape [*";
  for (const int64_t size : normalized) text << ", " << size;
  text << "], but got input of size" << input;
  throw Error(text.str());
}

void checkParameter(const char* name, const TensorImpl* t, IntArrayRef normalized) {
  SHUNT_CHECK(t == nullptr || t->sizes() == normalized, "Expected ", name,
              " to be of same shape as normalized_shape, but got ", name, " of shape ", t->sizes(),
              " and normalized_shape = ", normalized);
}

/// The dtype of the parameters and the statistics: the input's, or Float beside 16-bit types.
ScalarType parameterType(const char* op, const TensorImpl& input, const TensorImpl* weight, const TensorImpl* bias) {
  const ScalarType own = input.dtype();
  if (!isFloatingType(own)) [[unlikely]]
    ::shunt::detail::throwNotImplementedFor("LayerNormKernelImpl", own);
  const TensorImpl* given = weight != nullptr ? weight : bias;
  const ScalarType type = given != nullptr ? given->dtype() : own;
  const bool fits = type == own || (type == kFloat && (own == kBFloat16 || own == kHalf));
  SHUNT_CHECK(fits, op, "(): expected ", given == weight ? "weight" : "bias", " to be ", own, ", the dtype of input",
              own == kBFloat16 || own == kHalf ? ", or Float" : "", "; got ", type);
  SHUNT_CHECK(bias == nullptr || bias->dtype() == type, op, "(): expected bias to be ", type,
              ", the dtype of weight; got ", bias->dtype());
  return type;
}

OptionalTensor denseOf(const OptionalTensor& t) {
  if (!t || !t->defined()) return std::nullopt;
  return nn::dense(*t);
}

bool isDense(const TensorImpl* t) { return t == nullptr || t->is_contiguous(); }

}  // namespace

/// The input as rows of n elements, which are its last dimensions. Found apart, with all checks, so that a thunk has no
/// more in it than the kernel.
struct NormShape {
  int64_t rows = 1, n = 1;
  ScalarType type;                 // of parameters and statistics
  reduce::OutputSizes statistics;  // one for each row
};

SHUNT_NOINLINE NormShape checkedNormShape(const char* op, const TensorImpl& input, IntArrayRef normalized,
                                          const TensorImpl* weight, const TensorImpl* bias) {
  SHUNT_CHECK(!normalized.empty(),
              "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
              "element, but got normalized_shape = ",
              normalized);
  checkParameter("weight", weight, normalized);
  checkParameter("bias", bias, normalized);
  const IntArrayRef sizes = input.sizes();
  const int64_t outer = input.dim() - static_cast<int64_t>(normalized.size());
  if (outer < 0 || sizes.slice(static_cast<size_t>(outer)) != normalized) [[unlikely]]
    throwInputShape(normalized, sizes);
  reduce::DimSet dims;
  for (int64_t d = outer; d < input.dim(); ++d) dims.set(static_cast<size_t>(d));
  NormShape shape{1, 1, parameterType(op, input, weight, bias), reduce::OutputSizes(sizes, dims, /*keepdim=*/true)};
  for (int64_t d = 0; d < input.dim(); ++d) (d < outer ? shape.rows : shape.n) *= sizes[static_cast<size_t>(d)];
  return shape;
}

/// As a call: three allocations inline would make the kernel too large for a thunk.
SHUNT_NOINLINE Tensor newResultApart(const TensorImpl& like, IntArrayRef sizes, ScalarType dtype) {
  return newResult(like, sizes, dtype);
}

SHUNT_NOINLINE void layerNormOfCopies(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                                      nn::Norm norm) {
  const Tensor x = nn::dense(input);
  const OptionalTensor w = denseOf(weight), b = denseOf(bias);
  norm.x = x.unsafeGetTensorImpl();
  norm.weight = implOrNull(w);
  norm.bias = implOrNull(b);
  nn::layerNorm(norm);
}

Three native_layer_norm(const Tensor& input, IntArrayRef normalized_shape, const OptionalTensor& weight,
                        const OptionalTensor& bias, double eps) {
  const TensorImpl& impl = implOf(input, "native_layer_norm", "input");
  const TensorImpl* const w = implOrNull(weight);
  const TensorImpl* const b = implOrNull(bias);
  const NormShape shape = checkedNormShape("native_layer_norm", impl, normalized_shape, w, b);
  Tensor out = newResult(impl, impl.sizes(), impl.dtype());
  const IntArrayRef statistics = shape.statistics.ref();
  Tensor mean = newResultApart(impl, statistics, shape.type), rstd = newResultApart(impl, statistics, shape.type);
  if (hasData(impl) && shape.rows > 0) {
    const nn::Norm norm{
        &impl,      w,       b,  out.unsafeGetTensorImpl(), mean.unsafeGetTensorImpl(), rstd.unsafeGetTensorImpl(),
        shape.rows, shape.n, eps};
    if (isDense(&impl) && isDense(w) && isDense(b)) [[likely]]
      nn::layerNorm(norm);
    else
      layerNormOfCopies(input, weight, bias, norm);
  }
  return {std::move(out), std::move(mean), std::move(rstd)};
}

namespace {

constexpr const char* kBackward = "native_layer_norm_backward";

void checkStatistics(const char* name, const Tensor& t, const NormShape& shape) {
  const TensorImpl& impl = implOf(t, kBackward, name);
  SHUNT_CHECK(impl.numel() == shape.rows && impl.dtype() == shape.type, kBackward, "(): expected ", name, " to have ",
              shape.rows, " elements, one for each row of input, of dtype ", shape.type, "; got ", impl.numel(), " of ",
              impl.dtype());
}

}  // namespace

SHUNT_NOINLINE NormShape checkedNormGradient(const Tensor& grad_out, const Tensor& input, IntArrayRef normalized,
                                             const Tensor& mean, const Tensor& rstd, const TensorImpl* w,
                                             const TensorImpl* b, std::array<bool, 3> mask) {
  const TensorImpl& impl = implOf(input, kBackward, "input");
  const TensorImpl& grad = implOf(grad_out, kBackward, "grad_out");
  const NormShape shape = checkedNormShape(kBackward, impl, normalized, w, b);
  SHUNT_CHECK(grad.sizes() == impl.sizes() && grad.dtype() == impl.dtype(), kBackward,
              "(): expected grad_out to be like input, ", impl.dtype(), ' ', impl.sizes(), "; got ", grad.dtype(), ' ',
              grad.sizes());
  checkStatistics("mean", mean, shape);
  checkStatistics("rstd", rstd, shape);
  SHUNT_CHECK(!mask[1] || w != nullptr, kBackward,
              "(): output_mask asks for the gradient of weight, which is not given");
  SHUNT_CHECK(!mask[2] || b != nullptr, kBackward, "(): output_mask asks for the gradient of bias, which is not given");
  return shape;
}

SHUNT_NOINLINE void layerNormBackwardOfCopies(const Tensor& grad_out, const Tensor& input, const Tensor& mean,
                                              const Tensor& rstd, const OptionalTensor& weight,
                                              nn::NormGradient gradient) {
  const Tensor g = nn::dense(grad_out), x = nn::dense(input), m = nn::dense(mean), r = nn::dense(rstd);
  const OptionalTensor w = denseOf(weight);
  gradient.grad = g.unsafeGetTensorImpl();
  gradient.x = x.unsafeGetTensorImpl();
  gradient.mean = m.unsafeGetTensorImpl();
  gradient.rstd = r.unsafeGetTensorImpl();
  gradient.weight = implOrNull(w);
  nn::layerNormBackward(gradient);
}

Three native_layer_norm_backward(const Tensor& grad_out, const Tensor& input, IntArrayRef normalized_shape,
                                 const Tensor& mean, const Tensor& rstd, const OptionalTensor& weight,
                                 const OptionalTensor& bias, std::array<bool, 3> output_mask) {
  const TensorImpl* const w = implOrNull(weight);
  const NormShape shape =
      checkedNormGradient(grad_out, input, normalized_shape, mean, rstd, w, implOrNull(bias), output_mask);
  const TensorImpl& impl = *input.unsafeGetTensorImpl();
  Tensor to_input, to_weight, to_bias;
  if (output_mask[0]) to_input = newResultApart(impl, impl.sizes(), impl.dtype());
  if (output_mask[1]) to_weight = newResultApart(impl, normalized_shape, shape.type);
  if (output_mask[2]) to_bias = newResultApart(impl, normalized_shape, shape.type);
  if (hasData(impl)) {
    const nn::NormGradient gradient{grad_out.unsafeGetTensorImpl(),
                                    &impl,
                                    mean.unsafeGetTensorImpl(),
                                    rstd.unsafeGetTensorImpl(),
                                    w,
                                    to_input.unsafeGetTensorImpl(),
                                    to_weight.unsafeGetTensorImpl(),
                                    to_bias.unsafeGetTensorImpl(),
                                    shape.rows,
                                    shape.n};
    if (isDense(gradient.grad) && isDense(&impl) && isDense(gradient.mean) && isDense(gradient.rstd) && isDense(w))
        [[likely]]
      nn::layerNormBackward(gradient);
    else
      layerNormBackwardOfCopies(grad_out, input, mean, rstd, weight, gradient);
  }
  return {std::move(to_input), std::move(to_weight), std::move(to_bias)};
}

}  // namespace shunt::native
