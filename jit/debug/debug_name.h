// What perf and gdb call a thunk: "shunt:aten::add.Tensor{AutogradCPU,CPU}(Float,Float)".
#pragma once

#include "jit/plan/plan.h"

#include <string>

namespace shunt::jit {

/// Without spaces. Not unique: thunks for other layouts have the same name.
std::string debugName(const Plan& plan);

}  // namespace shunt::jit
