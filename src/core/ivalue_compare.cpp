// Equality, identity and hashes of IValues, and the values inside them.
#include <shunt/core/dict.h>

namespace shunt {
namespace {

bool equalElements(ArrayRef<IValue> a, ArrayRef<IValue> b) { return a.equals(b); }

template <class T>
bool equalTensors(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return IValue(x) == IValue(y); });
}

bool equalOfOneTag(const IValue& a, const IValue& b) {
  using Tag = IValue::Tag;
  switch (a.tag()) {
    case Tag::None:
      return true;
    case Tag::Double:
      return a.toDouble() == b.toDouble();
    case Tag::Int:
      return a.toInt() == b.toInt();
    case Tag::Bool:
      return a.toBool() == b.toBool();
    case Tag::Device:
      return a.toDevice() == b.toDevice();
    case Tag::String:
      return a.toStringRef() == b.toStringRef();
    case Tag::IntList:
      return a.toIntVector() == b.toIntVector();
    case Tag::DoubleList:
      return a.toDoubleVector() == b.toDoubleVector();
    case Tag::BoolList:
      return a.toBoolVector() == b.toBoolVector();
    case Tag::TensorList:
      return equalTensors(a.toTensorVector(), b.toTensorVector());
    case Tag::OptionalTensorList:
      return equalTensors(a.toOptionalTensorVector(), b.toOptionalTensorVector());
    case Tag::GenericList:
      return equalElements(a.toListRef(), b.toListRef());
    case Tag::GenericDict:
      return a.toGenericDict() == b.toGenericDict();
    case Tag::Tuple:
      return equalElements(a.toTupleElements(), b.toTupleElements());
    case Tag::Tensor:
    case Tag::Generator:
    case Tag::Storage:
      break;
  }
  return a.is(b);
}

size_t combined(size_t a, size_t b) { return a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2)); }

}  // namespace

bool operator==(const IValue& a, const IValue& b) {
  const IValue equal = a.equals(b);
  return equal.isTensor() ? equal.toTensor().item<bool>() : equal.toBool();
}

IValue IValue::equals(const IValue& other) const {
  if (tag_ != other.tag_) return false;
  if (!isTensor()) return equalOfOneTag(*this, other);
  const shunt::Tensor &a = toTensor(), &b = other.toTensor();
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.eq(b);
}

const void* IValue::internalToPointer() const {
  SHUNT_CHECK(isTensor() || holdsObject(), "IValue::internalToPointer: expected a value that is shared, got ",
              tagName());
  return isTensor() ? static_cast<const void*>(payload_.tensor.unsafeGetTensorImpl()) : payload_.object.get();
}

bool IValue::isPtrType() const { return (isTensor() || holdsObject()) && internalToPointer() != nullptr; }

bool IValue::is(const IValue& other) const {
  const auto isUndefined = [](const IValue& v) { return v.isNone() || (v.isTensor() && !v.toTensor().defined()); };
  if (isUndefined(*this) || isUndefined(other)) return isUndefined(*this) && isUndefined(other);
  if (tag_ != other.tag_) return false;
  return isTensor() || holdsObject() ? internalToPointer() == other.internalToPointer() : *this == other;
}

bool IValue::isAliasOf(const IValue& other) const {
  if (tag_ != other.tag_ || !isPtrType() || !other.isPtrType()) return false;
  if (isTensor() && toTensor().unsafeGetTensorImpl()->has_storage()) return toTensor().is_alias_of(other.toTensor());
  return internalToPointer() == other.internalToPointer();
}

size_t IValue::use_count() const {
  if (isTensor()) return payload_.tensor.use_count();
  return isPtrType() ? payload_.object.use_count() : 1;
}

size_t IValue::hash() const {
  switch (tag_) {
    case Tag::None:
      return 0;
    case Tag::Double:
      return std::hash<double>()(toDouble());
    case Tag::Int:
      return std::hash<int64_t>()(toInt());
    case Tag::Bool:
      return std::hash<bool>()(toBool());
    case Tag::Device:
      return std::hash<std::string>()(toDevice().str());
    case Tag::String:
      return std::hash<std::string>()(toStringRef());
    case Tag::Tuple: {
      size_t all = 0;
      for (const IValue& part : toTupleElements()) all = combined(all, part.hash());
      return all;
    }
    case Tag::Tensor:
    case Tag::Generator:
    case Tag::Storage:
      return std::hash<const void*>()(internalToPointer());
    default:
      throw Error(detail::str("IValue::hash: expected a value that can't change, got a ", tagName()));
  }
}

void IValue::getSubValues(HashAliasedIValues& values) const {
  switch (tag_) {
    case Tag::Tensor:
      values.insert(*this);
      return;
    case Tag::TensorList:
    case Tag::OptionalTensorList:
    case Tag::GenericList:
    case Tag::Tuple:
    case Tag::GenericDict:
      break;
    default:
      return;
  }
  values.insert(*this);
  const auto add = [&](const IValue& v) { v.getSubValues(values); };
  if (isTensorList())
    for (const shunt::Tensor& t : toTensorVector()) add(t);
  else if (isOptionalTensorList())
    for (const auto& t : toOptionalTensorVector()) add(t);
  else if (isGenericDict())
    for (const auto& [key, value] : toGenericDict().items()) add(key), add(value);
  else
    for (const IValue& v : isTuple() ? toTupleElements() : toListRef()) add(v);
}

size_t IValue::HashOfIdentity::operator()(const IValue& v) const {
  return std::hash<const void*>()(v.internalToPointer());
}

}  // namespace shunt
