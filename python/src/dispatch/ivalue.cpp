#include "python/src/dispatch/ivalue.h"

#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/call/results.h"
#include "python/src/types/constants.h"
#include "python/src/types/device.h"
#include "python/src/types/generator.h"

#include <shunt/core/dict.h>

namespace shunt::python {

namespace {

using Tag = IValue::Tag;

/// The number of a wrapped one, read without calling an operator: modes must not see it.
PyObject* numberOf(const Tensor& t) {
  const std::byte* data = t.unsafeGetTensorImpl()->data();
  switch (t.scalar_type()) {
    case kBool:
      return PyBool_FromLong(*reinterpret_cast<const bool*>(data));
    case kLong:
      return PyLong_FromLongLong(*reinterpret_cast<const int64_t*>(data));
    case kDouble:
      return PyFloat_FromDouble(*reinterpret_cast<const double*>(data));
    default:
      return nullptr;
  }
}

PyObject* tensorObject(const Tensor& t) {
  if (t.defined() && t.unsafeGetTensorImpl()->is_wrapped_number() && t.device().type() == kCPU) [[unlikely]]
    if (PyObject* number = numberOf(t)) return number;
  return wrap(t);
}

template <class List, class F>
PyObject* listObject(const List& list, F&& one) {
  Ref out = owned(PyList_New(static_cast<Py_ssize_t>(list.size())));
  Py_ssize_t i = 0;
  for (const auto& v : list) PyList_SET_ITEM(out.get(), i++, check(one(v)));
  return out.release();
}

PyObject* enumeration(int64_t value, TypeKind kind) {
  switch (kind) {
    case TypeKind::ScalarType:
      return Py_NewRef(dtypeObject(static_cast<ScalarType>(value)));
    case TypeKind::Layout:
      return Py_NewRef(layoutObject(static_cast<Layout>(value)));
    case TypeKind::MemoryFormat:
      return Py_NewRef(memoryFormatObject(static_cast<MemoryFormat>(value)));
    default:
      return PyLong_FromLongLong(value);
  }
}

PyObject* dictObject(const IValue& value, const Type& type) {
  Ref out = owned(PyDict_New());
  for (const auto& [k, v] : value.toGenericDict().items()) {
    const Ref key = owned(toObject(k, type.elements[0])), item = owned(toObject(v, type.elements[1]));
    checkStatus(PyDict_SetItem(out.get(), key.get(), item.get()));
  }
  return out.release();
}

PyObject* tupleObject(const IValue& value, const Type& type) {
  const ArrayRef<IValue> parts = value.toTupleElements();
  Ref out = owned(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
  for (size_t i = 0; i < parts.size(); ++i)
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), check(toObject(parts[i], type.elements[i])));
  return out.release();
}

[[noreturn]] SHUNT_COLD void raiseType(PyObject* o, const std::string& type, What what) {
  raise(PyExc_TypeError, what() + ": expected " + type + ", got " + typeNameOf(o));
}

bool isNumber(PyObject* o) { return PyFloat_Check(o) || PyLong_Check(o); }

int64_t intFrom(PyObject* o, const Type& type, What what) {
  if (PyBool_Check(o) || !PyIndex_Check(o)) raiseType(o, type.str(), what);
  const Ref number = owned(PyNumber_Index(o));
  return toInt(Parameter{}, number.get());
}

double floatFrom(PyObject* o, const Type& type, What what) {
  const PyNumberMethods* n = Py_TYPE(o)->tp_as_number;
  if (n == nullptr || (n->nb_float == nullptr && n->nb_index == nullptr)) raiseType(o, type.str(), what);
  return toDouble(Parameter{}, o);
}

bool isSequence(PyObject* o) { return PyTuple_Check(o) || PyList_Check(o); }

template <class T, class F>
std::vector<T> listFrom(PyObject* o, F&& one) {
  // A copy: converting an element may run a program's code, which may change the list.
  const Ref steady = owned(PySequence_Tuple(o));
  std::vector<T> out;
  const Py_ssize_t n = PyTuple_GET_SIZE(steady.get());
  out.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) out.push_back(one(PyTuple_GET_ITEM(steady.get(), i)));
  return out;
}

Tensor tensorFrom(PyObject* o, const Type& type, What what) {
  if (isTensor(o)) return tensorOf(o);
  if (isNumber(o)) return wrapNumber(o);
  raiseType(o, type.str(), what);
}

