// The dispatcher's error kernels and messages.
#pragma once

#include "src/dispatch/registrations.h"

namespace shunt {

/// Says that the operator had a definition, which was taken back, and where it was; empty for operators that have one
/// or never had.
std::string withdrawalOf(const OperatorHandle& op);
/// Fills every slot without a kernel. Throws NotImplementedError that lists what is registered; with arguments on
/// several devices it says so instead, naming them.
void missingKernel(OperatorKernel*, const OperatorHandle& op, DispatchKeySet ks, Stack* stack);
/// "Expected all tensors to be on the same device, but found ..." when arguments lie on several, but for 0-dim CPU
/// tensors that are only read; empty otherwise.
std::string mixedDevices(const OperatorHandle& op, const Stack& stack);
void ambiguousAutogradOtherKernel(OperatorKernel*, const OperatorHandle& op, DispatchKeySet ks, Stack* stack);

/// Adds the operators that this thread runs, outermost first, to an error's message, unless it names the outermost
/// itself.
void nameRunningOperators(std::string& message);

/// What keeps a function of that signature from serving the schema; empty where nothing does.
std::string misfit(const FunctionSchema& schema, const CppSignature& signature);
/// Throws unless `signature` can serve `schema`; the message shows both and both places.
void checkSignatureAgainstSchema(const FunctionSchema& schema, const std::string& schema_place,
                                 const CppSignature& signature, const std::string& kernel_place);
/// The same for the signature that typed<>() was asked for, of an operator without unboxed kernels.
void checkAskedAgainstSchema(const FunctionSchema& schema, const std::string& schema_place, const CppSignature& asked,
                             const std::string& asked_place);

/// The schema a function's C++ signature stands for, with arguments named _0, _1, ...
FunctionSchema inferSchema(OperatorName name, const CppSignature& signature);

}  // namespace shunt
