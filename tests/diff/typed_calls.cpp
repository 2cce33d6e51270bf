#include "tests/diff/typed_calls.h"

#include <shunt/shunt.h>

#include <map>
#include <string>

namespace diff {
namespace {

template <class Op>
void callTyped(shunt::Stack* stack) {
  using Traits = shunt::boxing::FunctionTraits<decltype(&Op::call)>;
  using Adapter = shunt::boxing::BoxedFromUnboxed<typename Traits::Return, typename Traits::Args>;
  Adapter::template callStatic<&Op::call>(nullptr, shunt::OperatorHandle(Op::symbol), {}, stack);
}

std::map<std::string, TypedCall, std::less<>> makeTable() {
  std::map<std::string, TypedCall, std::less<>> table;
#define SHUNT_OPERATOR(X)                                                                                 \
  table[std::string(shunt::ops::X::name) + "." + shunt::ops::X::overload_name] = {&shunt::ops::X::symbol, \
                                                                                  &callTyped<shunt::ops::X>};
#include "generated/operator_list.inc"
#undef SHUNT_OPERATOR
  return table;
}

}  // namespace

TypedCall typedCall(std::string_view name, std::string_view overload) {
  static const auto table = makeTable();
  const auto it = table.find(std::string(name) + "." + std::string(overload));
  return it == table.end() ? TypedCall{} : it->second;
}

PairKey pairOf(const shunt::Operator& op, const shunt::FunctionSchema& schema, const shunt::Stack& arguments) {
  using shunt::detail::keysOf;
  uint64_t keys = 0;
  PairKey pair;
  int position = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const shunt::Argument& a = schema.arguments()[i];
    const shunt::IValue& v = arguments[i];
    if (a.type.kind == shunt::TypeKind::Tensor && !a.type.list) {
      const shunt::Tensor t = v.isNone() ? shunt::Tensor() : v.toTensor();
      keys |= keysOf(t);
      shunt::detail::addSignature(t, pair.signature, position);
    } else if (v.tag() == shunt::IValue::Tag::TensorList) {
      for (const shunt::Tensor& t : v.toTensorVector()) keys |= keysOf(t);
    } else if (v.isOptionalTensorList()) {
      keys |= keysOf(shunt::TensorOptList(v.toOptionalTensorVector()));
    } else if (v.tag() == shunt::IValue::Tag::Generator) {
      keys |= keysOf(v.toGenerator());
    }
  }
  pair.keys = shunt::detail::effectiveKeys(*op.state().load(std::memory_order_acquire), keys).raw();
  return pair;
}

const void* thunkOf(const shunt::Operator& op, PairKey pair) {
  const shunt::detail::HotTable* hot = op.state().load(std::memory_order_acquire)->hot();
  return hot == nullptr ? nullptr : hot->probe(pair.keys, pair.signature);
}

}  // namespace diff
