#include "src/dispatch/boxed_types.h"

#include <shunt/core/dict.h>

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
                                 GenericList,
                                 GenericDict,
                                 Tuple,
                                 Storage};

bool takes(const Type& type, IValue::Tag tag) {
  const bool is_number = tag == Double || tag == Int || tag == Bool;
  if (tag == None) return type.optional;
  if (type.list) {
    switch (type.kind) {
      case TypeKind::Tensor:
        return tag == (type.element_optional ? OptionalTensorList : TensorList);
      case TypeKind::Int:
        return tag == (type.element_optional ? GenericList : IntList);
      case TypeKind::String:
      case TypeKind::Dict:
      case TypeKind::Tuple:
      case TypeKind::List:
        return tag == GenericList;
      default:
        return !is_number && tag != Tensor && tag != String && tag != GenericDict && tag != Tuple && tag != Storage;
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
    case TypeKind::Dict:
      return tag == GenericDict;
    case TypeKind::Tuple:
      return tag == Tuple;
    case TypeKind::Storage:
      return tag == Storage;
    default:
      return true;
  }
}

// Whether a value may have the right tag and yet hold elements of other types.
bool needsElements(const Type& type) { return !type.elements.empty() || (type.list && type.kind == TypeKind::String); }

std::optional<std::string> misfitOfParts(const Type& type, ArrayRef<IValue> parts) {
  if (parts.size() != type.elements.size()) return detail::str(type, ", got a tuple of ", parts.size());
  for (size_t i = 0; i < parts.size(); ++i)
    if (const auto inner = misfit(type.elements[i], parts[i])) return detail::str(*inner, " as part ", i, " of ", type);
  return std::nullopt;
}

std::optional<std::string> misfitOfEntries(const Type& type, const IValue& v) {
  for (const auto& [key, value] : v.toGenericDict().items()) {
    if (const auto inner = misfit(type.elements[0], key)) return detail::str(*inner, " as key of ", type);
    if (const auto inner = misfit(type.elements[1], value))
      return detail::str(*inner, " as value of key ", key, " of ", type);
  }
  return std::nullopt;
}

}  // namespace

TagSet tagsOfArgument(const Type& type) {
  TagSet out;
  for (const IValue::Tag tag : kTags)
    if (takes(type, tag)) out.add(tag);
  return out;
}

TagSet sureTagsOfArgument(const Type& type) {
  TagSet out;
  for (const IValue::Tag tag : kTags)
    if (takes(type, tag) && (tag == None || !needsElements(type))) out.add(tag);
  return out;
}

std::optional<std::string> misfit(const Type& type, const IValue& v) {
  if (!takes(type, v.tag())) return detail::str(type, ", got ", v.tagName());
  if (v.isNone() || !needsElements(type)) return std::nullopt;
  if (!type.list)
    return type.kind == TypeKind::Dict ? misfitOfEntries(type, v) : misfitOfParts(type, v.toTupleElements());
  const Type element = type.elementType();
  const ArrayRef<IValue> values = v.toListRef();
  for (size_t i = 0; i < values.size(); ++i)
    if (const auto inner = misfit(element, values[i])) return detail::str(*inner, " as element ", i, " of ", type);
  return std::nullopt;
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
