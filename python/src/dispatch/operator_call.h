// The boxed call of an operator from Python, bound by its schema.
#pragma once

#include "python/src/call/entry.h"
#include "python/src/dispatch/keys.h"
#include "python/src/dispatch/operator.h"

namespace shunt::python {

/// Matches, converts, calls and wraps; `keys` for a redispatch with these keys. Offers the call to __torch_function__
/// first. Throws what the operator throws, and PythonError where the arguments don't fit.
PyObject* callOperator(OpOverloadObject& o, const Call& call, const DispatchKeySet* keys = nullptr);

/// The operator's arguments for the call, pushed on the stack. Throws where they don't fit.
void pushArguments(const PreparedSchema& schema, const Call& call, Stack& stack);

/// Why the call doesn't fit, in PyTorch's words.
std::string whyNoMatch(const PreparedSchema& schema, const Call& call);

}  // namespace shunt::python
