// A signature as Python sees it: an operator's schema with PyTorch's names, made once for each overload, when a program
// calls the operator for the first time. Read-only afterwards; under the interpreter's lock.
#pragma once

#include "python/src/base/python.h"

#include <shunt/core/array_ref.h>
#include <shunt/core/function_schema.h>
#include <shunt/tensor/scalar.h>

#include <string>
#include <vector>

namespace shunt::python {

/// What an argument may be, and how it is converted.
enum class Kind : uint8_t {
  kTensor,
  kScalar,
  kInt,
  kFloat,
  kBool,
  kString,
  kDType,
  kLayout,
  kDevice,
  kMemoryFormat,
  kGenerator,
  kTensorList,
  kIntList,
  kFloatList,
  kBoolList,
  kScalarList,
  kUnsupported,
};

/// The value of an argument that isn't given, in the form that its kind needs.
struct Default {
  bool is_none = true;
  int64_t integer = 0;  // of int, bool, and the enumerations
  double floating = 0;
  Scalar scalar;
  std::string text;
  std::vector<int64_t> integers;
};

struct Parameter {
  PyObject* name = nullptr;  // interned
  Kind kind = Kind::kUnsupported;
  bool optional = false;          // None may be given
  bool element_optional = false;  // a list's elements may be None
  bool keyword_only = false;
  bool required = true;
  bool is_out = false;
  bool takes_number = false;  // a tensor for which a number may stand
  int64_t fixed_size = 0;     // of lists for which one number may stand
  Default value;              // where it isn't given
  std::string schema_name;
  const char* function = "";  // whose it is, for messages
};

/// One way to call a function. `parameters` are in the schema's order, which is the kernel's; a method's `self` is one
/// of them, given apart.
struct Signature {
  std::vector<Parameter> parameters;
  std::vector<uint8_t> positional;  // indices of what may be given by position, in order
  size_t self_index = 0;            // of a method
  bool is_method = false;
  bool takes_requires_grad = false;  // a factory: requires_grad= is added to the schema's arguments
  bool varargs_ints = false;         // zeros(2, 3) for zeros((2, 3))
  int device_place = -1;             // of a factory whose device may be the default one
  size_t num_outputs = 0;            // written keyword arguments, which Python gives as out= together
  size_t first_output = 0;

  /// `function`: the name that messages give; it outlives the signature.
  Signature(const FunctionSchema& schema, const char* function, bool is_method);
  /// "add(Tensor input, Tensor other, *, Number alpha=1, Tensor out=None)" without the name: "(Tensor input, ...)".
  std::string str() const;
};

/// PyTorch's word for the kind, in messages: "Tensor", "Number", "tuple of ints".
std::string typeName(const Parameter& parameter);

/// Other names by which a parameter may be given, as NumPy has them: axis for dim.
PyObject* numpyNameOf(PyObject* name);

}  // namespace shunt::python
