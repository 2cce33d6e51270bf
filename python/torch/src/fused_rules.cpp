#include "fused_rules.h"

#include <algorithm>
#include <array>

namespace shunt_torch {
namespace {

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
};

constexpr FusedRule function(std::string_view name) { return {name, nullptr, Bound::kFunction}; }
constexpr FusedRule mixed(std::string_view name) { return {name, nullptr, Bound::kMixed}; }
constexpr FusedRule sum(std::string_view name) { return {name, nullptr, Bound::kSum}; }
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
    mixed("aten::mse_loss_backward"),
    sum("aten::sum"),
    sum("aten::sum.dim_IntList"),
    sum("aten::mean"),
    sum("aten::mean.dim"),
    sum("aten::mm"),
    sum("aten::addmm"),
    sum("aten::bmm"),
    row("aten::mse_loss"),
    row("aten::_softmax"),
    row("aten::_log_softmax"),
    row("aten::_softmax_backward_data"),
    row("aten::_log_softmax_backward_data"),
    row("aten::native_layer_norm"),
    row("aten::native_layer_norm_backward"),
};

template <size_t N>
const FusedRule* find(const std::array<FusedRule, N>& rules, const std::string& name) {
  const auto* const it = std::find_if(rules.begin(), rules.end(), [&](const FusedRule& r) { return r.name == name; });
  return it == rules.end() ? nullptr : it;
}

}  // namespace

const FusedRule* fusedRule(const std::string& name, Numerics numerics) {
  const FusedRule* const exact = find(kExactRules, name);
  return exact != nullptr || numerics == Numerics::kExact ? exact : find(kFastRules, name);
}

}  // namespace shunt_torch
