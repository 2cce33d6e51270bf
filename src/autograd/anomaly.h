// What the engine and nodes do in anomaly mode (autograd/anomaly_mode.h). Any thread, for its own runs.
#pragma once

#include <shunt/autograd/anomaly_mode.h>

#include <memory>

namespace shunt::autograd {

/// For a node that this thread records now.
std::unique_ptr<ForwardPlace> forwardPlaceNow();

/// Logs where `failed` was recorded, and where the nodes were whose backward recorded it.
SHUNT_COLD void warnOfForwardPlace(const Node& failed) noexcept;

/// Throws if any of the gradients that `node` returned has a NaN.
SHUNT_COLD void checkNoNan(const Node& node, const variable_list& grads);

}  // namespace shunt::autograd
