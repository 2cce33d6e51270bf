#include "python/src/call/parse.h"

#include "python/src/base/errors.h"
#include "python/src/types/constants.h"
#include "python/src/types/device.h"
#include "python/src/types/generator.h"
#include "python/src/types/tensor.h"

#include <cstring>

namespace shunt::python {

namespace {

bool isNumberTensor(PyObject* o, bool (*has)(ScalarType)) {
  if (!isTensor(o)) return false;
  const Tensor& t = tensorOf(o);
  return t.defined() && t.dim() == 0 && !t.requires_grad() && has(t.scalar_type());
}
bool isIntegral(ScalarType t) { return isIntegralType(t, false); }
bool isAny(ScalarType) { return true; }

/// An int, or another type's: numpy.int64. bool is none, and a tensor is asked for its dtype.
bool isInt(PyObject* o) {
  if (PyLong_CheckExact(o)) return true;
  if (PyBool_Check(o)) return false;
  if (PyLong_Check(o)) return true;
  if (isTensor(o)) return isNumberTensor(o, isIntegral);
  return PyIndex_Check(o) && !PySequence_Check(o);
}

/// A float or int, or another type's: numpy.float32.
bool isFloat(PyObject* o) {
  if (PyFloat_Check(o) || (PyLong_Check(o) && !PyBool_Check(o))) return true;
  if (PyBool_Check(o)) return false;
  if (isTensor(o)) return isNumberTensor(o, isAny);
  const PyNumberMethods* n = Py_TYPE(o)->tp_as_number;
  return n != nullptr && n->nb_float != nullptr && !PySequence_Check(o);
}

bool isNumber(PyObject* o) {
  return PyFloat_Check(o) || PyLong_Check(o) || PyBool_Check(o) || PyComplex_Check(o) || isFloat(o);
}

template <class F>
bool allOf(PyObject* sequence, F&& fits_one) {
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence);
  PyObject** const items = PySequence_Fast_ITEMS(sequence);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!fits_one(items[i])) return false;
  return true;
}

bool isList(PyObject* o) { return PyTuple_Check(o) || PyList_Check(o); }

/// Only the first element is looked at, as PyTorch does: the others are converted, and refused by name, later.
bool startsWith(PyObject* o, bool (*one)(PyObject*)) {
  return isList(o) && (PySequence_Fast_GET_SIZE(o) == 0 || one(PySequence_Fast_ITEMS(o)[0]));
}

bool isBool(PyObject* o) {
  return PyBool_Check(o) || (!PyLong_Check(o) && isNumberTensor(o, [](ScalarType t) { return t == kBool; })) ||
         std::strcmp(Py_TYPE(o)->tp_name, "numpy.bool") == 0 || std::strcmp(Py_TYPE(o)->tp_name, "numpy.bool_") == 0;
}

Match fitsTensorList(const Parameter& p, PyObject* o) {
  if (!isList(o)) return Match::kNo;
  Match result = Match::kYes;
  const bool fit = allOf(o, [&](PyObject* item) {
    if (isPlainTensor(item) || (item == Py_None && p.element_optional)) return true;
    if (!isTensor(item)) return false;
    result = Match::kOverridden;
    return true;
  });
  return fit ? result : Match::kNo;
}

Match yesIf(bool fit) { return fit ? Match::kYes : Match::kNo; }

