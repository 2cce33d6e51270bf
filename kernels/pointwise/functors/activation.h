// Activations, losses, and the backward forms that PyTorch has as operators. See shunt/elementwise/functor.h.
//
// Each is computed as PyTorch's CPU kernel does (order of operations), gradients first among the inputs.
#pragma once

#include <shunt/elementwise/functor.h>

namespace shunt::functors {

/// Floating point only: integers are an error, as in PyTorch.
template <int Inputs, int Scalars = 0>
struct FloatOnly : Functor<Inputs, Scalars> {
  static constexpr DtypeSet kTypes = kFloatTypes;
};

namespace detail {
inline constexpr double kInvSqrtTwoPi = 0.39894228040143267794;   // 1 / sqrt(2 pi)
inline constexpr double kSqrtTwoOverPi = 0.79788456080286535588;  // sqrt(2 / pi)
inline constexpr double kGeluCubic = 0.044715;

/// Where gelu and silu, and their derivatives, have reached their limits in every type, and products with what has
/// vanished there are still 0 and not NaN.
inline constexpr double kFar = 1000;
/// From here on log(1 + exp(x)) is x, and exp(x) is finite.
inline constexpr double kSoftplusIsLine = 50;

/// x, no farther from 0 than kFar. NaN stays.
template <class C>
SHUNT_ALWAYS_INLINE C near(C x) {
  const C below = x > C(kFar) ? C(kFar) : x;
  return below < C(-kFar) ? C(-kFar) : below;
}
/// The same on the side where gelu and silu vanish.
template <class C>
SHUNT_ALWAYS_INLINE C nearBelow(C x) {
  return x < C(-kFar) ? C(-kFar) : x;
}
}  // namespace detail

/// x Phi(x), Phi the normal distribution (Hendrycks and Gimpel, arXiv:1606.08415).
struct Gelu : FloatOnly<1> {
  static constexpr bool kLarge = true;
  static constexpr bool kSameOutput = true;
  static constexpr int kInterleave = 4;      // 16 Ki floats took 0.90 of the time
  static constexpr int kInterleaveAvx2 = 2;  // 0.67
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return detail::nearBelow(x) * math::normalCdf(x);
  }
};

/// The same with the tanh approximation of Phi.
struct GeluTanh : FloatOnly<1> {
  static constexpr bool kLarge = true;
  static constexpr bool kSameOutput = true;
  static constexpr int kInterleaveAvx2 = 2;  // 0.85
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    const C inner = C(detail::kSqrtTwoOverPi) * (x + C(detail::kGeluCubic) * (x * x * x));
    return C(0.5) * detail::nearBelow(x) * (C(1) + math::tanh(inner));
  }
};

struct GeluBackward : FloatOnly<2> {
  static constexpr bool kLarge = true;
  static constexpr const char* kArguments[] = {"grad_output", "self"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C x) const {
    const C cdf = math::normalCdf(x);
    const C pdf = C(detail::kInvSqrtTwoPi) * math::exp(x * x * C(-0.5));
    return grad * (cdf + detail::near(x) * pdf);
  }
};

struct GeluTanhBackward : FloatOnly<2> {
  static constexpr bool kLarge = true;
  static constexpr const char* kArguments[] = {"grad_output", "self"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C given) const {
    constexpr C kBeta = C(detail::kSqrtTwoOverPi), kKappa = C(detail::kGeluCubic);
    const C x = detail::near(given), square = x * x;
    const C t = math::tanh(kBeta * (x + kKappa * (square * x)));
    const C left = C(0.5) * x, right = C(1) + t;
    const C inner_derivative = kBeta * (C(1) + C(3) * kKappa * square);
    return grad * (C(0.5) * right + left * (C(1) - t * t) * inner_derivative);
  }
};

struct Silu : FloatOnly<1> {
  static constexpr bool kLarge = true;
  static constexpr bool kSameOutput = true;
  static constexpr int kInterleaveAvx2 = 2;  // 0.84
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x) const {
    return detail::nearBelow(x) / (C(1) + math::exp(-x));
  }
};

struct SiluBackward : FloatOnly<2> {
  static constexpr bool kLarge = true;
  static constexpr const char* kArguments[] = {"grad_output", "self"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C x) const {
    const C s = C(1) / (C(1) + math::exp(-x));
    return grad * s * (C(1) + detail::near(x) * (C(1) - s));
  }
};

/// x, or x times the slope where x is not positive (Maas et al., ICML 2013).
struct LeakyRelu : FloatOnly<1, 1> {
  static constexpr bool kSameOutput = true;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x, C slope) const {
    return x > C(0) ? x : x * slope;
  }
};

/// Of the input, or of the result where the slope is not negative: both have one sign then.
struct LeakyReluBackward : FloatOnly<2, 1> {
  static constexpr int kLayoutOrder[] = {1, 0};
  static constexpr const char* kArguments[] = {"grad_output", "self"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C x, C slope) const {
    return x > C(0) ? grad : grad * slope;
  }
};

/// 0 where the input was cut, or isn't a number.
struct HardtanhBackward : FloatOnly<2, 2> {
  static constexpr const char* kArguments[] = {"grad_output", "self"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C x, C min, C max) const {
    return ((x > min) & (x < max)) ? grad : C(0);
  }
};

