// Arguments on a stack, as boxed calls and explanations see them. Pure functions of the caller's data.
#pragma once

#include <shunt/core/op_state.h>

namespace shunt::boxed {

/// Checks the operator's arguments at the top of the stack against the schema, after giving sized lists their size. Returns
/// how many they are; throws when one is missing or of another type.
size_t prepare(const OperatorHandle& op, Stack& stack);

uint64_t keysOf(const IValue& value);
/// Of the last n values together.
uint64_t keysOf(const Stack& stack, size_t n);

/// What detail::signatureOf gives for the same arguments unboxed. The stack holds them and nothing else.
uint64_t signatureOf(const FunctionSchema& schema, const Stack& stack);

}  // namespace shunt::boxed
