#include <shunt/core/dict.h>

#include <array>

namespace shunt {
namespace {
constexpr std::array<const char*, 17> kTagNames = {"None",      "Tensor", "float", "int",     "bool",   "Device",
                                                   "Generator", "str",    "int[]", "float[]", "bool[]", "Tensor[]",
                                                   "Tensor?[]", "list",   "Dict",  "tuple",   "Storage"};
}

IValue::IValue(const Scalar& s) : tag_(Tag::None) {
  if (s.isFloatingPoint()) {
    tag_ = Tag::Double;
    payload_.d = s.toDouble();
  } else {
    tag_ = s.isBoolean() ? Tag::Bool : Tag::Int;
    payload_.i = s.toLong();
  }
}

Type IValue::type() const {
  // In the order of tags. None is of any optional type: Tensor's stands for all.
  constexpr std::array<TypeKind, 17> kKinds = {
      TypeKind::Tensor,    TypeKind::Tensor, TypeKind::Float, TypeKind::Int,   TypeKind::Bool,   TypeKind::Device,
      TypeKind::Generator, TypeKind::String, TypeKind::Int,   TypeKind::Float, TypeKind::Bool,   TypeKind::Tensor,
      TypeKind::Tensor,    TypeKind::List,   TypeKind::Dict,  TypeKind::Tuple, TypeKind::Storage};
  Type type;
  type.kind = kKinds[static_cast<size_t>(tag_)];
  type.optional = isNone();
  type.element_optional = isOptionalTensorList();
  type.list = isList() && tag_ != Tag::GenericList;
  return type;
}

const char* IValue::tagName() const { return kTagNames[static_cast<size_t>(tag_)]; }

void IValue::throwType(const char* wanted) const {
  throw Error(detail::str("boxed argument: expected ", wanted, ", got ", tagName()));
}

double IValue::toDouble() const {
  if (isDouble()) return payload_.d;
  if (isInt() || isBool()) return static_cast<double>(payload_.i);
  throwType("float");
}

int64_t IValue::toInt() const {
  if (isInt() || isBool()) return payload_.i;
  throwType("int");
}

Scalar IValue::toScalar() const {
  if (isDouble()) return payload_.d;
  if (isInt()) return payload_.i;
  if (isBool()) return payload_.i != 0;
  throwType("Scalar");
}

Storage IValue::toStorage() const {
  expect(Tag::Storage, "Storage");
  return intrusive_ptr<StorageImpl>::retainFrom(static_cast<StorageImpl*>(payload_.object.get()));
}

Generator IValue::toGenerator() const {
  expect(Tag::Generator, "Generator");
  return Generator(intrusive_ptr<GeneratorImpl>::retainFrom(static_cast<GeneratorImpl*>(payload_.object.get())));
}

namespace {
template <class List>
void printList(std::ostream& out, const List& list, const char* brackets = "[]") {
  out << brackets[0];
  const char* separator = "";
  for (const auto& e : list) {
    out << separator << IValue(e);
    separator = ", ";
  }
  out << brackets[1];
}
}  // namespace

std::ostream& operator<<(std::ostream& out, const IValue& v) {
  using Tag = IValue::Tag;
  switch (v.tag()) {
    case Tag::None:
      return out << "None";
    case Tag::Tensor: {
      const Tensor& t = v.toTensor();
      if (!t.defined()) return out << "Tensor(undefined)";
      return out << "Tensor(" << dtypeName(t.dtype()) << ", " << t.sizes() << ", " << t.device() << ')';
    }
    case Tag::Double:
    case Tag::Int:
      return out << v.toScalar();
    case Tag::Bool:
      return out << (v.toBool() ? "True" : "False");
    case Tag::Device:
      return out << v.toDevice();
    case Tag::Generator:
      return out << "Generator(" << v.toGenerator().device() << ')';
    case Tag::String:
      return out << '"' << v.toStringRef() << '"';
    case Tag::IntList:
      printList(out, v.toIntVector());
      return out;
    case Tag::DoubleList:
      printList(out, v.toDoubleVector());
      return out;
    case Tag::BoolList: {
      std::vector<IValue> bools;
      for (char b : v.toBoolVector()) bools.emplace_back(b != 0);
      printList(out, bools);
      return out;
    }
    case Tag::TensorList:
      printList(out, v.toTensorVector());
      return out;
    case Tag::OptionalTensorList:
      printList(out, v.toOptionalTensorVector());
      return out;
    case Tag::GenericList:
      printList(out, v.toGenericVector());
      return out;
    case Tag::GenericDict: {
      const char* separator = "{";
      for (const auto& [key, value] : v.toGenericDict().items()) {
        out << separator << key << ": " << value;
        separator = ", ";
      }
      return out << (*separator == '{' ? "{}" : "}");
    }
    case Tag::Tuple:
      if (v.toTupleElements().size() == 1) return out << '(' << v.toTupleElements()[0] << ",)";
      printList(out, v.toTupleElements(), "()");
      return out;
    case Tag::Storage: {
      const Storage storage = v.toStorage();
      return out << "Storage(" << (storage ? detail::str(storage.nbytes(), " bytes") : "undefined") << ')';
    }
  }
  return out;
}

}  // namespace shunt
