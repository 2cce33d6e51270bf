#include "python/src/types/size.h"

#include "python/src/base/errors.h"
#include "python/src/types/constants.h"

namespace shunt::python {

namespace {

extern PyTypeObject SizeType;

void fill(PyObject* tuple, IntArrayRef values) {
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), check(PyLong_FromLongLong(values[i])));
}

PyObject* newSize(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    Ref self = owned(PyTuple_Type.tp_new(type, arguments, keywords));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self.get()); ++i) {
      PyObject* item = PyTuple_GET_ITEM(self.get(), i);
      if (PyLong_CheckExact(item)) continue;
      if (!PyIndex_Check(item))
        raise(PyExc_TypeError,
              "Size() takes an iterable of int (item " + std::to_string(i) + " is '" + typeNameOf(item) + "')");
      PyObject* number = check(PyNumber_Index(item));
      PyTuple_SET_ITEM(self.get(), i, number);
      Py_DECREF(item);
    }
    return self.release();
  });
}

PyObject* repr(PyObject* self) {
  return guarded([&] {
    std::string text = std::string(shownPackage()) + ".Size([";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i)
      text += (i > 0 ? ", " : "") + reprOf(PyTuple_GET_ITEM(self, i));
    return PyUnicode_FromString((text + "])").c_str());
  });
}

PyObject* asSize(PyObject* tuple) {
  if (tuple == nullptr || !PyTuple_CheckExact(tuple)) return tuple;
  const Ref given = Ref::steal(tuple);
  const Ref arguments = Ref::steal(PyTuple_Pack(1, tuple));
  return arguments ? SizeType.tp_new(&SizeType, arguments.get(), nullptr) : nullptr;
}

// What a tuple's operations give is a Size again.
PyObject* concat(PyObject* a, PyObject* b) { return asSize(PyTuple_Type.tp_as_sequence->sq_concat(a, b)); }
PyObject* repeat(PyObject* a, Py_ssize_t n) { return asSize(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)); }
PyObject* item(PyObject* self, PyObject* key) {
  PyObject* found = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  return PySlice_Check(key) ? asSize(found) : found;
}

PyObject* numel(PyObject* self, PyObject*) {
  Ref product = Ref::steal(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(self); ++i)
    product = Ref::steal(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(self, i)));
  return product.release();
}
PyObject* reduce(PyObject* self, PyObject*) { return Py_BuildValue("(O(N))", Py_TYPE(self), PySequence_List(self)); }

/// Also with a tuple in the first place, which would else be the result's type.
PyObject* add(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return concat(a, b);
}

PyNumberMethods numbers = {.nb_add = add};
PySequenceMethods sequence = {.sq_concat = concat, .sq_repeat = repeat};
PyMappingMethods mapping = {.mp_subscript = item};
PyMethodDef methods[] = {
    {"numel", numel, METH_NOARGS, "numel() -> int\n\nThe number of elements of a tensor of these sizes."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {}};

PyTypeObject SizeType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt.Size",
    .tp_repr = repr,
    .tp_as_number = &numbers,
    .tp_as_sequence = &sequence,
    .tp_as_mapping = &mapping,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Size(iterable)\n\nThe sizes of a tensor, a tuple of ints.",
    .tp_methods = methods,
    .tp_new = newSize,
};

}  // namespace

void addSize(PyObject* module) {
  SizeType.tp_base = &PyTuple_Type;
  checkStatus(PyType_Ready(&SizeType));
  checkStatus(PyModule_AddType(module, &SizeType));
}

PyObject* wrapSize(IntArrayRef sizes) {
  Ref tuple = owned(SizeType.tp_alloc(&SizeType, static_cast<Py_ssize_t>(sizes.size())));
  fill(tuple.get(), sizes);
  return tuple.release();
}

PyObject* wrapInts(IntArrayRef values) {
  Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  fill(tuple.get(), values);
  return tuple.release();
}

}  // namespace shunt::python
