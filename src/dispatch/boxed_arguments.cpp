#include "src/dispatch/boxed_arguments.h"

#include <shunt/core/error.h>

#include "src/dispatch/boxed_types.h"

namespace shunt::boxed {
namespace {

// A sized list takes one value and repeats it; a bare int is a one-element list elsewhere.
void normalize(const Type& type, IValue& v) {
  const auto repeat = static_cast<size_t>(type.fixed_size.value_or(1));
  if (type.kind == TypeKind::Int && v.isInt()) v = IValue(std::vector<int64_t>(repeat, v.toInt()));
  else if (type.kind == TypeKind::Float && v.isDouble()) v = IValue(std::vector<double>(repeat, v.toDouble()));
}

}  // namespace

bool holds(const IValue& v, const Type& type) {
  if (v.isNone()) return type.optional;
  if (type.list) {
    switch (type.kind) {
      case TypeKind::Tensor: return type.element_optional ? v.isOptionalTensorList() : v.isTensorList();
      case TypeKind::Int: return v.isIntList();
      default: return !v.isTensor() && !v.isScalar() && !v.isString();
    }
  }
  switch (type.kind) {
    case TypeKind::Tensor: return v.isTensor();
    case TypeKind::Scalar: return v.isScalar();
    case TypeKind::Float: return v.isScalar();
    case TypeKind::Int: case TypeKind::ScalarType: case TypeKind::Layout: case TypeKind::MemoryFormat: return v.isInt() || v.isBool();
    case TypeKind::Bool: return v.isBool();
    case TypeKind::String: return v.isString();
    case TypeKind::Device: return v.isDevice();
    case TypeKind::Generator: return v.isGenerator();
    default: return true;
  }
}

size_t prepare(const OperatorHandle& op, Stack& stack) {
  const auto& args = op.schema().arguments();
  const size_t n = args.size();
  SHUNT_CHECK(stack.size() >= n, "operator ", op.operator_name(), ": a boxed call needs ", n, " arguments on the stack, got ",
              stack.size());
  // Before a backend is chosen, so that the message is about the argument and not about a missing kernel.
  IValue* const values = stack.data() + (stack.size() - n);
  for (size_t i = 0; i < n; ++i) {
    const Type& type = args[i].type;
    IValue& v = values[i];
    if (type.list) normalize(type, v);
    else if (v.isTensor() && type.kind == TypeKind::Tensor) continue;
    SHUNT_CHECK(holds(v, type), "operator ", op.operator_name(), ": boxed argument '", args[i].name, "' (position ", i + 1,
                "): expected ", type, ", got ", v.tagName());
  }
  return n;
}

uint64_t keysOf(const Stack& stack, size_t n) {
  uint64_t keys = 0;
  for (size_t i = stack.size() - n; i < stack.size(); ++i)
    keys |= stack[i].isTensor() ? detail::keysOf(stack[i].toTensor()) : keysOf(stack[i]);
  return keys;
}

uint64_t keysOf(const IValue& v) {
  switch (v.tag()) {
    case IValue::Tag::Tensor: return detail::keysOf(v.toTensor());
    case IValue::Tag::TensorList: return detail::keysOf(TensorList(v.toTensorVector()));
    case IValue::Tag::OptionalTensorList: return detail::keysOf(TensorOptList(v.toOptionalTensorVector()));
    case IValue::Tag::Generator: return detail::keysOf(v.toGenerator());
    default: return 0;
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
