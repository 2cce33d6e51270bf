#include "src/modes/handler_returns.h"

#include <shunt/core/function_schema.h>

#include "src/dispatch/boxed_types.h"

namespace shunt {
namespace {

bool isReturn(const IValue& value, const Type& type) {
  if (value.isTensor()) return type.kind == TypeKind::Tensor && !type.list;  // nearly every return
  return boxed::holds(value, type) || (value.isNone() && type.isPlain(TypeKind::Tensor));
}

}  // namespace

HandlerReturns::HandlerReturns(const OperatorHandle& op, const Stack& stack)
    : op_(op), schema_(op.schema()), below_(stack.size() - schema_.arguments().size()) {}

bool HandlerReturns::areRight(const Stack& stack) const {
  const auto& returns = schema_.returns();
  if (stack.size() < below_ + returns.size() || (stack.size() > below_ + returns.size() && !schema_.is_varret())) return false;
  for (size_t i = 0; i < returns.size(); ++i)
    if (!isReturn(stack[below_ + i], returns[i].type)) return false;
  return true;
}

void HandlerReturns::throwWrong(const Stack& stack, const std::string& handler) const {
  const auto& returns = schema_.returns();
  const std::string who = detail::str("operator ", op_.operator_name(), ": the handler of ", handler);
  constexpr const char* kAdvice = ". It has to replace the arguments by the returns, as op.callBoxed(stack) does";
  SHUNT_CHECK(stack.size() >= below_, who, " took ", below_ - stack.size(), " values off the stack that are not arguments of this call",
              kAdvice);
  const size_t got = stack.size() - below_;
  SHUNT_CHECK(got == returns.size() || (got > returns.size() && schema_.is_varret()), who,
              " left another number of values than the operator has returns: expected ", returns.size(), ", got ", got,
              got == schema_.arguments().size() ? ", as many as there are arguments" : "", kAdvice);
  for (size_t i = 0; i < returns.size(); ++i)
    SHUNT_CHECK(isReturn(stack[below_ + i], returns[i].type), who, " left a value of another type as return ", i + 1, ": expected ",
                returns[i].type, ", got ", stack[below_ + i].tagName(), kAdvice);
  SHUNT_INTERNAL_ASSERT(false, who, ": its returns are right");
}

}  // namespace shunt
