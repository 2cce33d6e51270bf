// What a handler of the user's own (a DispatchMode's, a TensorSubclass's) has left in the place of the arguments.
#pragma once

#include "src/dispatch/operator_entry.h"

namespace shunt {

/// Made before the handler runs, with the arguments at the top of the stack.
class HandlerReturns {
 public:
  HandlerReturns(const OperatorHandle& op, const Stack& stack)
      : op_(op), definition_(definitionOf(op)), below_(stack.size() - definition_.argument_tags.size()) {}
  /// Throws unless the arguments are replaced by as many values as the operator returns, each of its type; a Tensor may
  /// be None. `handler`: a DispatchMode or a TensorSubclass, which the message names.
  template <class Handler>
  void check(const Stack& stack, const Handler& handler) const {
    if (!areRight(stack)) [[unlikely]]
      throwNaming(handler, stack);
  }
  /// How many values lie under the arguments.
  size_t below() const { return below_; }

 private:
  bool areRight(const Stack& stack) const {
    const size_t n = definition_.return_tags.size();
    if (stack.size() != below_ + n && !areMore(stack)) return false;
    for (size_t i = 0; i < n; ++i)
      if (!definition_.return_tags[i].has(stack[below_ + i].tag())) return false;
    return true;
  }
  SHUNT_COLD bool areMore(const Stack& stack) const;
  template <class Handler>
  [[noreturn]] SHUNT_COLD void throwNaming(const Handler& handler, const Stack& stack) const {
    throwWrong(stack, handler.name());
  }
  [[noreturn]] void throwWrong(const Stack& stack, const std::string& handler) const;

  const OperatorHandle& op_;
  const SchemaRecord& definition_;
  size_t below_;  // values under the arguments, which are another call's
};

}  // namespace shunt
