// Autograd by the names that sources written for PyTorch have for it.
#pragma once

#include <shunt/autograd/autograd_meta.h>
#include <shunt/autograd/custom_function.h>
#include <shunt/core/log.h>
#include <shunt/shunt.h>

#include <algorithm>

namespace shunt {

inline constexpr DispatchKeySet autograd_dispatch_keyset = kAutogradKeys;

/// PyTorch's names of how a view came about.
struct CreationMetaNames {
  using Value = autograd::CreationMeta;
  static constexpr Value DEFAULT = Value::kDefault, IN_CUSTOM_FUNCTION = Value::kInCustomFunction,
                         MULTI_OUTPUT_NODE = Value::kMultiOutputNode, NO_GRAD_MODE = Value::kNoGradMode,
                         INFERENCE_MODE = Value::kInferenceMode;
};

inline bool any_variable_requires_grad(const autograd::variable_list& variables) {
  return std::any_of(variables.begin(), variables.end(), [](const Tensor& t) { return t.requires_grad(); });
}

/// What AutoDispatchBelowAutograd was called once. Says so when it is made.
struct AutoNonVariableTypeMode {
  explicit AutoNonVariableTypeMode(bool = true) {
    detail::logWarning(
        "AutoNonVariableTypeMode is deprecated: use InferenceMode for inference, or AutoDispatchBelowADInplaceOrView "
        "in a kernel");
  }
  const AutoDispatchBelowAutograd below;
};

}  // namespace shunt
