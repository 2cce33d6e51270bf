// Batching rules written in Python: shunt.library.register_vmap.
#include "python/src/base/errors.h"
#include "python/src/base/handler_call.h"
#include "python/src/dispatch/library.h"
#include "python/src/dispatch/operator.h"

#include <shunt/transforms/batching.h>

#include <memory>

namespace shunt::python {

namespace {

PyObject* dimObject(const std::optional<int64_t>& dim) { return dim ? PyLong_FromLongLong(*dim) : Py_NewRef(Py_None); }

/// The length of a list of any element type; -1 for other values.
Py_ssize_t lengthOf(const IValue& value, const Type& type) {
  if (!type.list || value.isNone()) return -1;
  const Ref list = owned(toObject(value, type));
  const Py_ssize_t n = PyObject_Length(list.get());
  return n < 0 ? throw PythonError() : n;
}

/// An argument's dimension: a number or None, or a list of them where the argument is a list.
PyObject* inDimObject(BatchingRuleCall& call, size_t i, const Type& type) {
  const BatchingRuleCall::Dims& dims = call.in_dims(i);
  const Py_ssize_t n = lengthOf(call.argument(i), type);
  if (n < 0) return dimObject(dims.empty() ? std::nullopt : dims[0]);
  Ref list = owned(PyList_New(n));
  for (Py_ssize_t e = 0; e < n; ++e)
    PyList_SET_ITEM(list.get(), e, check(dimObject(dims.empty() ? std::nullopt : dims[static_cast<size_t>(e)])));
  return list.release();
}

/// The dimensions that a rule returned, one for each tensor of its results.
class OutDims {
 public:
  explicit OutDims(PyObject* list) : list_(list) {}
  std::optional<int64_t> next() {
    if (at_ >= PyList_GET_SIZE(list_)) raise(PyExc_RuntimeError, "register_vmap: fewer out_dims than results");
    PyObject* dim = PyList_GET_ITEM(list_, at_++);
    if (dim == Py_None) return std::nullopt;
    const long long value = PyLong_AsLongLong(dim);
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    return value;
  }

 private:
  PyObject* list_;
  Py_ssize_t at_ = 0;
};

void addResult(BatchingRuleCall& call, const IValue& value, OutDims& dims) {
  if (!value.isTensorList()) return call.add_result(Batched{value.isNone() ? Tensor() : value.toTensor(), dims.next()});
  std::vector<Batched> list;
  for (const Tensor& t : value.toTensorVector()) list.push_back({t, dims.next()});
  call.add_result(std::move(list));
}

/// A function func(info, in_dims, *args, **kwargs) -> (results, out_dims) as a rule. Copied and destroyed by threads
/// without the lock.
class PythonRule {
 public:
  explicit PythonRule(PyObject* function) : function_(new Ref(Ref::borrow(function)), release) {}

  void operator()(BatchingRuleCall& call) const {
    const Gil gil;
    OpOverloadObject* const object = operatorObject(call.op().op());
    const PreparedSchema& schema = preparedOf(*object);
    const auto& declared = schema.schema.arguments();
    Ref in_dims = owned(PyTuple_New(static_cast<Py_ssize_t>(declared.size())));
    Stack arguments;
    for (size_t i = 0; i < declared.size(); ++i) {
      arguments.push_back(call.argument(i));
      PyTuple_SET_ITEM(in_dims.get(), static_cast<Py_ssize_t>(i), check(inDimObject(call, i, declared[i].type)));
    }
    const PackedArguments packed = packArguments(schema, arguments.data());
    const Ref function = *function_;
    static PyObject* caller = nullptr;
    PyObject* const call_rule = imported(caller, "shunt._batching_rules", "call_rule");
    const Ref answer = owned(callHandler([&] {
      return PyObject_CallFunction(call_rule, "OOLiOOO", function.get(), reinterpret_cast<PyObject*>(object),
                                   static_cast<long long>(call.info().size), static_cast<int>(call.info().randomness),
                                   in_dims.get(), packed.positional.get(), packed.keywords.get());
    }));
    Stack returned;
    pushReturns(schema, PyTuple_GET_ITEM(answer.get(), 0), returned, [&] { return reprOf(function.get()); });
    OutDims out_dims(PyTuple_GET_ITEM(answer.get(), 1));
    for (const IValue& value : returned) addResult(call, value, out_dims);
  }

 private:
  static void release(const Ref* function) {
    if (!isInterpreterAlive()) return;
    const Gil gil;
    delete function;
  }
  std::shared_ptr<const Ref> function_;
};

PyObject* registerRule(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char *name = nullptr, *file = nullptr;
    PyObject *capsule = nullptr, *function = nullptr;
    unsigned line = 0;
    if (!PyArg_ParseTuple(arguments, "OsOsI", &capsule, &name, &function, &file, &line)) return nullptr;
    Library& library = libraryOf(capsule);
    const std::source_location where = placeOf(file, line);
    detail::BatchingRule rule{PythonRule(function), std::nullopt};
    {
      const WithoutGil unlocked;
      detail::registerBatchingRule(library, name, std::move(rule), where);
    }
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"_library_register_vmap", registerRule, METH_VARARGS, nullptr}, {}};

}  // namespace

void addBatchingRules(PyObject* module) { checkStatus(PyModule_AddFunctions(module, functions)); }

}  // namespace shunt::python