IValue listValue(PyObject* o, const Type& type, What what) {
  if (!isSequence(o)) {
    // int[2] takes one int as well.
    if (!type.fixed_size || !isNumber(o)) raiseType(o, type.str(), what);
    const auto n = static_cast<size_t>(*type.fixed_size);
    if (type.kind == TypeKind::Int) return std::vector<int64_t>(n, intFrom(o, type, what));
    if (type.kind == TypeKind::Float) return std::vector<double>(n, floatFrom(o, type, what));
    return std::vector<char>(n, toBool(o) ? 1 : 0);
  }
  const Type element = type.elementType();
  if (type.element_optional && type.kind != TypeKind::Tensor)
    return listFrom<IValue>(o, [&](PyObject* e) { return toValue(e, element, what); });
  switch (type.kind) {
    case TypeKind::Tensor:
      if (type.element_optional)
        return listFrom<std::optional<Tensor>>(o, [&](PyObject* e) {
          return e == Py_None ? std::nullopt : std::optional<Tensor>(tensorFrom(e, element, what));
        });
      return listFrom<Tensor>(o, [&](PyObject* e) { return e == Py_None ? Tensor() : tensorFrom(e, element, what); });
    case TypeKind::Int:
      return listFrom<int64_t>(o, [&](PyObject* e) { return intFrom(e, element, what); });
    case TypeKind::Float:
      return listFrom<double>(o, [&](PyObject* e) { return floatFrom(e, element, what); });
    case TypeKind::Bool:
      return listFrom<char>(o, [&](PyObject* e) { return toBool(e) ? char{1} : char{0}; });
    case TypeKind::ScalarType:
    case TypeKind::Layout:
    case TypeKind::MemoryFormat:
      return listFrom<int64_t>(o, [&](PyObject* e) { return toValue(e, element, what).toInt(); });
    default:
      return listFrom<IValue>(o, [&](PyObject* e) { return toValue(e, element, what); });
  }
}

IValue dictValue(PyObject* o, const Type& type, What what) {
  if (!PyDict_Check(o)) raiseType(o, type.str(), what);
  Dict<IValue, IValue> out;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value) != 0;)
    out.insert(toValue(key, type.elements[0], what), toValue(value, type.elements[1], what));
  return IValue(out);
}

IValue tupleValue(PyObject* o, const Type& type, What what) {
  if (!isSequence(o) || static_cast<size_t>(PySequence_Fast_GET_SIZE(o)) != type.elements.size())
    raiseType(o, type.str(), what);
  const Ref steady = owned(PySequence_Tuple(o));
  std::vector<IValue> parts;
  for (size_t i = 0; i < type.elements.size(); ++i)
    parts.push_back(toValue(PyTuple_GET_ITEM(steady.get(), static_cast<Py_ssize_t>(i)), type.elements[i], what));
  return IValue(make_intrusive<shunt::detail::Boxed<std::vector<IValue>>>(std::move(parts)));
}

IValue defaultElement(const DefaultValue& value, const Type& type) {
  if (value.isNone()) return {};
  if (type.list) {
    if (type.kind == TypeKind::Tensor) return std::vector<Tensor>();
    if (type.kind == TypeKind::Int) return value.toIntVector();
    if (type.kind == TypeKind::Float) return value.toDoubleVector();
    if (type.kind == TypeKind::Bool) {
      const std::vector<bool> bools = value.toBoolVector();
      return std::vector<char>(bools.begin(), bools.end());
    }
    std::vector<IValue> out;
    for (const DefaultValue& v : value.toList()) out.push_back(defaultElement(v, type.elementType()));
    return out;
  }
  if (type.kind == TypeKind::Device) return Device(value.toStringRef());
  if (value.isBool()) return value.toBool();
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  return value.toInt();
}

}  // namespace

