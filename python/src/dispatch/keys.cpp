#include "python/src/dispatch/keys.h"

#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/core/by_name.h>
#include <shunt/core/dispatcher.h>
#include <shunt/core/tls.h>

namespace shunt::python {

namespace {

struct KeySetObject {
  PyObject_HEAD DispatchKeySet keys;
};
extern PyTypeObject KeySetType;
DispatchKeySet keysOf(PyObject* o) { return reinterpret_cast<KeySetObject*>(o)->keys; }

PyObject* newKeySet(PyTypeObject*, PyObject* arguments, PyObject*) {
  return guarded([&]() -> PyObject* {
    DispatchKeySet keys;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) keys |= keySetFrom(PyTuple_GET_ITEM(arguments, i));
    return wrapKeySet(keys);
  });
}

PyObject* repr(PyObject* self) {
  return PyUnicode_FromString(
      ("DispatchKeySet(" + (keysOf(self).empty() ? std::string() : toString(keysOf(self))) + ")").c_str());
}
Py_hash_t hash(PyObject* self) { return static_cast<Py_hash_t>(keysOf(self).raw() >> 1); }
PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(a) != &KeySetType || Py_TYPE(b) != &KeySetType || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((keysOf(a) == keysOf(b)) == (op == Py_EQ));
}

template <auto combine>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&] { return wrapKeySet(combine(keySetFrom(a), keySetFrom(b))); });
}
constexpr auto unite = [](DispatchKeySet a, DispatchKeySet b) { return a | b; };
constexpr auto intersect = [](DispatchKeySet a, DispatchKeySet b) { return a & b; };
constexpr auto subtract = [](DispatchKeySet a, DispatchKeySet b) { return a - b; };

PyObject* has(PyObject* self, PyObject* key) {
  return guarded([&] { return PyBool_FromLong(keysOf(self).has(keyFrom(key))); });
}
PyObject* add(PyObject* self, PyObject* key) {
  return guarded([&] { return wrapKeySet(keysOf(self).add(keyFrom(key))); });
}
PyObject* remove(PyObject* self, PyObject* key) {
  return guarded([&] { return wrapKeySet(keysOf(self).remove(keyFrom(key))); });
}
PyObject* highest(PyObject* self, PyObject*) {
  return PyLong_FromLong(static_cast<long>(keysOf(self).highestPriorityKey()));
}
PyObject* raw(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(keysOf(self).raw()); }
PyObject* fromRaw(PyObject*, PyObject* number) {
  return guarded([&] {
    const uint64_t bits = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() != nullptr) throw PythonError();
    return wrapKeySet(DispatchKeySet::fromRaw(bits));
  });
}
PyObject* names(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref list = owned(PyList_New(0));
    for (const DispatchKey k : keysOf(self).keys()) {
      const Ref name = owned(PyUnicode_FromString(toString(k)));
      checkStatus(PyList_Append(list.get(), name.get()));
    }
    return list.release();
  });
}
int isNotEmpty(PyObject* self) { return keysOf(self).empty() ? 0 : 1; }

PyNumberMethods number_methods = {
    .nb_subtract = binary<subtract>, .nb_bool = isNotEmpty, .nb_and = binary<intersect>, .nb_or = binary<unite>};
PyMethodDef methods[] = {
    {"has", has, METH_O, "has(key) -> bool\n\nWhether the key is in the set, with its backend."},
    {"add", add, METH_O, "add(key) -> DispatchKeySet"},
    {"remove", remove, METH_O, "remove(key) -> DispatchKeySet\n\nWithout the key; backends stay."},
    {"_highest", highest, METH_NOARGS, nullptr},
    {"raw_repr", raw, METH_NOARGS, "raw_repr() -> int\n\nIts 64 bits."},
    {"from_raw_repr", fromRaw, METH_O | METH_STATIC, "from_raw_repr(bits) -> DispatchKeySet"},
    {"names", names, METH_NOARGS, "names() -> list of str\n\nIts keys, the highest first."},
    {},
};