Match fitsRarely(const Parameter& p, PyObject* o) {
  if (o == Py_None) return yesIf(p.optional || (p.kind == Kind::kGenerator) || (p.is_out));
  switch (p.kind) {
    case Kind::kTensor:
      if (isTensor(o)) return Match::kOverridden;
      return yesIf(p.takes_number && isNumber(o));
    case Kind::kScalar:
      return yesIf(isNumber(o));
    case Kind::kInt:
      return yesIf(isInt(o));
    case Kind::kFloat:
      return yesIf(isFloat(o));
    case Kind::kBool:
      return yesIf(isBool(o));
    case Kind::kString:
      return yesIf(PyUnicode_Check(o));
    case Kind::kDType:
      return yesIf(isDType(o));
    case Kind::kLayout:
      return yesIf(isLayout(o));
    case Kind::kMemoryFormat:
      return yesIf(isMemoryFormat(o));
    case Kind::kDevice:
      return yesIf(isDevice(o) || PyUnicode_Check(o) || (PyLong_Check(o) && !PyBool_Check(o)));
    case Kind::kGenerator:
      return yesIf(isGenerator(o));
    case Kind::kTensorList:
      return fitsTensorList(p, o);
    case Kind::kIntList:
      return yesIf(startsWith(o, isInt) || (p.fixed_size > 0 && isInt(o)));
    case Kind::kFloatList:
      return yesIf(startsWith(o, isFloat) || (p.fixed_size > 0 && isFloat(o)));
    case Kind::kBoolList:
      return yesIf(startsWith(o, isBool));
    case Kind::kScalarList:
      return yesIf(startsWith(o, isNumber));
    case Kind::kUnsupported:
      return Match::kNo;
  }
  return Match::kNo;
}

/// The place of the parameter that the keyword names; -1 for none.
int placeOf(const Signature& s, PyObject* keyword) {
  const size_t n = s.parameters.size();
  const auto is = [&](size_t i, PyObject* name) { return name == keyword && !(s.is_method && i == s.self_index); };
  for (size_t i = 0; i < n; ++i)
    if (is(i, s.parameters[i].name)) return static_cast<int>(i);
  // Not interned, or NumPy's name.
  for (size_t i = 0; i < n; ++i) {
    if (s.is_method && i == s.self_index) continue;
    if (PyUnicode_Compare(s.parameters[i].name, keyword) == 0) return static_cast<int>(i);
    PyObject* other = numpyNameOf(s.parameters[i].name);
    if (other != nullptr && PyUnicode_Compare(other, keyword) == 0) return static_cast<int>(i);
  }
  return -1;
}

bool isRequiresGrad(PyObject* keyword) {
  static PyObject* const name = check(PyUnicode_InternFromString("requires_grad"));
  return keyword == name || PyUnicode_Compare(keyword, name) == 0;
}

/// dtype=, layout=, device=, pin_memory= and requires_grad= of a factory with out=: kNo for others. Those of another
/// than out's are refused.
Match matchFactoryOption(const Call& call, PyObject* keyword, PyObject* value, Slots& slots) {
  const auto is = [&](const char* name) { return PyUnicode_CompareWithASCIIString(keyword, name) == 0; };
  if (is("requires_grad") && PyBool_Check(value)) {
    slots.requires_grad = value;
    return Match::kYes;
  }
  if (is("pin_memory") && (value == Py_None || value == Py_False)) return Match::kYes;
  if (is("layout") && (value == Py_None || isLayout(value))) return Match::kYes;
  if (is("device") && (value == Py_None || isDevice(value) || PyUnicode_Check(value))) return Match::kYes;
  if (!is("dtype") || (value != Py_None && !isDType(value))) return Match::kNo;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(call.keyword_names); ++k) {
    PyObject* const out = call.args[call.num_args + k];
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.keyword_names, k), "out") != 0 || !isTensor(out))
      continue;
    const ScalarType type = tensorOf(out).scalar_type();
    if (value != Py_None && dtypeObject(type) != value)
      raise(PyExc_RuntimeError, detail::str("dtype ", static_cast<ScalarType>(constantValue(value)),
                                            " does not match dtype of out parameter (", type, ")"));
  }
  return Match::kYes;
}

/// The argument as it is read during the call: a tuple of a list's elements, except where they are tensors, which
/// toTensors() takes hold of before anything of the program runs.
PyObject* steady(const Parameter& p, PyObject* value, Slots& slots) {
  return PyList_Check(value) && p.kind != Kind::kTensorList ? slots.keep(owned(PyList_AsTuple(value))) : value;
}

/// out= of several results: a tuple or list of as many tensors.
bool spreadOutputs(const Signature& s, PyObject* given, Slots& slots) {
  if (!isList(given) || static_cast<size_t>(PySequence_Fast_GET_SIZE(given)) != s.num_outputs) return false;
  size_t k = 0;
  for (size_t i = s.first_output; i < s.parameters.size(); ++i) {
    if (!s.parameters[i].is_out) continue;
    PyObject* item = PySequence_Fast_ITEMS(given)[k++];
    if (!isTensor(item)) return false;
    slots.at[i] = item;
  }
  return true;
}

}  // namespace

