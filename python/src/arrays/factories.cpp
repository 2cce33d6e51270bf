#include "python/src/arrays/factories.h"

#include "python/src/arrays/arguments.h"
#include "python/src/arrays/numpy_types.h"
#include "python/src/arrays/python_data.h"
#include "python/src/arrays/shared_memory.h"
#include "python/src/base/errors.h"
#include "python/src/base/log.h"
#include "python/src/call/default_device.h"
#include "python/src/types/constants.h"
#include "python/src/types/device.h"
#include "python/src/types/tensor.h"

#include <shunt/core/tls.h>
#include <shunt/shunt.h>

namespace shunt::python {

namespace {

TensorOptions optionsOf(const NewTensor& wanted) { return TensorOptions().dtype(wanted.dtype).device(wanted.device); }

bool isAsWanted(const Tensor& t, const NewTensor& wanted) {
  return (!wanted.dtype || *wanted.dtype == t.scalar_type()) && (!wanted.device || *wanted.device == t.device());
}

/// A new tensor's values as those who watch the thread are to see them. A graph has the numbers and copies them
/// whenever it runs, as they may be written to; without a watcher the tensor is as it was.
Tensor seenByWatchers(Tensor t) {
  if (tls_is_included(DispatchKey::Fake) && !tls_is_included(DispatchKey::Tracer))
    return empty(t.sizes(), t.options());  // a FakeTensorMode keeps no values
  if (tls_is_included(DispatchKey::Tracer) || tls_is_included(DispatchKey::Batched)) t = t.clone();
  if (tls_is_included(DispatchKey::Functionalize)) t = empty(t.sizes(), t.options()).copy_(t);
  return t;
}

bool isWatched() {
  constexpr DispatchKeySet kKeys{DispatchKey::Fake, DispatchKey::Tracer, DispatchKey::Batched,
                                 DispatchKey::Functionalize};
  return (detail::tls_state.included & kKeys.functionalities().raw()) != 0;
}

/// What the default device is, where the call names none.
NewTensor withDevice(NewTensor wanted) {
  if (!wanted.device && defaultDevice() != nullptr) [[unlikely]]
    wanted.device = deviceOf(defaultDevice());
  return wanted;
}

Tensor newTensor(PyObject* data, const NewTensor& wanted) {
  Tensor t = tensorOfData(data, wanted.dtype);
  if (isWatched()) [[unlikely]]
    t = seenByWatchers(std::move(t));
  if (wanted.device && !wanted.device->is_cpu()) t = t.to(TensorOptions(*wanted.device));
  return t;
}

void warnAboutCopy(const char* call) {
  const std::string text = std::string(
                               "To copy construct from a tensor, it is recommended to use "
                               "sourceTensor.detach().clone() or "
                               "sourceTensor.detach().clone().requires_grad_(True), rather than ") +
                           call + "(sourceTensor).";
  warnCaller(PyExc_UserWarning, text);
}

void refusePinning(const char* function, PyObject* pin_memory) {
  if (optionalBool(function, "pin_memory", pin_memory, false))
    raise(PyExc_RuntimeError, std::string(function) +
                                  "(): pin_memory=True requires a CUDA or other accelerator backend; "
                                  "Shunt has no page-locked memory.");
}

PyObject* withGrad(Tensor t, bool requires_grad) {
  if (requires_grad) t.set_requires_grad(true);
  return wrap(std::move(t));
}

PyObject* tensor(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  return guarded([&] {
    if (n == 1 && keyword_names == nullptr && !isTensor(args[0])) [[likely]]
      return wrap(copyOfData(args[0], withDevice({})));
    static constexpr FunctionParameters<5> kParameters{
        "tensor", {"data", "dtype", "device", "requires_grad", "pin_memory"}, 1, 1};
    const auto [data, dtype, device, requires_grad, pin_memory] = kParameters.parse(args, n, keyword_names);
    const NewTensor wanted{optionalDType("tensor", dtype), optionalDevice("tensor", device)};
    const bool with_grad = optionalBool("tensor", "requires_grad", requires_grad, false);
    refusePinning("tensor", pin_memory);
    if (isTensor(data)) warnAboutCopy("shunt.tensor");
    return withGrad(copyOfData(data, withDevice(wanted)), with_grad);
  });
}

PyObject* newTensorLike(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  return guarded([&] {
    static constexpr FunctionParameters<5> kParameters{
        "new_tensor", {"data", "dtype", "device", "requires_grad", "pin_memory"}, 1, 1};
    const auto [data, dtype, device, requires_grad, pin_memory] = kParameters.parse(args, n, keyword_names);
    const Tensor& like = tensorOf(self);
    const NewTensor wanted{optionalDType("new_tensor", dtype).value_or(like.scalar_type()),
                           optionalDevice("new_tensor", device).value_or(like.device())};
    const bool with_grad = optionalBool("new_tensor", "requires_grad", requires_grad, false);
    refusePinning("new_tensor", pin_memory);
    if (isTensor(data)) warnAboutCopy("tensor.new_tensor");
    return withGrad(copyOfData(data, wanted), with_grad);
  });
}

PyObject* asTensorFunction(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  return guarded([&] {
    static constexpr FunctionParameters<3> kParameters{"as_tensor", {"data", "dtype", "device"}, 1, 1};
    const auto [data, dtype, device] = kParameters.parse(args, n, keyword_names);
    return wrap(asTensor(data, withDevice({optionalDType("as_tensor", dtype), optionalDevice("as_tensor", device)})));
  });
}

PyObject* fromNumpy(PyObject*, PyObject* array) {
  return guarded([&] { return wrap(tensorOverArray(array, true)); });
}

PyObject* fromBuffer(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) {
  return guarded([&] {
    static constexpr FunctionParameters<5> kParameters{
        "frombuffer", {"buffer", "dtype", "count", "offset", "requires_grad"}, 2, 1};
    const auto [buffer, dtype, count, offset, requires_grad] = kParameters.parse(args, n, keyword_names);
    const std::optional<ScalarType> type = optionalDType("frombuffer", dtype);
    if (!type) raise(PyExc_TypeError, "frombuffer(): argument 'dtype' must be shunt.dtype, not NoneType");
    return withGrad(tensorOverBuffer(buffer, *type, optionalInt("frombuffer", "count", count, -1),
                                     optionalInt("frombuffer", "offset", offset, 0)),
                    optionalBool("frombuffer", "requires_grad", requires_grad, false));
  });
}

}  // namespace

Tensor copyOfData(PyObject* data, const NewTensor& wanted) {
  if (isTensor(data)) return tensorOf(data).detach().to(optionsOf(wanted), false, true);
  if (isNumpyArray(data)) return seenByWatchers(tensorOverArray(data, false).to(optionsOf(wanted), false, true));
  return newTensor(data, wanted);
}

Tensor asTensor(PyObject* data, const NewTensor& wanted) {
  if (!isTensor(data) && !isNumpyArray(data)) return newTensor(data, wanted);
  Tensor t = isTensor(data) ? tensorOf(data) : tensorOverArray(data, true);
  return isAsWanted(t, wanted) ? t : t.to(optionsOf(wanted));
}

PyMethodDef factory_functions[] = {
    {"tensor", fast(tensor), METH_FASTCALL | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor\n\n"
     "A copy of the values of `data`: a number, nested lists or tuples of numbers, or a NumPy array.\n\n"
     "Without dtype: bool for bools, int64 for ints, the default dtype for floats, and the dtype of an array.\n"
     "ValueError for ragged lists and ints beyond 64 bits, RuntimeError for numbers that the dtype can't hold.\n\n"
     ">>> shunt.tensor([[1., 2.], [3., 4.]])"},
    {"as_tensor", fast(asTensorFunction), METH_FASTCALL | METH_KEYWORDS,
     "as_tensor(data, *, dtype=None, device=None) -> Tensor\n\n"
     "`data` itself where it is a tensor of that dtype and device; without a copy where it is a NumPy array of that\n"
     "dtype; else what tensor() makes of it."},
    {"from_numpy", fromNumpy, METH_O,
     "from_numpy(ndarray) -> Tensor\n\n"
     "A tensor over the memory of a NumPy array, of the same shape and strides: writing to one changes the other.\n"
     "TypeError for dtypes that tensors don't have, ValueError for negative strides and foreign byte order; a warning\n"
     "where the array is read-only."},
    {"frombuffer", fast(fromBuffer), METH_FASTCALL | METH_KEYWORDS,
     "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False) -> Tensor\n\n"
     "A 1-D tensor over the memory of an object with the buffer protocol: `count` elements (-1: all), from `offset`,\n"
     "in bytes, on. ValueError for ranges that don't fit; a warning where the buffer is read-only."},
    {},
};

PyMethodDef tensor_factory_methods[] = {
    {"new_tensor", fast(newTensorLike), METH_FASTCALL | METH_KEYWORDS,
     "new_tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor\n\n"
     "A copy of the values of `data`, as shunt.tensor() makes it, with this tensor's dtype and device."},
    {},
};

}  // namespace shunt::python
