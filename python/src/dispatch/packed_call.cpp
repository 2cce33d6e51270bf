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
    return stack.push_back(toValue(returned, returns[0].type, [&] { return whose(0); }));
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
    stack.push_back(toValue(PySequence_Fast_ITEMS(returned)[i], returns[i].type, [&] { return whose(i); }));
}

PyObject* resultsOf(const PreparedSchema& schema, const Stack& stack) {
  const auto& returns = schema.schema.returns();
  if (returns.empty()) Py_RETURN_NONE;
  if (returns.size() == 1) return check(toObject(stack[0], returns[0].type));
  Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(returns.size())));
  for (size_t i = 0; i < returns.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), check(toObject(stack[i], returns[i].type)));
  return tuple.release();
}

}  // namespace shunt::python
