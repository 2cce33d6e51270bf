#include "src/dispatch/default_value.h"

namespace shunt {
namespace {

IValue valueFrom(const DefaultValue& value, const Type& type);

IValue elementsFrom(const DefaultValue& value, const Type& type) {
  const Type element = type.elementType();
  std::vector<IValue> out;
  for (const DefaultValue& v : value.toList()) out.push_back(valueFrom(v, element));
  return out;
}

IValue listFrom(const DefaultValue& value, const Type& type) {
  if (type.element_optional && type.kind != TypeKind::Tensor) return elementsFrom(value, type);
  switch (type.kind) {
    case TypeKind::Float:
      return value.toDoubleVector();
    case TypeKind::Bool: {
      const std::vector<bool> bools = value.toBoolVector();
      return std::vector<char>(bools.begin(), bools.end());
    }
    case TypeKind::Tensor:
      return std::vector<Tensor>();
    case TypeKind::Scalar:
    case TypeKind::String:
    case TypeKind::Dict:
    case TypeKind::Tuple:
    case TypeKind::List:
      return elementsFrom(value, type);
    default:
      return value.toIntVector();
  }
}

IValue valueFrom(const DefaultValue& value, const Type& type) {
  if (value.isNone()) return {};
  if (type.list) return listFrom(value, type);
  if (type.kind == TypeKind::Device) return Device(value.toStringRef());
  if (value.isBool()) return value.toBool();
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  return value.toInt();
}

}  // namespace

IValue defaultValueOf(const Argument& argument) { return valueFrom(*argument.default_value, argument.type); }

}  // namespace shunt
