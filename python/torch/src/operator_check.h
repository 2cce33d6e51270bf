// Compares Shunt's operators with PyTorch's one by one, on the inputs that each has in a run of PyTorch's, so that
// differences don't add up. This is how a plan of fast mode is checked.
#pragma once

#include "fused_rules.h"
#include "program.h"

#include <string>
#include <vector>

namespace shunt_torch {

/// Runs the program on `inputs`, which it writes. Returns the first operator whose results are further apart than its
/// Bound, for people; empty where none is. `trace`: a tensor of each slot's sizes, strides and dtype.
std::string checkOperators(const Program& program, const std::vector<at::Tensor>& trace,
                           const std::vector<at::Tensor>& inputs, Numerics numerics);

}  // namespace shunt_torch
