#include "python/src/arrays/numpy_types.h"

#include "python/src/base/errors.h"

#include <string_view>

namespace shunt::python {

namespace {

/// A type of NumPy's; null until the program has imported NumPy.
class NumpyType {
 public:
  explicit NumpyType(const char* name) : name_(name) {}
  bool isOf(PyObject* o) {
    if (type_ == nullptr) find();
    return type_ != nullptr && PyObject_TypeCheck(o, type_);
  }

 private:
  void find() {
    static PyObject* const module_name = check(PyUnicode_InternFromString("numpy"));
    const Ref module = Ref::steal(PyImport_GetModule(module_name));
    // Half imported, it has no such name yet.
    PyObject* type = module ? PyObject_GetAttrString(module.get(), name_) : nullptr;
    if (type != nullptr && PyType_Check(type)) type_ = reinterpret_cast<PyTypeObject*>(type);
    PyErr_Clear();
  }
  const char* name_;
  PyTypeObject* type_ = nullptr;
};

struct Code {
  std::string_view text;  // numpy.dtype.str without the order of bytes
  ScalarType type;
};
constexpr Code kCodes[] = {{"f8", kDouble}, {"f4", kFloat}, {"i8", kLong}, {"i4", kInt}, {"b1", kBool},
                           {"u1", kByte},   {"i2", kShort}, {"i1", kChar}, {"f2", kHalf}};

}  // namespace

bool isNumpyArray(PyObject* o) {
  static NumpyType type("ndarray");
  return type.isOf(o);
}

bool isNumpyScalar(PyObject* o) {
  static NumpyType type("generic");
  return type.isOf(o);
}

ScalarType numpyScalarType(PyObject* o) {
  const Ref dtype = owned(PyObject_GetAttrString(o, "dtype"));
  const Ref code = owned(PyObject_GetAttrString(dtype.get(), "str"));
  const std::string text = utf8(code.get());
  for (const Code& c : kCodes) {
    if (std::string_view(text).substr(1) != c.text) continue;
    if (text[0] == '>')
      raise(PyExc_ValueError,
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported.");
    return c.type;
  }
  const Ref type = owned(PyObject_GetAttrString(dtype.get(), "type"));
  const std::string name = PyType_Check(type.get()) ? reinterpret_cast<PyTypeObject*>(type.get())->tp_name : text;
  raise(PyExc_TypeError, "can't convert np.ndarray of type " + name +
                             ". The only supported types are: float64, float32, float16, int64, int32, int16, int8, "
                             "uint8, and bool.");
}

}  // namespace shunt::python
