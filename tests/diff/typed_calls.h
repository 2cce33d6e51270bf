// The dictionary's operators by their typed entries, ops::X::call: what looks thunks up. Boxed calls are always
// interpreted.
#pragma once

#include <shunt/core/ivalue.h>
#include <shunt/core/op_state.h>

#include <string_view>

namespace diff {

struct TypedCall {
  const shunt::Operator* op = nullptr;  // null: not of the dictionary
  /// Arguments on the stack, complete and in the schema's order, are replaced by the returns.
  void (*run)(shunt::Stack*) = nullptr;
};
TypedCall typedCall(std::string_view name, std::string_view overload);

/// What a call with these arguments is looked up by.
struct PairKey {
  uint64_t keys = 0, signature = 0;
  auto operator<=>(const PairKey&) const = default;
};
/// In the thread's present modes.
PairKey pairOf(const shunt::Operator& op, const shunt::FunctionSchema& schema, const shunt::Stack& arguments);

/// The code that is published for the pair; null: it is interpreted.
const void* thunkOf(const shunt::Operator& op, PairKey pair);

}  // namespace diff
