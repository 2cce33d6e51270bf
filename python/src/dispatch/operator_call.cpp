#include "python/src/dispatch/operator_call.h"

#include "python/src/base/errors.h"
#include "python/src/call/invoke.h"
#include "python/src/call/parse.h"
#include "python/src/dispatch/ivalue.h"
#include "python/src/dispatch/torch_function.h"

#include <shunt/core/call_stack.h>
#include <shunt/core/near_names.h>

#include <fmt/format.h>

#include <algorithm>

namespace shunt::python {

namespace {

Py_ssize_t numKeywords(const Call& call) {
  return call.keyword_names != nullptr ? PyTuple_GET_SIZE(call.keyword_names) : 0;
}

/// The value of an object that fits the parameter. Common kinds first; all others by the schema's type.
IValue valueOf(const PreparedSchema& schema, size_t i, PyObject* o) {
  const Parameter& p = schema.signature.parameters[i];
  if (o == Py_None) return p.kind == Kind::kTensor && !p.optional ? IValue(Tensor()) : IValue();
  switch (p.kind) {
    case Kind::kTensor:
      return isTensor(o) ? tensorOf(o) : wrapNumber(o);
    case Kind::kScalar:
      return toScalar(o);
    case Kind::kInt:
      return toInt(p, o);
    case Kind::kFloat:
      return toDouble(p, o);
    case Kind::kBool:
      return toBool(o);
    case Kind::kIntList: {
      Ints ints;
      toInts(p, o, ints);
      return std::vector<int64_t>(ints.begin(), ints.end());
    }
    default:
      return toValue(o, schema.schema.arguments()[i].type,
                     [&] { return fmt::format("{}(): argument '{}'", schema.name, utf8(p.name)); });
  }
}

bool isLongCall(const Stack& stack) {
  for (const IValue& v : stack) {
    if (v.isTensor()) return isLong(v.toTensor());
    if (v.isTensorList()) return isLong(TensorList(v.toTensorVector()));
  }
  return false;
}

void pushMatched(const PreparedSchema& schema, const Slots& slots, Stack& stack) {
  const size_t n = schema.signature.parameters.size();
  stack.reserve(stack.size() + n);
  for (size_t i = 0; i < n; ++i) {
    if (slots.at[i] == nullptr)
      stack.push_back(schema.defaults[i]);
    else
      stack.push_back(valueOf(schema, i, slots.at[i]));
  }
}

/// "; did you mean 'other'?", or the end of the sentence.
std::string nearArguments(const PreparedSchema& schema, const std::string& name) {
  std::vector<std::string> names;
  for (const Parameter& p : schema.signature.parameters) names.push_back(utf8(p.name));
  const std::string near = shunt::detail::didYouMean(name, names);
  return near.empty() ? "." : near;
}

}  // namespace

std::string whyNoMatch(const PreparedSchema& schema, const Call& call) {
  const Signature& s = schema.signature;
  const std::string declaration = "Declaration: " + schema.schema.str();
  const auto given = static_cast<size_t>(call.num_args);
  if (given + static_cast<size_t>(numKeywords(call)) > s.parameters.size())
    return fmt::format("{}() expected at most {} argument(s) but received {} argument(s). {}", schema.name,
                       s.parameters.size(), given + static_cast<size_t>(numKeywords(call)), declaration);
  std::vector<PyObject*> values(s.parameters.size());
  std::vector<size_t> positions(s.parameters.size());
  if (given > s.positional.size())
    return fmt::format("{}() takes {} positional argument(s) but {} was/were given. {}", schema.name,
                       s.positional.size(), given, declaration);
  for (size_t i = 0; i < given; ++i) values[s.positional[i]] = call.args[i];
  for (Py_ssize_t k = 0; k < numKeywords(call); ++k) {
    PyObject* const name = PyTuple_GET_ITEM(call.keyword_names, k);
    size_t place = 0;
    while (place < s.parameters.size() && PyUnicode_Compare(s.parameters[place].name, name) != 0) ++place;
    if (place == s.parameters.size())
      return fmt::format("Unknown keyword argument '{}' for operator '{}'{} Schema: {}", utf8(name), schema.name,
                         nearArguments(schema, utf8(name)), schema.schema.str());
    if (values[place] != nullptr)
      return fmt::format("{}() got multiple values for argument '{}'. {}", schema.name, utf8(name), declaration);
    values[place] = call.args[call.num_args + k];
  }
  for (size_t i = 0; i < s.parameters.size(); ++i) {
    const Parameter& p = s.parameters[i];
    if (values[i] == nullptr) {
      if (!p.required) continue;
      return fmt::format("{}() is missing value for argument '{}'. {}", schema.name, utf8(p.name), declaration);
    }
    if (fits(p, values[i]) == Match::kNo)
      return fmt::format(
          "{}() Expected a value of type '{}' for argument '{}' but instead found type '{}'.\nPosition: {}\nValue: "
          "{}\n{}",
          schema.name, schema.schema.arguments()[i].type.str(), utf8(p.name), typeNameOf(values[i]), i,
          reprOf(values[i]), declaration);
  }
  return fmt::format("{}() was called with arguments that don't fit. {}", schema.name, declaration);
}

void pushArguments(const PreparedSchema& schema, const Call& call, Stack& stack) {
  Slots slots;
  if (matchCall(schema.signature, call, slots) == Match::kNo) raise(PyExc_RuntimeError, whyNoMatch(schema, call));
  pushMatched(schema, slots, stack);
}

PyObject* callOperator(OpOverloadObject& o, const Call& call, const DispatchKeySet* keys) {
  const PreparedSchema& schema = preparedOf(o);
  Slots slots;
  const Match match = matchCall(schema.signature, call, slots);
  if (match != Match::kYes || torch_function_modes > 0) [[unlikely]] {
    if (PyObject* result = callTorchFunctionOf(reinterpret_cast<PyObject*>(&o), call)) return result;
    if (match == Match::kNo) raise(PyExc_RuntimeError, whyNoMatch(schema, call));
  }
  boxing::CallStack memory(std::max(schema.defaults.size(), schema.schema.returns().size()));
  Stack& stack = *memory;
  pushMatched(schema, slots, stack);
  const OperatorHandle op = o.handle();
  {
    const WithoutGil unlocked(isLongCall(stack));
    if (keys == nullptr)
      op.callBoxed(&stack);
    else
      op.redispatchBoxed(*keys, &stack);
  }
  return resultsOf(schema, stack);
}

}  // namespace shunt::python
