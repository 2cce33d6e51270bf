// CompileCheck::kAlways: a call both ways, compared. For the thread that calls.
#pragma once

#include "src/compile/recorded.h"

namespace shunt::compiled {

/// Runs the variant and the function, takes back in between what was written, and returns the last one's results.
/// Throws, naming the first difference, where results, written tensors, grads or versions differ by a bit.
detail::CompileOutputs runChecked(const std::string& name, const Variant& variant,
                                  const detail::CompileArguments& arguments,
                                  FunctionRef<detail::CompileOutputs()> function);

}  // namespace shunt::compiled
