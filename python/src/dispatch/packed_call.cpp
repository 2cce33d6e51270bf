// Arguments and returns of boxed calls, as handlers and kernels in Python see them.
#include "python/src/base/errors.h"
#include "python/src/dispatch/ivalue.h"
#include "python/src/dispatch/operator.h"
#include "python/src/types/tensor.h"

#include <fmt/format.h>

namespace shunt::python {

namespace {

bool hasDefault(const PreparedSchema& schema, size_t i, const IValue& value) {
  return schema.schema.arguments()[i].default_value.has_value() && isSameValue(value, schema.defaults[i]);
}

}  // namespace

namespace {

/// TypeError where a result that is to be a tensor, or a list of them, is a number: arguments are converted, results
/// aren't.
void checkNoNumbers(PyObject* returned, const Type& type, What what) {
  const auto is_number = [](PyObject* o) { return PyLong_Check(o) || PyFloat_Check(o); };
  if (is_number(returned))
    raise(PyExc_TypeError, fmt::format("{}: expected {}, got {}", what(), type.str(), typeNameOf(returned)));
  if (!PyTuple_Check(returned) && !PyList_Check(returned)) return;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(returned); ++i)
    if (PyObject* const element = PySequence_Fast_ITEMS(returned)[i]; is_number(element))
      raise(PyExc_TypeError, fmt::format("{}: expected {}, got a {} whose element {} is of type {}", what(), type.str(),
                                         typeNameOf(returned), i, typeNameOf(element)));
}

IValue returnedValue(PyObject* returned, const Type& type, What what) {
  if (type.kind == TypeKind::Tensor) checkNoNumbers(returned, type, what);
  return toValue(returned, type, what);
}

}  // namespace

PackedArguments packArguments(const PreparedSchema& schema, const IValue* arguments) {
  const auto& all = schema.schema.arguments();
  size_t n = schema.num_positional;
  while (n > 0 && hasDefault(schema, n - 1, arguments[n - 1])) --n;
  PackedArguments packed{owned(PyTuple_New(static_cast<Py_ssize_t>(n))), owned(PyDict_New())};
  for (size_t i = 0; i < n; ++i)
    PyTuple_SET_ITEM(packed.positional.get(), static_cast<Py_ssize_t>(i), check(toObject(arguments[i], all[i].type)));
  for (size_t i = schema.num_positional; i < all.size(); ++i) {
    if (hasDefault(schema, i, arguments[i])) continue;
    const Ref value = owned(toObject(arguments[i], all[i].type));
    checkStatus(PyDict_SetItem(packed.keywords.get(), schema.signature.parameters[i].name, value.get()));
  }
  return packed;
}

void pushReturns(const PreparedSchema& schema, PyObject* returned, Stack& stack, What who) {
  const auto& returns = schema.schema.returns();
  const auto whose = [&](size_t i) {
    return returns.size() == 1
               ? fmt::format("operator {}: the result of {}", schema.schema.operator_name().str(), who())
               : fmt::format("operator {}: result {} of {}", schema.schema.operator_name().str(), i + 1, who());
  };
  if (returns.empty()) {
    if (returned != Py_None)
      raise(PyExc_RuntimeError, fmt::format("operator {}: {} must return None, as the operator has no results, got {}",
                                            schema.schema.operator_name().str(), who(), typeNameOf(returned)));
    return;
  }
  if (returns.size() == 1) {
    if (isTensor(returned) && returns[0].type.isPlain(TypeKind::Tensor)) [[likely]]
      return stack.push_back(tensorOf(returned));
    return stack.push_back(returnedValue(returned, returns[0].type, [&] { return whose(0); }));
  }
  if (!PyTuple_Check(returned) && !PyList_Check(returned))
    raise(PyExc_RuntimeError,
          fmt::format("operator {}: {} must return a tuple of {}, got {}", schema.schema.operator_name().str(), who(),
                      returns.size(), typeNameOf(returned)));
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(returned);
  if (static_cast<size_t>(n) != returns.size())
    raise(PyExc_RuntimeError, fmt::format("operator {}: {} must return {} values, got {}",
                                          schema.schema.operator_name().str(), who(), returns.size(), n));
  for (size_t i = 0; i < returns.size(); ++i)
    stack.push_back(returnedValue(PySequence_Fast_ITEMS(returned)[i], returns[i].type, [&] { return whose(i); }));
}

namespace {

/// A result is a tensor also where an argument of the kind would be a number.
PyObject* resultObject(const IValue& value, const Type& type) {
  return check(value.isTensor() ? wrap(value.toTensor()) : toObject(value, type));
}

}  // namespace

PyObject* resultsOf(const PreparedSchema& schema, const Stack& stack) {
  const auto& returns = schema.schema.returns();
  if (returns.empty()) Py_RETURN_NONE;
  if (returns.size() == 1) return resultObject(stack[0], returns[0].type);
  Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(returns.size())));
  for (size_t i = 0; i < returns.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), resultObject(stack[i], returns[i].type));
  return tuple.release();
}

}  // namespace shunt::python
