#include "python/src/call/signature.h"

#include "python/src/base/errors.h"

#include <algorithm>
#include <array>

namespace shunt::python {

namespace {

struct KindOfType {
  TypeKind type;
  bool list;
  Kind kind;
  const char* name;
};
constexpr KindOfType kKinds[] = {
    {TypeKind::Tensor, false, Kind::kTensor, "Tensor"},
    {TypeKind::Scalar, false, Kind::kScalar, "Number"},
    {TypeKind::Int, false, Kind::kInt, "int"},
    {TypeKind::Float, false, Kind::kFloat, "float"},
    {TypeKind::Bool, false, Kind::kBool, "bool"},
    {TypeKind::String, false, Kind::kString, "str"},
    {TypeKind::ScalarType, false, Kind::kDType, "shunt.dtype"},
    {TypeKind::Layout, false, Kind::kLayout, "shunt.layout"},
    {TypeKind::Device, false, Kind::kDevice, "shunt.device"},
    {TypeKind::MemoryFormat, false, Kind::kMemoryFormat, "shunt.memory_format"},
    {TypeKind::Generator, false, Kind::kGenerator, "shunt.Generator"},
    {TypeKind::Tensor, true, Kind::kTensorList, "tuple of Tensors"},
    {TypeKind::Int, true, Kind::kIntList, "tuple of ints"},
    {TypeKind::Float, true, Kind::kFloatList, "tuple of floats"},
    {TypeKind::Bool, true, Kind::kBoolList, "tuple of bools"},
    {TypeKind::Scalar, true, Kind::kScalarList, "tuple of Numbers"},
};

PyObject* interned(std::string_view text) {
  const std::string copy(text);
  return check(PyUnicode_InternFromString(copy.c_str()));
}

Default defaultOf(const Argument& argument) {
  Default d;
  const DefaultValue& value = *argument.default_value;
  if (value.isNone()) return d;
  d.is_none = false;
  switch (argument.type.list ? TypeKind::List : argument.type.kind) {
    case TypeKind::Float:
      d.floating = value.toDouble();
      break;
    case TypeKind::Scalar:
      d.scalar = value.isBool()  ? Scalar(value.toBool())
                 : value.isInt() ? Scalar(value.toInt())
                                 : Scalar(value.toDouble());
      break;
    case TypeKind::Bool:
      d.integer = value.toBool();
      break;
    case TypeKind::String:
    case TypeKind::Device:
      d.text = value.toStringRef();
      break;
    case TypeKind::List:
      if (argument.type.kind == TypeKind::Int) d.integers = value.toIntVector();
      break;
    default:
      d.integer = value.toInt();
  }
  return d;
}

Parameter makeParameter(const Argument& a, bool is_method) {
  Parameter p;
  p.schema_name = a.name;
  // PyTorch's functions call the first tensor `input`.
  p.name = interned(a.name == "self" && !is_method ? std::string_view("input") : std::string_view(a.name));
  p.optional = a.type.optional;
  p.element_optional = a.type.element_optional;
  p.keyword_only = a.kwarg_only;
  p.is_out = a.is_out();
  if (a.type.list) p.fixed_size = a.type.fixed_size.value_or(0);
  for (const KindOfType& k : kKinds)
    if (k.type == a.type.kind && k.list == a.type.list) p.kind = k.kind;
  if (a.default_value) {
    p.required = false;
    p.value = defaultOf(a);
  }
  return p;
}

std::string defaultText(const Parameter& p) {
  const Default& d = p.value;
  if (d.is_none) return "None";
  switch (p.kind) {
    case Kind::kFloat:
      return detail::str(d.floating);
    case Kind::kScalar:
      return d.scalar.isFloatingPoint() ? detail::str(d.scalar.toDouble()) : detail::str(d.scalar.toLong());
    case Kind::kBool:
      return d.integer != 0 ? "True" : "False";
    case Kind::kString:
      return "\"" + d.text + "\"";
    case Kind::kIntList:
      return d.integers.empty() ? "()" : detail::str(IntArrayRef(d.integers));
    case Kind::kDType:
      return detail::str("shunt.", dtypeName(static_cast<ScalarType>(d.integer)));
    default:
      return detail::str(d.integer);
  }
}

}  // namespace

Signature::Signature(const FunctionSchema& schema, const char* function, bool method, uint32_t optional)
    : is_method(method) {
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    Parameter p = makeParameter(arguments[i], method);
    p.function = function;
    if ((optional >> i & 1U) != 0) p.required = false;
    const bool is_self = method && arguments[i].name == "self";
    if (is_self) self_index = i;
    if (p.is_out) {
      if (num_outputs++ == 0) first_output = i;
      if (num_outputs == 1) p.name = interned("out");
    }
    if (!p.keyword_only && !is_self) positional.push_back(static_cast<uint8_t>(i));
    parameters.push_back(std::move(p));
  }
  const auto find = [&](const char* name) { return schema.findArgument(name) != nullptr; };
  takes_requires_grad = find("dtype") && find("layout") && find("device") && find("pin_memory") && !schema.isOut() &&
                        !schema.returns().empty() && !schema.returns()[0].hasAlias();
  const bool takes_tensor = std::any_of(parameters.begin(), parameters.end(), [](const Parameter& p) {
    return !p.is_out && (p.kind == Kind::kTensor || p.kind == Kind::kTensorList);
  });
  is_factory_out = num_outputs == 1 && !takes_tensor;
  for (size_t i = 0; takes_requires_grad && !takes_tensor && i < parameters.size(); ++i)
    if (parameters[i].kind == Kind::kDevice) device_place = static_cast<int>(i);
  varargs_ints = positional.size() == 1 && parameters[positional[0]].kind == Kind::kIntList;
}

std::string typeName(const Parameter& p) {
  for (const KindOfType& k : kKinds)
    if (k.kind == p.kind) return p.kind == Kind::kIntList && p.fixed_size == 1 ? "int or tuple of ints" : k.name;
  return "an object";
}

std::string Signature::str() const {
  std::string text = "(";
  bool star = false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    if (is_method && i == self_index) continue;
    if (p.is_out && i != first_output) continue;
    if (text.size() > 1) text += ", ";
    if (p.keyword_only && !std::exchange(star, true)) text += "*, ";
    text += (p.is_out && num_outputs > 1 ? "tuple of Tensors" : typeName(p)) + " " + utf8(p.name);
    if (!p.required) text += "=" + defaultText(p);
  }
  if (takes_requires_grad) text += text.size() > 1 ? ", bool requires_grad=False" : "*, bool requires_grad=False";
  return text + ")";
}

PyObject* numpyNameOf(PyObject* name) {
  struct Names {
    PyObject *dim = interned("dim"), *keepdim = interned("keepdim"), *input = interned("input"),
             *other = interned("other"), *axis = interned("axis"), *keepdims = interned("keepdims"), *x = interned("x"),
             *x2 = interned("x2");
  };
  static const Names names;
  if (name == names.dim) return names.axis;
  if (name == names.keepdim) return names.keepdims;
  if (name == names.input) return names.x;
  if (name == names.other) return names.x2;
  return nullptr;
}

}  // namespace shunt::python
