// SHUNT_COMPILE_CHECK: a call both ways, compared. For the thread that calls.
#pragma once

#include "src/compile/recorded.h"

namespace shunt::compiled {

/// Runs the variant, takes back what it wrote, runs the function, and returns the function's results. Throws, naming
/// the first difference, where results, written tensors, grads or versions differ by a bit.
detail::CompileOutputs runChecked(const std::string& name, const Variant& variant,
                                  const detail::CompileArguments& arguments,
                                  FunctionRef<detail::CompileOutputs()> function);

}  // namespace shunt::compiled
