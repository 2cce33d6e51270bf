// Calls of operators by their C++ signatures, as C++ programs make them: compiled code runs in these only, boxed calls
// are always interpreted.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <cstdint>

namespace shunt::cli {

/// Calls the operator `n` times with the arguments on the stack, which stay there.
using CallLoop = void (*)(const OperatorHandle& op, Stack& arguments, int64_t n);

/// By the operator's C++ signature, where an operator of the dictionary has the same; else boxed.
struct Caller {
  CallLoop run;
  bool typed;
};
Caller callerOf(const OperatorHandle& op);

}  // namespace shunt::cli
