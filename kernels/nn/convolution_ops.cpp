// The operators convolution and convolution_backward.
#include "generated/native_functions.h"
#include "kernels/common/result.h"
#include "kernels/common/view_util.h"
#include "kernels/nn/convolution_geometry.h"
#include "kernels/nn/elements.h"
#include "kernels/rows/reduce_operator.h"

namespace shunt::native {
namespace {

using nn::ConvArguments;
using nn::ConvGeometry;
using nn::ConvShape;
using nn::Elements;
using nn::Written;

const TensorImpl* implOrNull(const std::optional<Tensor>& t) {
  return t && t->defined() ? t->unsafeGetTensorImpl() : nullptr;
}

/// f(the type that convolutions of the dtype are computed in).
template <class F>
void dispatchFloating(ScalarType dtype, const char* op, F&& f) {
  dispatchFloatingTypes(dtype, op, [&]<class T>(std::type_identity<T>) { f(std::type_identity<opmath_t<T>>()); });
}

template <class F>
void dispatchNumbers(ScalarType dtype, const char* op, F&& f) {
  if (dtype == kBool) detail::throwNotImplementedFor(op, dtype);
  dispatchAllTypes(dtype, op, [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, bool>) f(std::type_identity<opmath_t<T>>());
  });
}

template <class A>
void addToChannels(const A* bias, int64_t samples, int64_t channels, int64_t positions, A* out) {
  for (int64_t n = 0; n < samples; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < positions; ++i, ++out) *out = static_cast<A>(*out + bias[c]);
}

template <class A>
void convolveInto(const ConvShape& s, bool transposed, const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const Tensor& out) {
  const Elements<A> x(input), w(weight), b(bias);
  Written<A> to(out);
  if (!transposed) {
    nn::convolve<A>(s, x.data(), w.data(), b.data(), to.data());
  } else {
    nn::convolveBack<A>(s, x.data(), w.data(), to.data());
    if (b.data() != nullptr) addToChannels(b.data(), s.samples, s.in, s.height * s.width, to.data());
  }
  to.store();
}

/// Sums of `grad`'s channels, one after the other, each in the order of Note [Order of reductions].
Tensor channelSums(const Tensor& grad) {
  std::vector<int64_t> dims = {0};
  for (int64_t d = 2; d < grad.dim(); ++d) dims.push_back(d);
  return reduce::reduceOperator<accumulators::Sum>("sum", grad, IntArrayRef(dims), false, std::nullopt);
}

void fillZeros(const Tensor& t) {
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (impl.numel() != 0) std::memset(impl.data(), 0, static_cast<size_t>(impl.numel() * impl.itemsize()));
}

/// What there is nothing to add up for.
void fillWithBias(const ConvShape& s, bool transposed, const Tensor& bias, const Tensor& out) {
  const int64_t channels = transposed ? s.in : s.out;
  const int64_t positions = transposed ? s.height * s.width : s.positions();
  dispatchNumbers(out.scalar_type(), "slow_conv2d_cpu", [&]<class A>(std::type_identity<A>) {
    const Elements<A> b(bias);
    Written<A> to(out);
    std::fill_n(to.data(), out.numel(), A(0));
    if (bias.defined()) addToChannels(b.data(), s.samples, channels, positions, to.data());
    to.store();
  });
}

struct Gradients {
  Tensor input, weight, bias;
};

template <class A>
void convolveGradients(const ConvShape& s, bool transposed, const Tensor& grad, const Tensor& input,
                       const Tensor& weight, const Gradients& to) {
  const Elements<A> g(grad);
  if (to.input.defined()) {
    const Elements<A> w(weight);
    Written<A> out(to.input);
    if (transposed)
      nn::convolve<A>(s, g.data(), w.data(), nullptr, out.data());
    else
      nn::convolveBack<A>(s, g.data(), w.data(), out.data());
    out.store();
  }
  if (to.weight.defined()) {
    const Elements<A> x(input);
    Written<A> out(to.weight);
    nn::convolveWeight<A>(s, transposed ? x.data() : g.data(), transposed ? g.data() : x.data(), out.data());
    out.store();
  }
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                   int64_t groups) {
  const TensorImpl &x = implOf(input, "convolution", "input"), &w = implOf(weight, "convolution", "weight");
  const ConvGeometry geometry =
      nn::checkedConvolution(x, w, implOrNull(bias), {stride, padding, dilation, transposed, output_padding, groups});
  dispatchNumbers(x.dtype(), "slow_conv2d_cpu", [](auto) {});
  Tensor out = newResult(x, geometry.result, x.dtype());
  if (hasData(x) && out.numel() != 0) {
    const Tensor added = bias.value_or(Tensor());
    if (input.numel() == 0)
      fillWithBias(geometry.shape, transposed, added, out);
    else
      dispatchNumbers(x.dtype(), "slow_conv2d_cpu", [&]<class A>(std::type_identity<A>) {
        convolveInto<A>(geometry.shape, transposed, input, weight, added, out);
      });
  }
  return nn::inFormatOf(input, nn::inFormatOf(weight, std::move(out)));
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad_output, const Tensor& input,
                                                        const Tensor& weight, OptionalIntArrayRef /*bias_sizes*/,
                                                        IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                                        bool transposed, IntArrayRef output_padding, int64_t groups,
                                                        std::array<bool, 3> output_mask) {
  constexpr const char* kOp = "convolution_backward";
  const TensorImpl &x = implOf(input, kOp, "input"), &w = implOf(weight, kOp, "weight");
  const TensorImpl& g = implOf(grad_output, kOp, "grad_output");
  const ConvGeometry geometry =
      nn::checkedConvolution(x, w, nullptr, {stride, padding, dilation, transposed, output_padding, groups});
  SHUNT_CHECK(g.sizes() == IntArrayRef(geometry.result) && g.dtype() == x.dtype(), kOp,
              "(): expected grad_output to be like the convolution's result, ", x.dtype(), ' ',
              IntArrayRef(geometry.result), "; got ", g.dtype(), ' ', g.sizes());
  dispatchFloating(x.dtype(), "slow_conv2d_cpu_grad_input", [](auto) {});
  Gradients to;
  if (output_mask[0]) to.input = newResult(x, x.sizes(), x.dtype());
  if (output_mask[1]) to.weight = newResult(x, w.sizes(), w.dtype());
  if (output_mask[2]) to.bias = channelSums(grad_output);
  if (hasData(x) && g.numel() != 0 && x.numel() != 0) {
    dispatchFloating(x.dtype(), "slow_conv2d_cpu_grad_input", [&]<class A>(std::type_identity<A>) {
      convolveGradients<A>(geometry.shape, transposed, grad_output, input, weight, to);
    });
  } else if (hasData(x)) {
    if (to.input.defined()) fillZeros(to.input);
    if (to.weight.defined()) fillZeros(to.weight);
  }
  if (to.input.defined()) to.input = nn::inFormatOf(input, std::move(to.input));
  if (to.weight.defined()) to.weight = nn::inFormatOf(weight, std::move(to.weight));
  return {std::move(to.input), std::move(to.weight), std::move(to.bias)};
}

}  // namespace shunt::native
