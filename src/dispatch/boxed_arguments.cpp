#include "src/dispatch/boxed_arguments.h"

#include <shunt/core/error.h>

namespace shunt::boxed {
namespace {

// A sized list takes one value and repeats it; a bare int is a one-element list elsewhere.
void normalize(const Type& type, IValue& v) {
  const auto repeat = static_cast<size_t>(type.fixed_size.value_or(1));
  if (repeat == 0 || type.element_optional) return;
  if (type.kind == TypeKind::Int && v.isInt())
    v = IValue(std::vector<int64_t>(repeat, v.toInt()));
  else if (type.kind == TypeKind::Float && v.isDouble())
    v = IValue(std::vector<double>(repeat, v.toDouble()));
}

}  // namespace

void mend(const SchemaRecord& definition, IValue& v, size_t position) {
  const Argument& arg = definition.schema.arguments()[position];
  if (arg.type.list) normalize(arg.type, v);
  const std::optional<std::string> what = misfit(arg.type, v);
  SHUNT_CHECK(!what, "operator ", definition.schema.operator_name(), ": boxed argument '", arg.name, "' (position ",
              position + 1, "): expected ", *what);
}

void throwMissing(const OperatorHandle& op, size_t needed, size_t got) {
  SHUNT_CHECK(false, "operator ", op.operator_name(), ": a boxed call needs ", needed, " arguments on the stack, got ",
              got);
}

uint64_t keysOf(const IValue& v) {
  switch (v.tag()) {
    case IValue::Tag::Tensor:
      return detail::keysOf(v.toTensor());
    case IValue::Tag::TensorList:
      return detail::keysOf(TensorList(v.toTensorVector()));
    case IValue::Tag::OptionalTensorList:
      return detail::keysOf(TensorOptList(v.toOptionalTensorVector()));
    case IValue::Tag::Generator:
      return detail::keysOf(v.toGenerator());
    default:
      return 0;
  }
}

uint64_t signatureOf(const FunctionSchema& schema, const Stack& stack) {
  uint64_t signature = 0;
  int position = 0;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const Type& type = schema.arguments()[i].type;
    if (type.kind != TypeKind::Tensor || type.list) continue;
    const IValue& v = stack[i];
    detail::addSignature(v.isNone() ? Tensor() : v.toTensor(), signature, position);
  }
  return signature;
}

}  // namespace shunt::boxed
