// Autograd by the names that sources written for PyTorch use.
#pragma once

#include <shunt/autograd/anomaly_mode.h>
#include <shunt/autograd/autograd_meta.h>
#include <shunt/autograd/custom_function.h>
#include <shunt/autograd/not_implemented.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/core/log.h>
#include <shunt/shunt.h>

#include <algorithm>

namespace shunt {

inline constexpr DispatchKeySet autograd_dispatch_keyset = kAutogradKeys;

/// The ways in which a view may have been made, by PyTorch's names.
struct CreationMetaNames {
  using Value = autograd::CreationMeta;
  static constexpr Value DEFAULT = Value::kDefault, IN_CUSTOM_FUNCTION = Value::kInCustomFunction,
                         MULTI_OUTPUT_NODE = Value::kMultiOutputNode, NO_GRAD_MODE = Value::kNoGradMode,
                         INFERENCE_MODE = Value::kInferenceMode;
};

inline bool any_variable_requires_grad(const autograd::variable_list& variables) {
  return std::any_of(variables.begin(), variables.end(), [](const Tensor& t) { return t.requires_grad(); });
}

/// A new leaf over the data of `data`; an undefined tensor stays undefined.
inline Tensor make_variable(const Tensor& data, bool requires_grad = false) {
  const Tensor leaf = data.defined() ? data.data() : data;
  return requires_grad ? leaf.set_requires_grad(true) : leaf;
}

/// Makes results whose gradient isn't defined: backward passes undefined gradients to the inputs' edges.
struct UndefinedGrad {
  struct UndefinedGradBackward final : Node {
    autograd::variable_list apply(autograd::variable_list&&) override {
      return autograd::variable_list(next_edges().size());
    }
  };
  autograd::variable_list apply(autograd::variable_list&& inputs) const {
    const auto node = make_intrusive<UndefinedGradBackward>();
    node->set_next_edges(autograd::collect_next_edges(inputs));
    for (Tensor& t : inputs) {
      t = t.data();
      autograd::set_history(t, intrusive_ptr<Node>(node));
    }
    return std::move(inputs);
  }
};

using autograd::AnomalyMode;
using autograd::DetectAnomalyGuard;

/// The former name of AutoDispatchBelowAutograd. The constructor logs a deprecation warning.
struct AutoNonVariableTypeMode {
  explicit AutoNonVariableTypeMode(bool = true) {
    detail::logWarning(
        "AutoNonVariableTypeMode is deprecated: use InferenceMode for inference, or AutoDispatchBelowADInplaceOrView "
        "in a kernel");
  }
  const AutoDispatchBelowAutograd below;
};

}  // namespace shunt
