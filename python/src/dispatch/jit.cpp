#include "python/src/dispatch/jit.h"

#include "python/src/base/errors.h"
#include "python/src/dispatch/operator_call.h"

#include <shunt/jit/explain.h>
#include <shunt/jit/jit.h>

namespace shunt::python {

namespace {

PyObject* text(const std::string& s) {
  return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}

PyObject* setEnabled(PyObject*, PyObject* on) {
  return guarded([&] {
    const int value = PyObject_IsTrue(on);
    checkStatus(value);
    {
      const WithoutGil unlocked;
      jit::set_enabled(value != 0);
    }
    return Py_NewRef(Py_None);
  });
}
PyObject* isEnabled(PyObject*, PyObject*) { return PyBool_FromLong(jit::enabled()); }

template <auto action>
PyObject* unlocked(PyObject*, PyObject*) {
  return guarded([] {
    {
      const WithoutGil released;
      action();
    }
    return Py_NewRef(Py_None);
  });
}

template <auto get>
PyObject* textOf(PyObject*, PyObject*) {
  return guarded([] {
    std::string s;
    {
      const WithoutGil released;
      s = get();
    }
    return text(s);
  });
}
constexpr auto table = [] { return jit::statsTable(); };
constexpr auto json = [] { return jit::statsJson(); };

PyObject* invalidations(PyObject*, PyObject*) {
  return guarded([] {
    Ref list = owned(PyList_New(0));
    for (const jit::InvalidationRecord& r : jit::invalidation_log()) {
      const Ref row = owned(Py_BuildValue("(ss)", r.what.c_str(), r.cause.c_str()));
      checkStatus(PyList_Append(list.get(), row.get()));
    }
    return list.release();
  });
}

/// (operator, arguments, keywords): the explanation's text and its JSON.
PyObject* explain(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (n < 1 || !isOperatorObject(args[0]))
      raise(PyExc_TypeError, "explain(): expected an operator such as shunt.ops.aten.add.Tensor first");
    auto* op = reinterpret_cast<OpOverloadObject*>(args[0]);
    Stack stack;
    pushArguments(preparedOf(*op), Call{nullptr, args + 1, n - 1, names}, stack);
    std::string as_text, as_json;
    {
      const WithoutGil unlocked;
      const jit::Explanation e = jit::explain(op->handle(), std::move(stack));
      as_text = e.text();
      as_json = e.json();
    }
    return Py_BuildValue("(NN)", text(as_text), text(as_json));
  });
}

PyMethodDef functions[] = {
    {"_jit_set_enabled", setEnabled, METH_O, nullptr},
    {"_jit_enabled", isEnabled, METH_NOARGS, nullptr},
    {"_jit_wait_idle", unlocked<&jit::wait_idle>, METH_NOARGS, nullptr},
    {"_jit_clear", unlocked<&jit::clear>, METH_NOARGS, nullptr},
    {"_jit_stats_table", textOf<table>, METH_NOARGS, nullptr},
    {"_jit_stats_json", textOf<json>, METH_NOARGS, nullptr},
    {"_jit_invalidation_log", invalidations, METH_NOARGS, nullptr},
    {"_jit_explain", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(explain)), METH_FASTCALL | METH_KEYWORDS,
     nullptr},
    {},
};

}  // namespace

void addJit(PyObject* module) { checkStatus(PyModule_AddFunctions(module, functions)); }

}  // namespace shunt::python