PyTypeObject KeySetType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt._C.DispatchKeySet",
    .tp_basicsize = sizeof(KeySetObject),
    .tp_repr = repr,
    .tp_as_number = &number_methods,
    .tp_hash = hash,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "DispatchKeySet(*keys)\n\nA set of dispatch keys: what decides which kernel a call runs.",
    .tp_richcompare = compare,
    .tp_methods = methods,
    .tp_new = newKeySet,
};

OperatorName nameFrom(PyObject* o) {
  if (!PyUnicode_Check(o)) raise(PyExc_TypeError, "expected the name of an operator, got " + typeNameOf(o));
  return parseName(utf8(o));
}
OperatorHandle operatorNamed(PyObject* o) {
  const OperatorName name = nameFrom(o);
  const auto found = Dispatcher::singleton().findOp(name);
  if (found) return *found;
  return Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), name.overload_name.c_str());
}

/// f of the operator of that name; of "aten::add" without overload, where there is no such operator, whole(f) of each
/// overload.
template <auto describe, auto whole>
PyObject* describeOperators(PyObject*, PyObject* o) {
  return guarded([&] {
    const OperatorName name = nameFrom(o);
    const Dispatcher& dispatcher = Dispatcher::singleton();
    std::string text;
    if (const auto op = dispatcher.findOp(name); op && (op->hasSchema() || !name.overload_name.empty())) {
      text = describe(*op);
    } else {
      for (const OperatorName& each : dispatcher.getAllOpNames())
        if (each.name == name.name && name.overload_name.empty())
          text += (text.empty() ? "" : "\n") + whole(*dispatcher.findOp(each));
    }
    return PyUnicode_FromString(text.c_str());
  });
}
constexpr auto dumpState = [](const OperatorHandle& op) { return op.dumpState(); };
constexpr auto dumpTable = [](const OperatorHandle& op) { return op.dumpComputedTable(); };
// Who looks at a name wants to see what each key does.
constexpr auto dumpAll = [](const OperatorHandle& op) { return op.dumpState() + op.dumpComputedTable(); };

template <class List>
PyObject* nameList(const List& list) {
  Ref out = owned(PyList_New(0));
  for (const OperatorName& name : list) {
    const Ref text = owned(PyUnicode_FromString(name.str().c_str()));
    checkStatus(PyList_Append(out.get(), text.get()));
  }
  return out.release();
}

PyObject* allNames(PyObject*, PyObject*) {
  return guarded([] { return nameList(Dispatcher::singleton().getAllOpNames()); });
}
PyObject* registrationsFor(PyObject*, PyObject* key) {
  return guarded([&] {
    std::optional<DispatchKey> k;
    if (key != Py_None && !(PyUnicode_Check(key) && PyUnicode_GET_LENGTH(key) == 0)) k = keyFrom(key);
    return nameList(Dispatcher::singleton().getRegistrationsForDispatchKey(k));
  });
}
PyObject* danglingImpls(PyObject*, PyObject*) {
  return guarded([] {
    std::vector<OperatorName> all;
    for (const OperatorHandle& op : Dispatcher::singleton().findDanglingImpls()) all.push_back(op.operator_name());
    return nameList(all);
  });
}
PyObject* hasKernelFor(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *name = nullptr, *key = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &name, &key)) return nullptr;
    return PyBool_FromLong(operatorNamed(name).hasKernelForDispatchKey(keyFrom(key)));
  });
}
/// Whether a call with exactly this key finds a kernel, of its own or derived from another key's.
PyObject* hasComputedKernelFor(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *name = nullptr, *key = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &name, &key)) return nullptr;
    const DispatchKey k = keyFrom(key);
    if (!isRuntimeKey(k))
      raise(PyExc_ValueError, std::string(toString(k)) + " stands for several keys, and has no slot");
    const OperatorHandle op = operatorNamed(name);
    const shunt::detail::CallFrame frame(op.op());
    const EntryReason reason = frame.state(op.op()).entry(slotOf(k)).reason;
    return PyBool_FromLong(reason != EntryReason::kMissing && reason != EntryReason::kAmbiguousAutogradOther);
  });
}
PyObject* hasKernel(PyObject*, PyObject* name) {
  return guarded([&] { return PyBool_FromLong(Dispatcher::singleton().findOp(nameFrom(name)).has_value()); });
}
PyObject* checkInvariants(PyObject*, PyObject* name) {
  return guarded([&] {
    operatorNamed(name).checkInvariants();
    return Py_NewRef(Py_None);
  });
}
PyObject* checkAllInvariants(PyObject*, PyObject*) {
  return guarded([] {
    Dispatcher::singleton().checkInvariants();
    return Py_NewRef(Py_None);
  });
}
PyObject* explainFor(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *name = nullptr, *keys = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &name, &keys)) return nullptr;
    return PyUnicode_FromString(operatorNamed(name).explainFor(keySetFrom(keys)).c_str());
  });
}

