// The fused updates of optimisers, _fused_adam_ and its like, as operators of Shunt's: fast mode. Each is elementwise,
// so that parameters of one size are updated in one loop.
#pragma once

#include <shunt/compile/host_plan.h>

#include <map>
#include <string>
#include <vector>

namespace shunt_torch {

/// An update's arguments by name: lists of tensors, tensors (of one element in the list), and all that is neither.
struct UpdateArguments {
  std::map<std::string, std::vector<shunt::HostValue>> tensors;
  std::map<std::string, shunt::IValue> numbers;
};

/// Whether an operator is one of them, of any overload.
bool isFusedUpdate(const std::string& name);
/// Adds it to a plan. Throws where it does what isn't known here: amsgrad, grads that are scaled.
void addFusedUpdate(shunt::HostPlanBuilder& builder, const std::string& name, const UpdateArguments& arguments);

}  // namespace shunt_torch