Match fits(const Parameter& p, PyObject* o) {
  switch (p.kind) {
    case Kind::kTensor:
      if (isPlainTensor(o)) [[likely]]
        return Match::kYes;
      break;
    case Kind::kInt:
      if (PyLong_CheckExact(o)) [[likely]]
        return Match::kYes;
      break;
    case Kind::kScalar:
      if (PyLong_CheckExact(o) || PyFloat_CheckExact(o)) [[likely]]
        return Match::kYes;
      break;
    default:
      break;
  }
  return fitsRarely(p, o);
}

Match matchCall(const Signature& s, const Call& call, Slots& slots) {
  const size_t n = s.parameters.size();
  Match result = Match::kYes;
  for (size_t i = 0; i < n; ++i) slots.at[i] = nullptr;
  slots.requires_grad = nullptr;
  slots.kept.clear();
  if (s.is_method) {
    slots.at[s.self_index] = call.self;
    if (!isPlainTensor(call.self)) result = Match::kOverridden;
  }

  size_t given = static_cast<size_t>(call.num_args);
  if (s.varargs_ints && given > 0 && isInt(call.args[0]) &&
      (given > 1 || s.parameters[s.positional[0]].fixed_size == 0)) {
    // zeros(2, 3): the ints are one argument.
    Ref packed = owned(PyTuple_New(call.num_args));
    for (size_t i = 0; i < given; ++i) {
      if (!isInt(call.args[i])) return Match::kNo;
      PyTuple_SET_ITEM(packed.get(), static_cast<Py_ssize_t>(i), Py_NewRef(call.args[i]));
    }
    slots.at[s.positional[0]] = slots.keep(std::move(packed));
  } else {
    if (given > s.positional.size()) return Match::kNo;
    for (size_t i = 0; i < given; ++i) {
      const size_t place = s.positional[i];
      PyObject* const value = steady(s.parameters[place], call.args[i], slots);
      const Match m = fits(s.parameters[place], value);
      if (m == Match::kNo) return Match::kNo;
      if (m == Match::kOverridden) result = m;
      slots.at[place] = value;
    }
  }

  const Py_ssize_t num_keywords = call.keyword_names != nullptr ? PyTuple_GET_SIZE(call.keyword_names) : 0;
  for (Py_ssize_t k = 0; k < num_keywords; ++k) {
    PyObject* const keyword = PyTuple_GET_ITEM(call.keyword_names, k);
    PyObject* const given_value = call.args[call.num_args + k];
    const int place = placeOf(s, keyword);
    if (place < 0) {
      if (s.is_factory_out && matchFactoryOption(call, keyword, given_value, slots) == Match::kYes) continue;
      if (!s.takes_requires_grad || !isRequiresGrad(keyword)) {
        // out=None is what functions without outputs have, too.
        if (given_value == Py_None && PyUnicode_CompareWithASCIIString(keyword, "out") == 0 && s.num_outputs == 0)
          continue;
        return Match::kNo;
      }
      if (!PyBool_Check(given_value)) return Match::kNo;
      slots.requires_grad = given_value;
      continue;
    }
    const Parameter& p = s.parameters[static_cast<size_t>(place)];
    PyObject* const value = steady(p, given_value, slots);
    if (slots.at[place] != nullptr) return Match::kNo;    // given by position, too
    if (p.is_out && value == Py_None) return Match::kNo;  // the functional form's
    if (p.is_out && s.num_outputs > 1) {
      if (!spreadOutputs(s, value, slots)) return Match::kNo;
      continue;
    }
    const Match m = fits(p, value);
    if (m == Match::kNo) return Match::kNo;
    if (m == Match::kOverridden) result = m;
    slots.at[place] = value;
  }
  for (size_t i = 0; i < n; ++i)
    if (slots.at[i] == nullptr && s.parameters[i].required) return Match::kNo;
  return result;
}

}  // namespace shunt::python