PyObject* keysOfTensor(PyObject*, PyObject* tensor) {
  return guarded([&] {
    if (!isTensor(tensor)) raise(PyExc_TypeError, "_dispatch_keys(): expected a Tensor, got " + typeNameOf(tensor));
    return wrapKeySet(tensorOf(tensor).key_set());
  });
}

/// All keys: (name, value, whether it is an alias of others), once each.
PyObject* keyNames(PyObject*, PyObject*) {
  return guarded([] {
    Ref out = owned(PyList_New(0));
    for (size_t k = 0; k < kNumKeys; ++k) {
      const auto key = static_cast<DispatchKey>(k);
      const bool of_backends = !isRuntimeKey(key) && !isAliasKey(key) && partsOf(key).bits == 0;
      if (of_backends) continue;
      const Ref row = owned(
          Py_BuildValue("(snO)", toString(key), static_cast<Py_ssize_t>(k), isAliasKey(key) ? Py_True : Py_False));
      checkStatus(PyList_Append(out.get(), row.get()));
    }
    return out.release();
  });
}
PyObject* parseKey(PyObject*, PyObject* name) {
  return guarded([&] { return PyLong_FromLong(static_cast<long>(keyFrom(name))); });
}

// The thread's keys. Settings are put back by those who change them (shunt._dispatch).
PyObject* included(PyObject*, PyObject*) { return wrapKeySet(tls_included()); }
PyObject* excluded(PyObject*, PyObject*) { return wrapKeySet(tls_excluded()); }
PyObject* exclude(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject* keys = nullptr;
    int on = 0;
    if (!PyArg_ParseTuple(arguments, "Op", &keys, &on)) return nullptr;
    auto& tls = shunt::detail::tls_state;
    const uint64_t bits = keySetFrom(keys).functionalities().raw();
    const uint64_t before = tls.user_excluded;
    tls.user_excluded = on != 0 ? before | bits : before & ~bits;
    shunt::detail::refreshExcluded(tls);
    return wrapKeySet(DispatchKeySet::fromRaw(before & bits));
  });
}
PyObject* include(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject* keys = nullptr;
    int on = 0;
    if (!PyArg_ParseTuple(arguments, "Op", &keys, &on)) return nullptr;
    auto& tls = shunt::detail::tls_state;
    const uint64_t bits = keySetFrom(keys).functionalities().raw();
    const uint64_t before = tls.included;
    tls.included = on != 0 ? before | bits : before & ~bits;
    return wrapKeySet(DispatchKeySet::fromRaw(before & bits));
  });
}

