// How far results may be from libtorch's, per operator; everything else must be equal.
#include "tests/parity/compare.h"
#include "tests/parity/rules.h"

namespace parity {
namespace {

// libtorch's own error is in these numbers: its vector maths (SLEEF, 1 ULP) differs from its scalar maths (libm), and
// Shunt is within 1 ULP of MPFR's value.
constexpr Tolerance kTolerances[] = {
    // rounded_terms: the derivative subtracts the rounded result from 1, or a sum of such products from another.
    // op, forward, backward, sums, exact_on_integers, stepwise, cancels, rounded_terms,
    // of_one
    {"exp", 2, 8, false, false},
    {"expm1", 4, 8, false, false},
    {"log", 2, 4, false, false},
    {"log1p", 4, 4, false, false},
    {"sin", 2, 8, false, false},
    {"cos", 2, 8, false, false},
    {"tanh", 2, 16, false, false, false, false, 1},
    {"erf", 2, 16, false, false},
    {"tan", 2, 16, false, false, false, false, 1},
    {"asin", 4, 32, false, false},
    {"acos", 4, 32, false, false},
    {"atan*", 4, 16, false, false, false, false, 1},
    {"sinh", 4, 8, false, false},
    {"cosh", 4, 8, false, false},
    {"asinh", 4, 16, false, false},
    {"acosh", 4, 32, false, false},
    {"exp2", 4, 8, false, false},
    {"log2", 2, 8, false, false},
    {"log10", 2, 8, false, false},
    {"logaddexp*", 8, 32, false, false, false, true},
    {"erfc", 4, 16, false, false},
    // Sums whose terms cancel near the roots.
    {"lgamma", 16, 64, true, false, false, true},
    {"digamma", 64, 256, true, false, false, true},
    {"polygamma*", 64, 256, true, false, false, true},
    {"logit", 8, 32, true, false},
    {"sinc", 8, 64, true, false, false, true},
    {"hypot", 2, 8, false, false},
    {"xlogy", 4, 8, false, false},
    {"ldexp", 4, 32, false, false},
    {"float_power", 16, 64, false, false},
    {"deg2rad", 2, 2, false, false},
    {"rad2deg", 2, 2, false, false},
    {"sigmoid", 4, 16, false, false, false, false, 1},
    {"silu", 4, 16, false, false},
    {"silu_backward", 16, 16, true, false},
    {"gelu", 8, 32, true, false, false, true},
    {"gelu_backward", 32, 32, true, false, false, true},
    {"rsqrt", 2, 8, false, false},
    {"pow", 16, 64, false, false},  // a Scalar exponent stays double in libtorch's scalar loops
    {"sqrt", 0, 4, false, false},
    {"reciprocal", 0, 4, false, false},
    {"div", 0, 4, false, false},
    {"true_divide", 0, 4, false, false},
    // libtorch takes exp(x) - 1, which loses digits near 0.
    {"elu", 4, 16, false, false, false, false, 0, 2},
    {"elu_backward", 8, 32, false, false},
    {"softplus", 4, 16, false, false},
    {"softplus_backward", 8, 32, false, false},
    {"fmod", 0, 8, true, true},
    {"remainder", 0, 8, true, true},
    // An extreme's gradient is divided among those that are equal.
    {"max", 0, 4, false, false},
    {"min", 0, 4, false, false},
    {"amax", 0, 4, false, false},
    {"amin", 0, 4, false, false},
    // alpha: libtorch's vector loops fuse the multiplication, its scalar tails and 16-bit types round it.
    {"add", 2, 4, true, true, false, true},
    {"sub", 2, 4, true, true, false, true},
    {"rsub", 2, 4, true, true, false, true},
    {"embedding", 0, 16, false, false},  // scale_grad_by_freq: in another order
    {"index_add", 16, 4, true, true},
    {"scatter_add", 16, 4, true, true},
    {"scatter", 16, 16, true, true},
    {"scatter_reduce", 32, 128, true, false, false, true},
    {"index_put", 16, 4, true, true},
    {"diag", 0, 16, true, true},
    {"sigmoid_backward", 4, 8, true, false},
    {"tanh_backward", 4, 8, true, false},
    {"addcdiv", 2, 8, true, false},
    {"addcmul", 2, 8, true, true},
    {"lerp", 2, 32, true, false},
    {"softmax", 8, 32, true, false, false, false, 2},
    {"log_softmax", 8, 32, true, false, false, false, 2},
    {"_softmax", 8, 32, true, false, false, false, 2},
    {"_log_softmax", 8, 32, true, false, false, false, 2},
    {"_softmax_backward_data", 16, 32, true, false},
    {"_log_softmax_backward_data", 32, 32, true, false},
    {"cross_entropy_loss", 16, 32, true, false, true, false, 2},
    {"layer_norm", 32, 32, true, false, false, false, 1},
    {"native_layer_norm*", 32, 32, true, false, false, false, 1},
    {"nll_loss*", 8, 8, true, false},
    {"mse_loss", 8, 8, true, false},
    {"l1_loss", 8, 8, true, false},
    {"smooth_l1_loss*", 8, 16, true, false},
    {"huber_loss*", 8, 16, true, false},
    {"binary_cross_entropy_with_logits", 32, 64, true, false, true},
    {"upsample_*linear*", 16, 32, true, false, false, true, 1},
    {"group_norm", 32, 64, true, false, false, false, 1},
    {"cosine_similarity", 32, 64, true, false, false, true, 2},
    {"kl_div", 16, 32, true, false, false, true},
    {"binary_cross_entropy", 16, 32, true, false, false, true},
    {"lstm_cell", 32, 64, true, false, false, true, 1},
    {"gru_cell", 32, 64, true, false, false, true, 1},
    {"rnn_*_cell", 32, 64, true, false, false, true, 1},
    {"mse_loss_backward", 2, 8, true, false},
    {"sum*", 32, 4, true, true},
    {"mean*", 32, 4, true, false},
    {"prod*", 32, 64, true, true},
    // libtorch adds magnitudes up one after the other, and takes powers as roundings of several steps.
    {"logsumexp", 8, 32, true, false, true, true, 2},
    {"var*", 32, 64, true, false, false, true},
    {"std*", 32, 64, true, false, false, true},
    {"norm*", 64, 64, true, false, false, true},
    {"linalg_vector_norm", 64, 64, true, false, false, true},
    {"cumsum", 4, 8, true, true},
    {"cumprod", 16, 256, true, false},
    {"trace", 16, 4, true, true},
    {"mm", 32, 32, true, true},
    {"bmm", 32, 32, true, true},
    {"addmm", 32, 32, true, true},
    {"baddbmm", 32, 32, true, true},
    {"dot", 32, 8, true, true},
    {"mv", 32, 32, true, true},
    {"matmul", 32, 32, true, true},
    {"linear", 32, 32, true, true},
    {"conv*", 32, 32, true, true},
    {"einsum", 32, 32, true, true},
    {"*cross", 4, 8, true, true, false, true},
    {"*batch_norm*", 32, 64, true, false, false, false, 1},
    {"*avg_pool2d*", 8, 8, true, false},
    {"linspace", 2, 0, true, false},
    {"arange", 2, 0, false, false},  // libtorch's vector loop adds steps to the block's first element
};
constexpr Tolerance kExact{};

}  // namespace

const Tolerance& toleranceFor(std::string_view name, std::string_view overload) {
  const std::string base(baseName(name)), full = base + "." + std::string(overload);
  for (const Tolerance& t : kTolerances)
    if (globMatches(t.op, base) || globMatches(t.op, full)) return t;
  return kExact;
}

}  // namespace parity
