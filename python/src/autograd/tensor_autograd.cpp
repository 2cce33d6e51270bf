// A tensor's part in graphs: requires_grad, grad, grad_fn, backward.
#include "python/src/autograd/hooks.h"
#include "python/src/autograd/node_object.h"
#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/dispatch/subclasses.h"
#include "python/src/types/tensor.h"
#include "python/src/types/tensor_methods.h"

#include <shunt/shunt.h>
#include <shunt/tensor/asked.h>

namespace shunt::python {

namespace {

PyObject* getRequiresGrad(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(tensorOf(self).requires_grad()); });
}
int setRequiresGrad(PyObject* self, PyObject* value, void*) {
  return guardedStatus([&] {
    if (value == nullptr || !PyBool_Check(value)) raise(PyExc_RuntimeError, "requires_grad must be a bool");
    tensorOf(self).set_requires_grad(value == Py_True);
    return 0;
  });
}
PyObject* getGrad(PyObject* self, void*) {
  return guarded([&] { return wrap(tensorOf(self).grad()); });
}
int setGrad(PyObject* self, PyObject* value, void*) {
  return guardedStatus([&] {
    const Tensor& t = tensorOf(self);
    if (value == nullptr || value == Py_None) {
      t.mutable_grad() = Tensor();
      return 0;
    }
    if (!isTensor(value))
      raise(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got grad of type " + typeNameOf(value));
    const Tensor& grad = tensorOf(value);
    if (value == self) raise(PyExc_RuntimeError, "can't assign Tensor as its own grad");
    const auto attempt = [](const char* what, const auto& given, const auto& wanted) {
      raise(PyExc_RuntimeError, shunt::detail::str("attempting to assign a gradient ", what, " '", given,
                                                   "' to a tensor ", what, " '", wanted, "'"));
    };
    if (grad.scalar_type() != t.scalar_type()) attempt("with dtype", grad.scalar_type(), t.scalar_type());
    if (grad.device() != t.device()) attempt("on device", grad.device(), t.device());
    if (grad.sizes() != t.sizes()) attempt("of size", grad.sizes(), t.sizes());
    t.mutable_grad() = grad;
    return 0;
  });
}
PyObject* getIsLeaf(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(tensorOf(self).is_leaf()); });
}
PyObject* getData(PyObject* self, void*) {
  return guarded([&] {
    const Tensor& t = tensorOf(self);
    return t.key_set().hasAny(kClassKeys) ? dataOfClass(t) : wrap(t.data());
  });
}
int setData(PyObject* self, PyObject* value, void*) {
  return guardedStatus([&] {
    if (value == nullptr) raise(PyExc_RuntimeError, "Deleting tensor data is not allowed. Delete tensor instead!");
    if (!isTensor(value)) raise(PyExc_TypeError, "Variable data has to be a tensor, but got " + typeNameOf(value));
    tensorOf(self).set_data(tensorOf(value));
    return 0;
  });
}
PyObject* getOutputNr(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromLongLong(tensorOf(self).output_nr()); });
}
PyObject* getBase(PyObject* self, void*) {
  return guarded([&] {
    if (!tensorOf(self).is_view()) return Py_NewRef(Py_None);
    shunt::detail::noteMemoryAsked(tensorOf(self), "_base");
    return wrap(tensorOf(self)._base());
  });
}
PyObject* getGradFn(PyObject* self, void*) {
  return guarded([&] {
    const Tensor& t = tensorOf(self);
    if (!t.is_leaf()) shunt::detail::noteIdentityAsked(t, "grad_fn");  // that a leaf has none is compared
    return wrapNode(t.grad_fn());
  });
}
PyObject* getRetainsGrad(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(tensorOf(self).retains_grad()); });
}

PyObject* requiresGrad(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"requires_grad", nullptr};
    PyObject* on = Py_True;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O!:requires_grad_", const_cast<char**>(names), &PyBool_Type,
                                     &on))
      return nullptr;
    tensorOf(self).set_requires_grad(on == Py_True);
    return Py_NewRef(self);
  });
}
PyObject* retainGrad(PyObject* self, PyObject*) {
  return guarded([&] {
    tensorOf(self).retain_grad();
    return Py_NewRef(Py_None);
  });
}
PyObject* isView(PyObject* self, PyObject*) {
  return guarded([&] { return PyBool_FromLong(tensorOf(self).is_view()); });
}

}  // namespace

PyGetSetDef tensor_autograd_properties[] = {
    {"requires_grad", getRequiresGrad, setRequiresGrad, "Whether operators on it are recorded for gradients.", nullptr},
    {"grad", getGrad, setGrad, "The gradient that backward() has added up; None before.", nullptr},
    {"grad_fn", getGradFn, nullptr, "The node of the graph that it comes from; None for leaves.", nullptr},
    {"is_leaf", getIsLeaf, nullptr, "Whether no recorded operator made it.", nullptr},
    {"data", getData, setData, "The same elements without a graph, and with a version counter of its own.", nullptr},
    {"output_nr", getOutputNr, nullptr, "Which of its operator's results it is.", nullptr},
    {"_base", getBase, nullptr, "What it is a view of, or None.", nullptr},
    {"retains_grad", getRetainsGrad, nullptr, "Whether retain_grad() was called on it.", nullptr},
    {},
};

PyMethodDef tensor_autograd_methods[] = {
    {"requires_grad_", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(requiresGrad)),
     METH_VARARGS | METH_KEYWORDS,
     "requires_grad_(requires_grad=True) -> Tensor\n\nSets requires_grad, and returns the tensor."},
    {"retain_grad", retainGrad, METH_NOARGS, "retain_grad()\n\nLets a tensor that is no leaf keep its grad, too."},
    {"register_hook", registerTensorHook, METH_O,
     "register_hook(hook) -> RemovableHandle\n\nCalls hook(grad) each time that backward has this tensor's gradient. "
     "What it returns, if not None, replaces it.\nRuntimeError for tensors that require no gradient."},
    {"register_post_accumulate_grad_hook", registerAccumulateHook, METH_O,
     "register_post_accumulate_grad_hook(hook) -> RemovableHandle\n\nCalls hook(tensor) each time that backward has "
     "added to this leaf's grad. RuntimeError for tensors that aren't leaves or require no gradient."},
    {"_is_view", isView, METH_NOARGS, "_is_view() -> bool\n\nWhether it is a view of another tensor, for gradients."},
    {},
};

}  // namespace shunt::python
