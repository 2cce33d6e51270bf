#include "python/src/types/generator.h"

#include "python/src/base/errors.h"
#include "python/src/call/convert.h"
#include "python/src/types/device.h"

#include <shunt/shunt.h>

#include <random>

namespace shunt::python {

namespace {

struct GeneratorObject {
  PyObject_HEAD Generator generator;
};

Generator& of(PyObject* self) { return reinterpret_cast<GeneratorObject*>(self)->generator; }

PyObject* newGenerator(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"device", nullptr};
    PyObject* device = nullptr;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:Generator", const_cast<char**>(names), &device))
      return nullptr;
    if (device != nullptr && !toDevice(device).is_cpu())
      raise(PyExc_RuntimeError, "Generator: device must be cpu, got " + toDevice(device).str());
    PyObject* self = check(type->tp_alloc(type, 0));
    new (&of(self)) Generator(make_generator());
    return self;
  });
}

void dealloc(PyObject* self) {
  of(self).~Generator();
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
}

/// Seeds are 64 bits; negative ones count from the top, as PyTorch's do.
uint64_t toSeed(PyObject* o) {
  const Ref number = owned(PyNumber_Index(o));
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow == 0) {
    if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    return static_cast<uint64_t>(value);
  }
  const unsigned long long large = PyLong_AsUnsignedLongLong(number.get());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    raise(PyExc_RuntimeError, "Overflow when unpacking long: a seed has 64 bits, got " + reprOf(o));
  }
  return large;
}

PyObject* manualSeed(PyObject* self, PyObject* seed) {
  return guarded([&] {
    of(self).set_current_seed(toSeed(seed));
    return Py_NewRef(self);
  });
}
PyObject* initialSeed(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(of(self).current_seed()); }
PyObject* seed(PyObject* self, PyObject*) {
  return guarded([&] {
    std::random_device source;
    const uint64_t value = (uint64_t{source()} << 32 | source()) >> 1;
    of(self).set_current_seed(value);
    return PyLong_FromUnsignedLongLong(value);
  });
}

// A state is two 64-bit numbers as a tensor of bytes: the seed, and the block that comes next.
PyObject* getState(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto position = of(self)->position();
    Tensor state = empty({16}, kByte);
    std::memcpy(state.data_ptr(), &position.first, 8);
    std::memcpy(static_cast<std::byte*>(state.data_ptr()) + 8, &position.second, 8);
    return wrap(std::move(state));
  });
}
PyObject* setState(PyObject* self, PyObject* given) {
  return guarded([&] {
    if (!isTensor(given)) raise(PyExc_TypeError, "set_state(): expected a Tensor of bytes, got " + typeNameOf(given));
    const Tensor state = tensorOf(given).contiguous();
    if (state.scalar_type() != kByte || state.numel() != 16)
      raise(PyExc_RuntimeError, "set_state(): a state is a uint8 tensor of 16 bytes, as get_state() gives it");
    std::pair<uint64_t, uint64_t> position;
    std::memcpy(&position.first, state.data_ptr(), 8);
    std::memcpy(&position.second, static_cast<std::byte*>(state.data_ptr()) + 8, 8);
    of(self)->set_position(position);
    return Py_NewRef(self);
  });
}
PyObject* cloneState(PyObject* self, PyObject*) {
  return guarded([&] {
    PyObject* copy = check(Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0));
    new (&of(copy)) Generator(make_generator());
    of(copy)->set_position(of(self)->position());
    return copy;
  });
}
PyObject* getDevice(PyObject* self, void*) {
  return guarded([&] { return wrapDevice(of(self).device()); });
}
PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("<shunt.Generator device='%s' seed=%llu>", of(self).device().str().c_str(),
                              static_cast<unsigned long long>(of(self).current_seed()));
}

PyMethodDef methods[] = {
    {"manual_seed", manualSeed, METH_O,
     "manual_seed(seed) -> Generator\n\nStarts the sequence of this seed. Returns itself."},
    {"initial_seed", initialSeed, METH_NOARGS, "initial_seed() -> int\n\nThe seed."},
    {"seed", seed, METH_NOARGS,
     "seed() -> int\n\nStarts the sequence of a seed that the system draws, and returns that."},
    {"get_state", getState, METH_NOARGS, "get_state() -> Tensor\n\nThe place in the sequence, as uint8[16]."},
    {"clone_state", cloneState, METH_NOARGS,
     "clone_state() -> Generator\n\nAnother generator at the same place in the same sequence."},
    {"set_state", setState, METH_O, "set_state(state) -> Generator\n\nGoes on from a place that get_state() gave."},
    {},
};
PyGetSetDef properties[] = {{"device", getDevice, nullptr, "The device that it draws for.", nullptr}, {}};

PyObject* standard_generator = nullptr;  // shunt.default_generator

PyTypeObject GeneratorType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt.Generator",
    .tp_basicsize = sizeof(GeneratorObject),
    .tp_dealloc = dealloc,
    .tp_repr = repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Generator(device='cpu')\n\nA source of random numbers with a seed of its own. Threads may share one.",
    .tp_methods = methods,
    .tp_getset = properties,
    .tp_new = newGenerator,
};

}  // namespace

void addGenerator(PyObject* module) {
  checkStatus(PyType_Ready(&GeneratorType));
  checkStatus(PyModule_AddType(module, &GeneratorType));
  const Ref standard = owned(GeneratorType.tp_alloc(&GeneratorType, 0));
  new (&of(standard.get())) Generator(default_generator());
  checkStatus(PyModule_AddObjectRef(module, "default_generator", standard.get()));
  standard_generator = Py_NewRef(standard.get());
}
bool isGenerator(PyObject* o) { return Py_TYPE(o) == &GeneratorType; }
const Generator& generatorOf(PyObject* o) { return of(o); }

PyObject* wrapGenerator(const Generator& generator) {
  if (generator.impl() == of(standard_generator).impl()) return Py_NewRef(standard_generator);
  PyObject* o = check(GeneratorType.tp_alloc(&GeneratorType, 0));
  new (&of(o)) Generator(generator);
  return o;
}

}  // namespace shunt::python
