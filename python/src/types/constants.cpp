#include "python/src/types/constants.h"

#include "python/src/base/errors.h"

#include <shunt/core/near_names.h>

#include <algorithm>
#include <array>

namespace shunt::python {

namespace {

struct ConstantObject {
  PyObject_HEAD const char* name;
  int64_t value;
};

ConstantObject* asConstant(PyObject* o) { return reinterpret_cast<ConstantObject*>(o); }

const char* shown_package = "shunt";

PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("%s.%s", shown_package, asConstant(self)->name); }
// For pickle: the name of an object of the module.
PyObject* reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(asConstant(self)->name); }

PyMethodDef constant_methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};

extern PyTypeObject DTypeType;

ScalarType dtypeOfSelf(PyObject* self) { return static_cast<ScalarType>(asConstant(self)->value); }
PyObject* isFloatingPoint(PyObject* self, void*) { return PyBool_FromLong(isFloatingType(dtypeOfSelf(self))); }
PyObject* isComplex(PyObject* self, void*) { return PyBool_FromLong(isComplexType(dtypeOfSelf(self))); }
PyObject* isSigned(PyObject* self, void*) {
  return PyBool_FromLong(dtypeOfSelf(self) != kBool && dtypeOfSelf(self) != kByte);
}
PyObject* itemSize(PyObject* self, void*) {
  const ScalarType t = dtypeOfSelf(self);
  const int64_t complex = t == ScalarType::ComplexHalf ? 4 : t == ScalarType::ComplexFloat ? 8 : 16;
  return PyLong_FromLongLong(isComplexType(t) ? complex : elementSize(t));
}

// Where pickle looks for the object by its name.
PyObject* module(PyObject*, void*) { return PyUnicode_InternFromString("shunt"); }
#define SHUNT_MODULE {"__module__", module, nullptr, nullptr, nullptr}

PyGetSetDef constant_properties[] = {SHUNT_MODULE, {}};
PyGetSetDef dtype_properties[] = {
    SHUNT_MODULE,
    {"is_floating_point", isFloatingPoint, nullptr, "Whether it is one of real numbers with a point.", nullptr},
    {"is_complex", isComplex, nullptr, "Whether it is one of complex numbers, which no operator takes.", nullptr},
    {"is_signed", isSigned, nullptr, "Whether it has numbers below 0.", nullptr},
    {"itemsize", itemSize, nullptr, "Bytes of one element.", nullptr},
    {},
};

PyTypeObject constantType(const char* name, const char* doc, PyGetSetDef* properties) {
  return {.ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = name,
          .tp_basicsize = sizeof(ConstantObject),
          .tp_repr = repr,
          .tp_flags = Py_TPFLAGS_DEFAULT,
          .tp_doc = doc,
          .tp_methods = constant_methods,
          .tp_getset = properties};
}

PyTypeObject DTypeType = constantType("shunt.dtype", "The type of a tensor's elements.", dtype_properties);
PyTypeObject LayoutType = constantType("shunt.layout", "How a tensor's elements are stored.", constant_properties);
PyTypeObject MemoryFormatType = constantType(
    "shunt.memory_format", "In which order the dimensions of a dense tensor lie in memory.", constant_properties);

