// Arguments on a stack, as boxed calls and explanations see them. Pure functions of the caller's data.
#pragma once

#include "src/dispatch/operator_entry.h"

namespace shunt::boxed {

uint64_t keysOf(const IValue& value);

/// The value of another type that argument `position` (from 0) has is made one of its type, or is an error.
SHUNT_COLD void mend(const SchemaRecord& definition, IValue& v, size_t position);
[[noreturn]] SHUNT_COLD void throwMissing(const OperatorHandle& op, size_t needed, size_t got);

/// Checks the operator's arguments at the top of the stack against the schema, after giving sized lists their size.
/// Returns the keys of all together, unless they aren't asked for; throws when one is missing or of another type.
template <bool kWithKeys = true>
uint64_t prepare(const OperatorHandle& op, Stack& stack) {
  const SchemaRecord& definition = definitionOf(op);
  const size_t n = definition.argument_tags.size();
  if (stack.size() < n) [[unlikely]]
    throwMissing(op, n, stack.size());
  // Before a backend is chosen, so that the message is about the argument and not about a missing kernel.
  uint64_t keys = 0;
  IValue* v = stack.data() + (stack.size() - n);
  for (const TagSet& takes : definition.argument_tags) {
    if (!takes.has(v->tag())) [[unlikely]]
      mend(definition, *v, static_cast<size_t>(&takes - definition.argument_tags.data()));
    if constexpr (kWithKeys) {
      if (v->isTensor())
        keys |= detail::keysOf(v->toTensor());
      else if (v->tag() >= IValue::Tag::Generator)
        keys |= keysOf(*v);
    }
    ++v;
  }
  return keys;
}

/// What detail::signatureOf gives for the same arguments unboxed. The stack holds them and nothing else.
uint64_t signatureOf(const FunctionSchema& schema, const Stack& stack);

}  // namespace shunt::boxed
