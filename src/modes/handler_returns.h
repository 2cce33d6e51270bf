// What a handler of the user's own (a DispatchMode's, a TensorSubclass's) has left in the place of the arguments.
#pragma once

#include <shunt/core/op_state.h>

namespace shunt {

/// Made before the handler runs, with the arguments at the top of the stack.
class HandlerReturns {
 public:
  HandlerReturns(const OperatorHandle& op, const Stack& stack);
  /// Throws unless the arguments are replaced by as many values as the operator returns, each of its type; a Tensor may be None.
  /// `handler`: a DispatchMode or a TensorSubclass, which the message names.
  template <class Handler>
  void check(const Stack& stack, const Handler& handler) const {
    if (!areRight(stack)) [[unlikely]] throwWrong(stack, handler.name());
  }

 private:
  bool areRight(const Stack& stack) const;
  [[noreturn]] SHUNT_COLD void throwWrong(const Stack& stack, const std::string& handler) const;

  const OperatorHandle& op_;
  const FunctionSchema& schema_;
  size_t below_;  // values under the arguments, which are another call's
};

}  // namespace shunt