std::array<PyObject*, kNumScalarTypes> dtype_objects{};
constexpr const char* kLayoutNames[] = {"strided", "sparse_coo", "sparse_csr", "_mkldnn"};
constexpr const char* kFormatNames[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
std::array<PyObject*, std::size(kLayoutNames)> layout_objects{};
std::array<PyObject*, std::size(kFormatNames)> memory_format_objects{};

std::string constantMeantBy(PyObject* given, const std::vector<std::string>& known) {
  if (!PyUnicode_Check(given)) return "";
  std::string name = utf8(given);
  for (const std::string_view prefix : {"shunt.", "torch."})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  const bool exact = std::find(known.begin(), known.end(), name) != known.end();
  std::string text;
  for (const std::string& meant : exact ? std::vector{name} : shunt::detail::nearNames(name, known))
    text += (text.empty() ? "; did you mean " : " or ") + std::string(shown_package) + "." + meant;
  return text.empty() ? text : text + "?";
}

PyObject* addConstant(PyObject* module, PyTypeObject& type, const char* name, int64_t value) {
  PyObject* o = check(type.tp_alloc(&type, 0));
  asConstant(o)->name = name;
  asConstant(o)->value = value;
  checkStatus(PyModule_AddObjectRef(module, name, o));
  return o;
}

void addDTypes(PyObject* module) {
  const auto add = [&](const char* name, ScalarType t) {
    dtype_objects[static_cast<size_t>(t)] = addConstant(module, DTypeType, name, static_cast<int64_t>(t));
  };
#define SHUNT_DTYPE(type, name, number, text) add(text, ScalarType::name);
  SHUNT_FORALL_SCALAR_TYPES(SHUNT_DTYPE)
#undef SHUNT_DTYPE
  // Without kernels: tables of dtypes name them.
  add("complex32", ScalarType::ComplexHalf);
  add("complex64", ScalarType::ComplexFloat);
  add("complex128", ScalarType::ComplexDouble);
  struct Alias {
    const char* name;
    ScalarType type;
  };
  constexpr Alias kAliases[] = {{"half", kHalf},
                                {"float", kFloat},
                                {"double", kDouble},
                                {"short", kShort},
                                {"int", kInt},
                                {"long", kLong},
                                {"cfloat", ScalarType::ComplexFloat},
                                {"cdouble", ScalarType::ComplexDouble},
                                {"chalf", ScalarType::ComplexHalf}};
  for (const Alias& a : kAliases)
    checkStatus(PyModule_AddObjectRef(module, a.name, dtype_objects[static_cast<size_t>(a.type)]));
}

}  // namespace

const char* shownPackage() { return shown_package; }

PyObject* showPackage(PyObject*, PyObject* name) {
  return guarded([&] {
    const std::string text = utf8(name);
    if (text != "shunt" && text != "torch") raise(PyExc_ValueError, "_show_package(): expected 'shunt' or 'torch'");
    shown_package = text == "torch" ? "torch" : "shunt";
    return Py_NewRef(Py_None);
  });
}

void addConstants(PyObject* module) {
  for (PyTypeObject* type : {&DTypeType, &LayoutType, &MemoryFormatType}) {
    checkStatus(PyType_Ready(type));
    checkStatus(PyModule_AddType(module, type));
  }
  addDTypes(module);
  for (size_t i = 0; i < layout_objects.size(); ++i)
    layout_objects[i] = addConstant(module, LayoutType, kLayoutNames[i], static_cast<int64_t>(i));
  for (size_t i = 0; i < memory_format_objects.size(); ++i)
    memory_format_objects[i] = addConstant(module, MemoryFormatType, kFormatNames[i], static_cast<int64_t>(i));
}

bool isDType(PyObject* o) {
  return Py_TYPE(o) == &DTypeType || o == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
         o == reinterpret_cast<PyObject*>(&PyLong_Type) || o == reinterpret_cast<PyObject*>(&PyBool_Type);
}
bool isLayout(PyObject* o) { return Py_TYPE(o) == &LayoutType; }
bool isMemoryFormat(PyObject* o) { return Py_TYPE(o) == &MemoryFormatType; }

std::string dtypeMeantBy(PyObject* given) {
  return constantMeantBy(given, {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
                                 "float64", "half", "float", "double", "short", "int", "long"});
}
std::string layoutMeantBy(PyObject* given) {
  return constantMeantBy(given, {std::begin(kLayoutNames), std::end(kLayoutNames)});
}
std::string memoryFormatMeantBy(PyObject* given) {
  return constantMeantBy(given, {std::begin(kFormatNames), std::end(kFormatNames)});
}

int64_t constantValue(PyObject* o) {
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return static_cast<int64_t>(kDouble);
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return static_cast<int64_t>(kLong);
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return static_cast<int64_t>(kBool);
  return asConstant(o)->value;
}

PyObject* dtypeObject(ScalarType type) {
  PyObject* o = dtype_objects[static_cast<size_t>(type)];
  if (o == nullptr) raise(PyExc_NotImplementedError, std::string("shunt has no dtype for ") + toString(type));
  return o;
}
PyObject* layoutObject(Layout layout) { return layout_objects[static_cast<size_t>(layout)]; }

PyObject* memoryFormatObject(MemoryFormat format) { return memory_format_objects[static_cast<size_t>(format)]; }

}  // namespace shunt::python
