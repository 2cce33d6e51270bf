#include "src/interpose/handler_returns.h"

#include <shunt/core/function_schema.h>

namespace shunt {

bool HandlerReturns::areMore(const Stack& stack) const {
  return stack.size() > below_ + definition_.return_tags.size() && definition_.schema.is_varret();
}

void HandlerReturns::throwWrong(const Stack& stack, const std::string& handler) const {
  const FunctionSchema& schema = definition_.schema;
  const auto& returns = schema.returns();
  const std::string who = detail::str("operator ", op_.operator_name(), ": the handler of ", handler);
  constexpr const char* kAdvice = ". It has to replace the arguments by the returns, as op.callBoxed(stack) does";
  SHUNT_CHECK(stack.size() >= below_, who, " took ", below_ - stack.size(),
              " values off the stack that are not arguments of this call", kAdvice);
  const size_t got = stack.size() - below_;
  SHUNT_CHECK(got == returns.size() || (got > returns.size() && schema.is_varret()), who,
              " left another number of values than the operator has returns: expected ", returns.size(), ", got ", got,
              got == schema.arguments().size() ? ", as many as there are arguments" : "", kAdvice);
  for (size_t i = 0; i < returns.size(); ++i)
    SHUNT_CHECK(definition_.return_tags[i].has(stack[below_ + i].tag()), who,
                " left a value of another type as return ", i + 1, ": expected ", returns[i].type, ", got ",
                stack[below_ + i].tagName(), kAdvice);
  SHUNT_INTERNAL_ASSERT(false, who, ": its returns are right");
}

}  // namespace shunt
