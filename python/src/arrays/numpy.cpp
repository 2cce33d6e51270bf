#include "python/src/arrays/numpy.h"

#include "python/src/arrays/arguments.h"
#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/shunt.h>

namespace shunt::python {

namespace {

/// numpy.asarray, which takes what has a buffer as it is.
PyObject* asArray() {
  static PyObject* function = nullptr;
  if (function == nullptr) {
    const Ref module = owned(PyImport_ImportModule("numpy"));
    function = check(PyObject_GetAttrString(module.get(), "asarray"));
  }
  return function;
}

PyObject* numpy(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  return guarded([&] {
    static constexpr FunctionParameters<1> kParameters{"numpy", {"force"}, 0, 0};
    const auto [force] = kParameters.parse(args, n, keyword_names);
    Ref source = Ref::borrow(self);
    const Tensor& t = tensorOf(self);
    if (t.key_set().has(Functionality::PythonKernel))
      raise(PyExc_RuntimeError, ".numpy() is not supported for tensor subclasses.");
    if (optionalBool("numpy", "force", force, false)) {
      source = owned(wrap(t.detach().cpu()));
    } else if (t.requires_grad() && GradMode::is_enabled()) {
      raise(PyExc_RuntimeError,
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    } else if (!t.is_cpu()) {
      raise(PyExc_TypeError, "can't convert " + t.device().str() +
                                 " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                                 "first.");
    }
    if (t.scalar_type() == kBFloat16) raise(PyExc_TypeError, "Got unsupported ScalarType BFloat16");
    const Ref view = owned(PyMemoryView_FromObject(source.get()));
    return check(PyObject_CallOneArg(asArray(), view.get()));
  });
}

}  // namespace

PyMethodDef tensor_numpy_methods[] = {
    {"numpy", fast(numpy), METH_FASTCALL | METH_KEYWORDS,
     "numpy(*, force=False) -> numpy.ndarray\n\n"
     "A NumPy array over the tensor's memory: writing to one changes the other.\n\n"
     "With `force`, of a copy where need be: detached, and on the CPU. RuntimeError for a tensor that requires grad,\n"
     "TypeError for other devices and for bfloat16, which NumPy doesn't have."},
    {},
};

}  // namespace shunt::python
