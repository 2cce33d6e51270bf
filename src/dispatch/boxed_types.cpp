#include "src/dispatch/boxed_types.h"

namespace shunt::boxed {
namespace {

using enum IValue::Tag;

constexpr IValue::Tag kTags[] = {None,
                                 Tensor,
                                 Double,
                                 Int,
                                 Bool,
                                 Device,
                                 Generator,
                                 String,
                                 IntList,
                                 DoubleList,
                                 BoolList,
                                 TensorList,
                                 OptionalTensorList,
                                 GenericList};

bool takes(const Type& type, IValue::Tag tag) {
  const bool is_number = tag == Double || tag == Int || tag == Bool;
  if (tag == None) return type.optional;
  if (type.list) {
    switch (type.kind) {
      case TypeKind::Tensor:
        return tag == (type.element_optional ? OptionalTensorList : TensorList);
      case TypeKind::Int:
        return tag == IntList;
      default:
        return !is_number && tag != Tensor && tag != String;
    }
  }
  switch (type.kind) {
    case TypeKind::Tensor:
      return tag == Tensor;
    case TypeKind::Scalar:
    case TypeKind::Float:
      return is_number;
    case TypeKind::Int:
    case TypeKind::ScalarType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
      return tag == Int || tag == Bool;
    case TypeKind::Bool:
      return tag == Bool;
    case TypeKind::String:
      return tag == String;
    case TypeKind::Device:
      return tag == Device;
    case TypeKind::Generator:
      return tag == Generator;
    default:
      return true;
  }
}

}  // namespace

TagSet tagsOfArgument(const Type& type) {
  TagSet out;
  for (const IValue::Tag tag : kTags)
    if (takes(type, tag)) out.add(tag);
  return out;
}

TagSet tagsOfReturn(const Type& type) {
  const bool is_tensor = type.kind == TypeKind::Tensor && !type.list;
  TagSet out;
  for (const IValue::Tag tag : kTags)
    if (tag == Tensor ? is_tensor : takes(type, tag)) out.add(tag);
  if (type.isPlain(TypeKind::Tensor)) out.add(None);
  return out;
}

}  // namespace shunt::boxed
