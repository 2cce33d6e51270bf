// What a call that fits no overload is told.
#include "python/src/base/errors.h"
#include "python/src/call/parse.h"
#include "python/src/types/constants.h"
#include "python/src/types/tensor.h"

#include <shunt/core/near_names.h>

#include <fmt/format.h>

#include <algorithm>

namespace shunt::python {

namespace {

Py_ssize_t numKeywords(const Call& call) {
  return call.keyword_names != nullptr ? PyTuple_GET_SIZE(call.keyword_names) : 0;
}

/// "(Tensor, str, dim=float)"
std::string describeGiven(const Call& call) {
  std::vector<std::string> parts;
  for (Py_ssize_t i = 0; i < call.num_args; ++i) parts.push_back(typeNameOf(call.args[i]));
  for (Py_ssize_t i = 0; i < numKeywords(call); ++i)
    parts.push_back(utf8(PyTuple_GET_ITEM(call.keyword_names, i)) + "=" + typeNameOf(call.args[call.num_args + i]));
  return fmt::format("({})", fmt::join(parts, ", "));
}

bool isHidden(const Signature& s, size_t i) {
  return (s.is_method && i == s.self_index) || (s.parameters[i].is_out && i != s.first_output);
}

/// The names by which the parameters may be given, NumPy's too.
std::vector<std::string> namesOf(const Signature& s) {
  std::vector<std::string> names;
  for (size_t i = 0; i < s.parameters.size(); ++i) {
    if (isHidden(s, i)) continue;
    for (PyObject* spelt : {s.parameters[i].name, numpyNameOf(s.parameters[i].name)})
      if (spelt != nullptr) names.push_back(utf8(spelt));
  }
  return names;
}

std::string expected(const Parameter& p) {
  const std::string type = typeName(p);
  return p.optional ? type + " or None" : type;
}

std::string meant(const Parameter& p, PyObject* value) {
  return p.kind == Kind::kDType          ? dtypeMeantBy(value)
         : p.kind == Kind::kLayout       ? layoutMeantBy(value)
         : p.kind == Kind::kMemoryFormat ? memoryFormatMeantBy(value)
                                         : "";
}

bool isElement(const Parameter& p, PyObject* o) {
  switch (p.kind) {
    case Kind::kTensorList:
      return isTensor(o) || (p.element_optional && o == Py_None);
    case Kind::kIntList:
      return isTensor(o) || (PyIndex_Check(o) && !PyBool_Check(o));
    case Kind::kFloatList:
      return isTensor(o) || PyFloat_Check(o) || PyLong_Check(o);
    default:
      return true;
  }
}

/// ": element 1 is int", where the value is a sequence with an element that doesn't fit.
std::string wrongElement(const Parameter& p, PyObject* value) {
  if (!PyTuple_Check(value) && !PyList_Check(value)) return "";
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
    if (PyObject* const element = PySequence_Fast_ITEMS(value)[i]; !isElement(p, element))
      return fmt::format(": element {} is {}", i, typeNameOf(element));
  return "";
}

/// What keeps the call from this signature, as a sentence.
std::string whyNot(const std::string& name, const Signature& s, const Call& call) {
  const size_t given = static_cast<size_t>(call.num_args);
  std::vector<bool> filled(s.parameters.size());
  if (s.is_method) filled[s.self_index] = true;
  for (size_t i = 0; i < std::min(given, s.positional.size()); ++i) {
    const size_t place = s.positional[i];
    const Parameter& p = s.parameters[place];
    filled[place] = true;
    if (fits(p, call.args[i]) == Match::kNo && !(s.varargs_ints && PyLong_Check(call.args[i])))
      return fmt::format("{}(): argument '{}' (position {}) must be {}, not {}{}{}", name, utf8(p.name), i + 1,
                         expected(p), typeNameOf(call.args[i]), wrongElement(p, call.args[i]), meant(p, call.args[i]));
  }
  if (s.varargs_ints && given > 1)
    for (size_t i = 0; i < given; ++i)
      if (const Parameter& p = s.parameters[s.positional[0]]; !isElement(p, call.args[i]))
        return fmt::format("{}(): argument '{}' must be {}, or ints one by one: element {} is {}", name, utf8(p.name),
                           expected(p), i, typeNameOf(call.args[i]));
  if (given > s.positional.size() && !s.varargs_ints)
    return fmt::format("{}() takes {} positional argument{} but {} {} given", name, s.positional.size(),
                       s.positional.size() == 1 ? "" : "s", given, given == 1 ? "was" : "were");
  for (Py_ssize_t k = 0; k < numKeywords(call); ++k) {
    const std::string keyword = utf8(PyTuple_GET_ITEM(call.keyword_names, k));
    PyObject* value = call.args[call.num_args + k];
    size_t place = s.parameters.size();
    for (size_t i = 0; i < s.parameters.size(); ++i) {
      PyObject* numpy = numpyNameOf(s.parameters[i].name);
      if (!isHidden(s, i) && (utf8(s.parameters[i].name) == keyword || (numpy != nullptr && utf8(numpy) == keyword)))
        place = i;
    }
    if (place == s.parameters.size()) {
      if (s.takes_requires_grad && keyword == "requires_grad")
        return fmt::format("{}(): argument 'requires_grad' must be bool, not {}", name, typeNameOf(value));
      return fmt::format("{}() got an unexpected keyword argument '{}'{}", name, keyword,
                         shunt::detail::didYouMean(keyword, namesOf(s)));
    }
    const Parameter& p = s.parameters[place];
    if (filled[place]) return fmt::format("{}() got multiple values for argument '{}'", name, keyword);
    filled[place] = true;
    if (p.is_out && s.num_outputs > 1)
      return fmt::format("{}(): argument 'out' must be a tuple of {} Tensors, not {}", name, s.num_outputs,
                         typeNameOf(value));
    if (fits(p, value) == Match::kNo)
      return fmt::format("{}(): argument '{}' must be {}, not {}{}{}", name, keyword, expected(p), typeNameOf(value),
                         wrongElement(p, value), meant(p, value));
  }
  for (size_t i = 0; i < s.parameters.size(); ++i)
    if (!filled[i] && s.parameters[i].required && !isHidden(s, i))
      return fmt::format("{}() missing required argument '{}'{}", name, utf8(s.parameters[i].name),
                         s.parameters[i].keyword_only ? "" : fmt::format(" (pos {})", i + 1));
  return fmt::format("{}() received an invalid combination of arguments", name);
}

}  // namespace

void raiseNoMatch(const Entry& entry, const std::vector<Overload>& overloads, const Call& call) {
  const std::string name = entry.name();
  if (overloads.empty())
    raise(PyExc_TypeError, fmt::format("{} is a {}", name,
                                       call.self != nullptr ? "function, and no method of Tensor"
                                                            : "method of Tensor, and no function"));
  std::vector<const Overload*> shown;
  for (const Overload& o : overloads)
    if (o.signature.num_outputs == 0 || overloads.size() == 1) shown.push_back(&o);
  // With out= the forms that have it are what was meant.
  for (Py_ssize_t k = 0; k < numKeywords(call); ++k)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(call.keyword_names, k), "out") == 0 &&
        call.args[call.num_args + k] != Py_None) {
      shown.clear();
      for (const Overload& o : overloads)
        if (o.signature.num_outputs > 0) shown.push_back(&o);
    }
  if (shown.empty()) raise(PyExc_TypeError, fmt::format("{}() has no form with out=", name));
  if (shown.size() == 1) raise(PyExc_TypeError, whyNot(name, shown[0]->signature, call));
  std::string text = fmt::format(
      "{}() received an invalid combination of arguments - got {}, but expected one of:", name, describeGiven(call));
  for (const Overload* o : shown)
    text += fmt::format("\n * {}\n      {}", o->signature.str(), whyNot(name, o->signature, call));
  raise(PyExc_TypeError, text);
}

}  // namespace shunt::python
