#include "fused_updates.h"

#include <cmath>
#include <stdexcept>

namespace shunt_torch {
namespace {

using shunt::HostArgument;
using shunt::HostPlanBuilder;
using shunt::HostValue;

// One update of all parameters; `i` is the parameter.
class Update {
 public:
  Update(HostPlanBuilder& builder, const UpdateArguments& arguments) : builder_(builder), arguments_(arguments) {
    for (const char* const name : {"grad_scale", "found_inf"})
      if (arguments.tensors.contains(name)) throw std::runtime_error("grads that are scaled");
    if (isSet("amsgrad")) throw std::runtime_error("amsgrad");
  }

  void adam(bool decoupled) {
    // The numbers of all parameters first, so that they are one loop, too.
    std::vector<HostValue> roots, rates;
    for (const HostValue& step : list("state_steps")) {
      roots.push_back(call("aten::sqrt", {correction(step, number("beta2"))}));
      rates.push_back(call("aten::mul.Tensor", {call("aten::reciprocal", {correction(step, number("beta1"))}), lr()}));
    }
    for (size_t i = 0; i < list("self").size(); ++i) {
      const HostValue grad = gradOf(i, decoupled);
      const HostValue &parameter = list("self")[i], &first = list("exp_avgs")[i], &second = list("exp_avg_sqs")[i];
      if (decoupled && number("weight_decay") != 0) decay(parameter);
      call("aten::lerp_.Scalar", {first, grad, 1 - number("beta1")});
      call("aten::mul_.Tensor", {second, number("beta2")});
      call("aten::addcmul_", {second, grad, grad}, {{"value", 1 - number("beta2")}});
      const HostValue scaled = call("aten::div.Tensor", {call("aten::sqrt", {second}), roots[i]});
      const HostValue divisor = call("aten::add.Tensor", {scaled, number("eps")});
      const HostValue change = call("aten::mul.Tensor", {call("aten::div.Tensor", {first, divisor}), rates[i]});
      call("aten::sub_.Tensor", {parameter, change});
    }
  }

  void sgd() {
    const double momentum = number("momentum");
    for (size_t i = 0; i < list("self").size(); ++i) {
      HostValue grad = gradOf(i, false);
      if (momentum != 0) {
        const HostValue& buffer = list("momentum_buffer_list")[i];
        if (isSet("is_first_step")) {
          call("aten::copy_", {buffer, grad});
        } else {
          call("aten::mul_.Tensor", {buffer, momentum});
          call("aten::add_.Tensor", {buffer, grad}, {{"alpha", 1 - number("dampening")}});
        }
        grad = isSet("nesterov") ? call("aten::add.Tensor", {grad, buffer}, {{"alpha", momentum}}) : buffer;
      }
      call("aten::sub_.Tensor", {list("self")[i], call("aten::mul.Tensor", {grad, lr()})});
    }
  }

 private:
  HostValue call(const char* name, std::vector<HostArgument> arguments,
                 std::vector<std::pair<std::string, HostArgument>> named = {}) {
    return builder_.call(name, std::move(arguments), std::move(named))[0];
  }
  const std::vector<HostValue>& list(const char* name) const { return arguments_.tensors.at(name); }
  double number(const char* name) const { return arguments_.numbers.at(name).toScalar().to<double>(); }
  bool isSet(const char* name) const {
    const auto found = arguments_.numbers.find(name);
    return found != arguments_.numbers.end() && found->second.toBool();
  }
  HostArgument lr() const {
    return arguments_.tensors.contains("lr") ? HostArgument(list("lr")[0]) : HostArgument(number("lr"));
  }

  HostValue gradOf(size_t i, bool decoupled) {
    HostValue grad = list("grads")[i];
    if (isSet("maximize")) grad = call("aten::neg", {grad});
    if (!decoupled && number("weight_decay") != 0)
      grad = call("aten::add.Tensor", {grad, list("self")[i]}, {{"alpha", number("weight_decay")}});
    return grad;
  }
  /// parameter *= 1 - lr * weight_decay
  void decay(const HostValue& parameter) {
    if (!arguments_.tensors.contains("lr")) {
      call("aten::mul_.Tensor", {parameter, 1 - number("lr") * number("weight_decay")});
      return;
    }
    const HostValue loss = call("aten::mul.Tensor", {list("lr")[0], number("weight_decay")});
    call("aten::sub_.Tensor", {parameter, call("aten::mul.Tensor", {parameter, loss})});
  }
  /// 1 - beta ** step. Not by a power, which is near 1 at the first steps.
  HostValue correction(const HostValue& step, double beta) {
    const HostValue exponent = call("aten::mul.Tensor", {step, std::log(beta)});
    return call("aten::neg", {call("aten::expm1", {exponent})});
  }

  HostPlanBuilder& builder_;
  const UpdateArguments& arguments_;
};

bool startsWith(const std::string& name, const char* with) { return name.rfind(with, 0) == 0; }

}  // namespace

bool isFusedUpdate(const std::string& name) {
  return startsWith(name, "aten::_fused_adam_") || startsWith(name, "aten::_fused_adamw_") ||
         startsWith(name, "aten::_fused_sgd_");
}

void addFusedUpdate(HostPlanBuilder& builder, const std::string& name, const UpdateArguments& arguments) {
  Update update(builder, arguments);
  if (startsWith(name, "aten::_fused_sgd_")) return update.sgd();
  update.adam(/*decoupled=*/startsWith(name, "aten::_fused_adamw_"));
}

}  // namespace shunt_torch