PyObject* toObject(const IValue& v, const Type& type) {
  switch (v.tag()) {
    case Tag::None:
      Py_RETURN_NONE;
    case Tag::Tensor:
      return tensorObject(v.toTensor());
    case Tag::Double:
      return PyFloat_FromDouble(v.toDouble());
    case Tag::Int:
      return enumeration(v.toInt(), type.kind);
    case Tag::Bool:
      return PyBool_FromLong(v.toBool());
    case Tag::Device:
      return wrapDevice(v.toDevice());
    case Tag::Generator:
      return wrapGenerator(v.toGenerator());
    case Tag::String: {
      const std::string& text = v.toStringRef();
      return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
    }
    case Tag::IntList:
      return listObject(v.toIntVector(), [&](int64_t e) { return enumeration(e, type.kind); });
    case Tag::DoubleList:
      return listObject(v.toDoubleVector(), PyFloat_FromDouble);
    case Tag::BoolList:
      return listObject(v.toBoolVector(), [](char e) { return PyBool_FromLong(e); });
    case Tag::TensorList:
      return listObject(v.toTensorVector(), [](const Tensor& t) { return wrap(t); });
    case Tag::OptionalTensorList:
      return listObject(v.toOptionalTensorVector(),
                        [](const std::optional<Tensor>& t) { return t ? wrap(*t) : Py_NewRef(Py_None); });
    case Tag::GenericList: {
      const Type element = type.list ? type.elementType() : type;
      return listObject(v.toGenericVector(), [&](const IValue& e) { return toObject(e, element); });
    }
    case Tag::GenericDict:
      return dictObject(v, type);
    case Tag::Tuple:
      return tupleObject(v, type);
    default:
      raise(PyExc_NotImplementedError, std::string("a value of type ") + v.tagName() + " has no form in Python");
  }
}

IValue toValue(PyObject* o, const Type& type, What what) {
  if (o == Py_None) {
    if (type.optional) return {};
    if (type.kind == TypeKind::Tensor && !type.list) return Tensor();
    raiseType(o, type.str(), what);
  }
  if (type.list) return listValue(o, type, what);
  switch (type.kind) {
    case TypeKind::Tensor:
      return tensorFrom(o, type, what);
    case TypeKind::Scalar:
      if (!isNumber(o) && !isTensor(o) && Py_TYPE(o)->tp_as_number == nullptr) raiseType(o, type.str(), what);
      return toScalar(o);
    case TypeKind::Int:
      return intFrom(o, type, what);
    case TypeKind::Float:
      return floatFrom(o, type, what);
    case TypeKind::Bool:
      if (!PyBool_Check(o) && !isTensor(o)) raiseType(o, type.str(), what);
      return toBool(o);
    case TypeKind::String:
      if (!PyUnicode_Check(o)) raiseType(o, type.str(), what);
      return utf8(o);
    case TypeKind::ScalarType:
      if (!isDType(o)) raiseType(o, "shunt.dtype", what);
      return constantValue(o);
    case TypeKind::Layout:
      if (!isLayout(o)) raiseType(o, "shunt.layout", what);
      return constantValue(o);
    case TypeKind::MemoryFormat:
      if (!isMemoryFormat(o)) raiseType(o, "shunt.memory_format", what);
      return constantValue(o);
    case TypeKind::Device:
      if (!isDevice(o) && !PyUnicode_Check(o) && !PyLong_Check(o)) raiseType(o, "shunt.device", what);
      return toDevice(o);
    case TypeKind::Generator:
      if (!isGenerator(o)) raiseType(o, "shunt.Generator", what);
      return generatorOf(o);
    case TypeKind::Dict:
      return dictValue(o, type, what);
    case TypeKind::Tuple:
      return tupleValue(o, type, what);
    default:
      raiseType(o, type.str(), what);
  }
}

IValue defaultOf(const Argument& argument) { return defaultElement(*argument.default_value, argument.type); }

bool isSameValue(const IValue& a, const IValue& b) {
  if (a.isScalar() && b.isScalar()) {
    if (a.isBool() != b.isBool()) return false;
    return a.isDouble() || b.isDouble() ? a.toDouble() == b.toDouble() : a.is(b);
  }
  if (a.tag() != b.tag()) return false;
  switch (a.tag()) {
    case Tag::None:
      return true;
    case Tag::String:
      return a.toStringRef() == b.toStringRef();
    case Tag::Device:
      return a.toDevice() == b.toDevice();
    case Tag::IntList:
      return a.toIntVector() == b.toIntVector();
    case Tag::DoubleList:
      return a.toDoubleVector() == b.toDoubleVector();
    case Tag::BoolList:
      return a.toBoolVector() == b.toBoolVector();
    default:
      return false;
  }
}

}  // namespace shunt::python
