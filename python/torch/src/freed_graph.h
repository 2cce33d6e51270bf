// FreedGraph: what stands in a result for a graph that backward() has freed inside of the captured call.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace shunt_torch {

/// Makes `t`, a new tensor without history, require grad by a node of this name, whose backward throws `message`.
void setFreedGraph(const at::Tensor& t, std::string name, std::string message);

}  // namespace shunt_torch
