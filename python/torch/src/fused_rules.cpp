#include "fused_rules.h"

#include <array>
#include <span>
#include <unordered_map>

namespace shunt_torch {
namespace {

constexpr int64_t kSmall = 1 << 14, kMedium = 1 << 16, kMultiplications = 1 << 25;

// Not in it, for they round or choose otherwise: sqrt (MKL's is an ulp off in vectors), maximum and minimum of zeros of
// both signs (vectors and their tails differ).
constexpr std::array kExactRules = {
    FusedRule{"aten::add.Tensor", "aten::_add_scaled"},
    FusedRule{"aten::add_.Tensor", "aten::_add_scaled_"},
    FusedRule{"aten::sub.Tensor", "aten::_sub_scaled"},
    FusedRule{"aten::sub_.Tensor", "aten::_sub_scaled_"},
    FusedRule{"aten::mul.Tensor"},
    FusedRule{"aten::mul_.Tensor"},
    FusedRule{"aten::div.Tensor"},
    FusedRule{"aten::div_.Tensor"},
    FusedRule{"aten::neg"},
    FusedRule{"aten::abs"},
    FusedRule{"aten::relu"},
    FusedRule{"aten::relu_"},
    FusedRule{"aten::threshold_backward"},
    FusedRule{"aten::where.self"},
    FusedRule{"aten::eq.Tensor"},
    FusedRule{"aten::ne.Tensor"},
    FusedRule{"aten::lt.Tensor"},
    FusedRule{"aten::le.Tensor"},
    FusedRule{"aten::gt.Tensor"},
    FusedRule{"aten::ge.Tensor"},
    FusedRule{"aten::eq.Scalar"},
    FusedRule{"aten::ne.Scalar"},
    FusedRule{"aten::lt.Scalar"},
    FusedRule{"aten::le.Scalar"},
    FusedRule{"aten::gt.Scalar"},
    FusedRule{"aten::ge.Scalar"},
    FusedRule{"aten::mse_loss_backward"},
    FusedRule{.name = "aten::stack", .most = kSmall},
    FusedRule{.name = "aten::cat", .most = kSmall},
    FusedRule{.name = "aten::new_zeros", .most = kSmall},
    FusedRule{.name = "aten::zeros_like", .most = kSmall},
    FusedRule{.name = "aten::max.dim", .has_indices = true, .most = kSmall},
    FusedRule{.name = "aten::min.dim", .has_indices = true, .most = kSmall},
    FusedRule{.name = "aten::gather", .has_indices = true, .most = kSmall, .may_refuse = true},
    FusedRule{.name = "aten::max_pool2d_with_indices", .has_indices = true, .most = kMedium},
    FusedRule{.name = "aten::max_pool2d_with_indices_backward", .has_indices = true, .most = kMedium},
};

constexpr FusedRule function(std::string_view name) { return {name, nullptr, Bound::kFunction}; }
constexpr FusedRule mixed(std::string_view name) { return {name, nullptr, Bound::kMixed}; }
constexpr FusedRule sum(std::string_view name) { return {name, nullptr, Bound::kSum}; }
constexpr FusedRule update(std::string_view name) { return {name, nullptr, Bound::kUpdate}; }
constexpr FusedRule row(std::string_view name) { return {name, nullptr, Bound::kRow}; }

constexpr std::array kFastRules = {
    function("aten::sqrt"),
    function("aten::rsqrt"),
    function("aten::reciprocal"),
    function("aten::exp"),
    function("aten::expm1"),
    function("aten::log"),
    function("aten::log1p"),
    function("aten::sin"),
    function("aten::cos"),
    function("aten::tanh"),
    function("aten::sigmoid"),
    function("aten::erf"),
    function("aten::maximum"),
    function("aten::minimum"),
    function("aten::clamp"),
    function("aten::clamp_min"),
    function("aten::pow.Tensor_Scalar"),
    mixed("aten::gelu"),
    mixed("aten::silu"),
    mixed("aten::softplus"),
    mixed("aten::elu"),
    mixed("aten::leaky_relu"),
    mixed("aten::tanh_backward"),
    mixed("aten::sigmoid_backward"),
    mixed("aten::gelu_backward"),
    mixed("aten::silu_backward"),
    mixed("aten::softplus_backward"),
    mixed("aten::elu_backward"),
    mixed("aten::leaky_relu_backward"),
    mixed("aten::addcmul"),
    mixed("aten::addcmul_"),
    mixed("aten::addcdiv"),
    mixed("aten::addcdiv_"),
    mixed("aten::lerp.Scalar"),
    mixed("aten::lerp_.Scalar"),
    mixed("aten::smooth_l1_loss_backward"),
    mixed("aten::rsub.Scalar"),
    update("aten::_fused_adam_"),
    update("aten::_fused_adam_.tensor_lr"),
    update("aten::_fused_adamw_"),
    update("aten::_fused_adamw_.tensor_lr"),
    update("aten::_fused_sgd_"),
    update("aten::_fused_sgd_.tensor_lr"),
    sum("aten::sum"),
    sum("aten::sum.dim_IntList"),
    sum("aten::mean"),
    sum("aten::mean.dim"),
    sum("aten::mm"),
    sum("aten::addmm"),
    sum("aten::bmm"),
    sum("aten::linalg_vector_norm"),
    FusedRule{.name = "aten::convolution", .bound = Bound::kSum, .most = kMultiplications},
    FusedRule{.name = "aten::convolution_backward", .bound = Bound::kSum, .most = kMultiplications},
    FusedRule{
        .name = "aten::scatter_add_", .bound = Bound::kSum, .has_indices = true, .most = kSmall, .may_refuse = true},
    row("aten::mse_loss"),
    row("aten::smooth_l1_loss"),
    row("aten::native_batch_norm"),
    row("aten::native_batch_norm_backward"),
    row("aten::_softmax"),
    row("aten::_log_softmax"),
    row("aten::_softmax_backward_data"),
    row("aten::_log_softmax_backward_data"),
    row("aten::native_layer_norm"),
    row("aten::native_layer_norm_backward"),
};

using Rules = std::unordered_map<std::string_view, const FusedRule*>;

Rules byName(std::span<const FusedRule> a, std::span<const FusedRule> b) {
  Rules out;
  for (const auto& rules : {a, b})
    for (const FusedRule& r : rules) out.emplace(r.name, &r);
  return out;
}

}  // namespace

const FusedRule* fusedRule(const std::string& name, Numerics numerics) {
  static const Rules exact = byName(kExactRules, {}), fast = byName(kExactRules, kFastRules);
  const Rules& rules = numerics == Numerics::kExact ? exact : fast;
  const auto found = rules.find(name);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace shunt_torch