PyMethodDef functions[] = {
    {"_dispatch_dump", describeOperators<dumpState, dumpAll>, METH_O,
     "_dispatch_dump(name) -> str\n\nWhat is registered for an operator: its schema, and each kernel with its place. "
     "Of a "
     "name without overload: of each overload, with the table that follows from it."},
    {"_dispatch_dump_table", describeOperators<dumpTable, dumpTable>, METH_O,
     "_dispatch_dump_table(name) -> str\n\nWhich kernel each dispatch key of an operator leads to, and why."},
    {"_dispatch_get_all_op_names", allNames, METH_NOARGS, "_dispatch_get_all_op_names() -> list of str"},
    {"_dispatch_get_registrations_for_dispatch_key", registrationsFor, METH_O,
     "_dispatch_get_registrations_for_dispatch_key(key) -> list of str\n\nOperators with a kernel for exactly this "
     "key."},
    {"_dispatch_find_dangling_impls", danglingImpls, METH_NOARGS,
     "_dispatch_find_dangling_impls() -> list of str\n\nOperators with kernels and without a definition."},
    {"_dispatch_has_kernel_for_dispatch_key", hasKernelFor, METH_VARARGS,
     "_dispatch_has_kernel_for_dispatch_key(name, key) -> bool\n\nWhether one is registered for exactly this key."},
    {"_dispatch_has_computed_kernel_for_dispatch_key", hasComputedKernelFor, METH_VARARGS,
     "_dispatch_has_computed_kernel_for_dispatch_key(name, key) -> bool\n\nWhether the key leads to a kernel."},
    {"_dispatch_has_kernel", hasKernel, METH_O, "_dispatch_has_kernel(name) -> bool"},
    {"_dispatch_check_invariants", checkInvariants, METH_O, nullptr},
    {"_dispatch_check_all_invariants", checkAllInvariants, METH_NOARGS, nullptr},
    {"_dispatch_explain", explainFor, METH_VARARGS,
     "_dispatch_explain(name, keys) -> str\n\nThe kernel that a call with exactly these keys runs, and why."},
    {"_dispatch_keys", keysOfTensor, METH_O, "_dispatch_keys(tensor) -> DispatchKeySet\n\nThe keys of a tensor."},
    {"_dispatch_key_names", keyNames, METH_NOARGS, nullptr},
    {"_dispatch_key_value", parseKey, METH_O, nullptr},
    {"_dispatch_tls_local_include_set", included, METH_NOARGS,
     "_dispatch_tls_local_include_set() -> DispatchKeySet\n\nKeys that this thread adds to every call's."},
    {"_dispatch_tls_local_exclude_set", excluded, METH_NOARGS,
     "_dispatch_tls_local_exclude_set() -> DispatchKeySet\n\nKeys that calls of this thread don't look at."},
    {"_tls_exclude", exclude, METH_VARARGS, nullptr},
    {"_tls_include", include, METH_VARARGS, nullptr},
    {},
};

}  // namespace

DispatchKey keyFrom(PyObject* o) {
  if (PyLong_Check(o)) {
    const long value = PyLong_AsLong(o);
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    if (value < 0 || static_cast<size_t>(value) >= kNumKeys)
      raise(PyExc_ValueError, "there is no dispatch key of number " + std::to_string(value));
    return static_cast<DispatchKey>(value);
  }
  if (!PyUnicode_Check(o)) raise(PyExc_TypeError, "expected a dispatch key or its name, got " + typeNameOf(o));
  return dispatchKeyNamed(utf8(o));
}

DispatchKeySet keySetFrom(PyObject* o) {
  if (Py_TYPE(o) == &KeySetType) return keysOf(o);
  return DispatchKeySet(keyFrom(o));
}

PyObject* wrapKeySet(DispatchKeySet keys) {
  PyObject* o = check(KeySetType.tp_alloc(&KeySetType, 0));
  reinterpret_cast<KeySetObject*>(o)->keys = keys;
  return o;
}

void addKeys(PyObject* module) {
  checkStatus(PyType_Ready(&KeySetType));
  checkStatus(PyModule_AddType(module, &KeySetType));
  checkStatus(PyModule_AddFunctions(module, functions));
  // The bits of a set that say where data is.
  const Ref mask = owned(PyLong_FromUnsignedLongLong(DispatchKeySet::kBackendMask));
  checkStatus(PyModule_AddObjectRef(module, "_backend_mask", mask.get()));
  // What a kernel for the key masks its keyset with to call the kernel below.
  const auto addFullAfter = [module](const char* name, DispatchKey key) {
    const Ref keys = owned(wrapKeySet(DispatchKeySet::fullAfter(key)));
    checkStatus(PyModule_AddObjectRef(module, name, keys.get()));
  };
  addFullAfter("_after_autograd_keyset", DispatchKey::AutogradFunctionality);
  addFullAfter("_after_ADInplaceOrView_keyset", DispatchKey::ADInplaceOrView);
}

}  // namespace shunt::python