/// log(1 + exp(beta x)) / beta, and x itself where beta x is above the threshold.
struct Softplus : FloatOnly<1, 2> {
  static constexpr bool kLarge = true;
  static constexpr bool kSameOutput = true;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x, C beta, C threshold) const {
    const C scaled = x * beta;
    return ((scaled > threshold) | (scaled > C(detail::kSoftplusIsLine))) ? x : math::log1p(math::exp(scaled)) / beta;
  }
};

struct SoftplusBackward : FloatOnly<2, 2> {
  static constexpr bool kLarge = true;
  static constexpr const char* kArguments[] = {"grad_output", "self"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C x, C beta, C threshold) const {
    const C scaled = x * beta, z = math::exp(scaled);
    return ((scaled > threshold) | (scaled > C(detail::kSoftplusIsLine))) ? grad : grad * z / (z + C(1));
  }
};

/// scale x, or scale alpha (exp(input_scale x) - 1) where x is not positive (Clevert et al., arXiv:1511.07289; with the
/// scales selu and celu).
struct Elu : FloatOnly<1, 3> {
  static constexpr bool kLarge = true;
  static constexpr bool kSameOutput = true;
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C x, C alpha, C scale, C input_scale) const {
    return x <= C(0) ? math::expm1(x * input_scale) * (alpha * scale) : x * scale;
  }
};

struct EluBackward : FloatOnly<2, 3> {
  static constexpr bool kLarge = true;
  static constexpr const char* kArguments[] = {"grad_output", "self_or_result"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C x, C alpha, C scale, C input_scale) const {
    return x <= C(0) ? grad * input_scale * (alpha * scale) * math::exp(x * input_scale) : grad * scale;
  }
};

/// Of the result, where alpha is not negative: input and result have one sign then.
struct EluBackwardOfResult : FloatOnly<2, 3> {
  static constexpr const char* kArguments[] = {"grad_output", "self_or_result"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C y, C alpha, C scale, C input_scale) const {
    return y <= C(0) ? grad * input_scale * (y + alpha * scale) : grad * scale;
  }
};

struct SigmoidBackward : FloatOnly<2> {
  static constexpr const char* kArguments[] = {"grad_output", "output"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C y) const {
    return grad * (C(1) - y) * y;
  }
};

struct TanhBackward : FloatOnly<2> {
  static constexpr const char* kArguments[] = {"grad_output", "output"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C y) const {
    return grad * (C(1) - y * y);
  }
};

/// (self - target)^2: the elementwise part of mse_loss.
struct MseLoss : FloatOnly<2> {
  static constexpr const char* kArguments[] = {"self", "target"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C target) const {
    const C difference = self - target;
    return difference * difference;
  }
};

/// norm is 2, or 2 / n under reduction mean.
struct MseLossBackward : FloatOnly<3, 1> {
  static constexpr int kLayoutOrder[] = {1, 2, 0};
  static constexpr const char* kArguments[] = {"grad_output", "self", "target"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C self, C target, C norm) const {
    return norm * (self - target) * grad;
  }
};

/// Half the square of differences below beta, divided by it; the difference itself beyond (Girshick, arXiv:1504.08083).
struct SmoothL1Loss : FloatOnly<2, 1> {
  static constexpr const char* kArguments[] = {"self", "target"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C target, C beta) const {
    const C difference = self - target, z = difference < C(0) ? -difference : difference;
    return z < beta ? C(0.5) * z * z / beta : z - C(0.5) * beta;
  }
};

/// norm is 1, or 1 / n under reduction mean.
struct SmoothL1LossBackward : FloatOnly<3, 2> {
  static constexpr bool kLarge = true;
  static constexpr int kLayoutOrder[] = {1, 2, 0};
  static constexpr const char* kArguments[] = {"grad_output", "self", "target"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C self, C target, C norm, C beta) const {
    const C x = self - target;
    // Of lines only, where beta is 0, the corner has the gradient 0.
    const C within = norm * x * grad / (beta > C(0) ? beta : C(1));
    return ((x <= -beta) & (x < C(0))) ? -norm * grad : ((x >= beta) & (x > C(0))) ? norm * grad : within;
  }
};

/// Half the square of differences below delta; beyond, the line that continues it (Huber, 1964).
struct HuberLoss : FloatOnly<2, 1> {
  static constexpr const char* kArguments[] = {"self", "target"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C self, C target, C delta) const {
    const C difference = self - target, z = difference < C(0) ? -difference : difference;
    return z < delta ? C(0.5) * z * z : delta * (z - C(0.5) * delta);
  }
};

struct HuberLossBackward : FloatOnly<3, 2> {
  static constexpr bool kLarge = true;
  static constexpr int kLayoutOrder[] = {1, 2, 0};
  static constexpr const char* kArguments[] = {"grad_output", "self", "target"};
  template <class C>
  SHUNT_ALWAYS_INLINE C operator()(C grad, C self, C target, C norm, C delta) const {
    const C x = self - target;
    return x <= -delta ? -norm * grad * delta : x >= delta ? norm * grad * delta : norm * x * grad;
  }
};

}  // namespace shunt::functors
