#include "python/src/types/tensor.h"

#include "python/src/arrays/buffer.h"
#include "python/src/arrays/dlpack.h"
#include "python/src/arrays/factories.h"
#include "python/src/arrays/numpy.h"
#include "python/src/autograd/node_object.h"
#include "python/src/autograd/traverse.h"
#include "python/src/base/errors.h"
#include "python/src/call/entry.h"
#include "python/src/dispatch/subclasses.h"
#include "python/src/dispatch/torch_function.h"
#include "python/src/types/constants.h"
#include "python/src/types/storage.h"
#include "python/src/types/tensor_methods.h"

#include <shunt/tensor/wrapper_kind.h>
#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <string_view>

namespace shunt::python {

PyTypeObject* tensor_class = nullptr;
PyTypeObject* parameter_class = nullptr;

namespace {

TensorObject* asObject(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }

// Objects of shunt.Tensor that were freed, for those that come next: taking memory from Python costs 40 ns.
constexpr size_t kMaxSpare = 256;
PyObject* spare[kMaxSpare];
size_t num_spare = 0;

bool hasState(const TensorObject* o) {
  return o->dict != nullptr || o->weak_list != nullptr || o->backward_hooks != nullptr || Py_TYPE(o) != tensor_class;
}

PyObject* newObject(PyTypeObject* type) {
  PyObject* o = nullptr;
  if (type == tensor_class && num_spare > 0) {
    o = PyObject_Init(spare[--num_spare], type);
  } else if (type == tensor_class) {
    // Not tracked by the collector until it can be part of a cycle: see setAttribute.
    o = check(reinterpret_cast<PyObject*>(_PyObject_GC_New(type)));
  } else {
    o = check(type->tp_alloc(type, 0));
  }
  new (&asObject(o)->tensor) Tensor();
  asObject(o)->dict = asObject(o)->weak_list = asObject(o)->backward_hooks = nullptr;
  asObject(o)->collection = 0;
  return o;
}

/// The object changes sides: see Note [One object for one tensor]. Its count is 0 when this is called.
void giveToTensor(TensorObject* o) {
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(o), 1);
  o->tensor.unsafeGetTensorImpl()->set_owns_foreign_object(true);
  // Another thread may let go of the tensor meanwhile; then this ends it, and the object with it.
  const auto last = intrusive_ptr<TensorImpl>::reclaim(o->tensor.unsafeGetTensorImpl());
}

/// A tensor for the last moments of an object whose class has a __del__: the same elements. Else an undefined one.
Tensor forFinaliser(TensorObject* o, const TensorImpl& ending) noexcept {
  if (Py_TYPE(o)->tp_finalize == nullptr || ending.key_set().hasAny(kWrapperKeys) || !ending.has_storage()) return {};
  try {
    Tensor alias = aliasOf(ending);
    alias.unsafeGetTensorImpl()->set_foreign_object(o);
    return alias;
  } catch (const std::exception&) {
    return {};  // there is no memory
  }
}

/// What a tensor that owns its object calls at its end, on any thread. The object refers to it without counting.
void releaseObject(void* object) noexcept {
  if (!isInterpreterAlive()) return;
  const Gil gil;
  if (!isTensor(static_cast<PyObject*>(object))) return releaseNodeObject(static_cast<PyObject*>(object));
  auto* o = static_cast<TensorObject*>(object);
  // Not ended: what it refers to is being destroyed.
  new (&o->tensor) Tensor(forFinaliser(o, *o->tensor.unsafeGetTensorImpl()));
  drop(reinterpret_cast<PyObject*>(o));
}

/// Whether the object lives on, its tensor's.
bool livesOn(PyObject* self) {
  TensorObject* o = asObject(self);
  if (!o->tensor.defined() || o->tensor.use_count() == 1 || !hasState(o)) return false;
  giveToTensor(o);
  return true;
}

void freeParts(TensorObject* o) {
  if (o->tensor.defined()) {
    o->tensor.unsafeGetTensorImpl()->set_foreign_object(nullptr);
    o->tensor.~Tensor();
    new (&o->tensor) Tensor();
  }
  Py_CLEAR(o->dict);
  Py_CLEAR(o->backward_hooks);
}

/// Calls f(PyObject**) for the attributes that classes name in __slots__, until it returns something else than 0.
template <class F>
int forSlots(PyObject* self, F&& f) {
  for (PyTypeObject* t = Py_TYPE(self); t != nullptr && t != &TensorBaseType; t = t->tp_base) {
    if (t->tp_members == nullptr || !(t->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    for (const PyMemberDef* m = t->tp_members; m->name != nullptr; ++m) {
      if (m->type != T_OBJECT_EX || (m->flags & READONLY) != 0) continue;
      auto** place = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + m->offset);
      if (const int status = f(place); status != 0) return status;
    }
  }
  return 0;
}

void dealloc(PyObject* self);

void endObject(PyObject* self) {
  TensorObject* o = asObject(self);
  PyTypeObject* const type = Py_TYPE(self);
  if (type == tensor_class && !hasState(o)) [[likely]] {
    freeParts(o);
    if (num_spare < kMaxSpare && !PyObject_GC_IsTracked(self)) {
      spare[num_spare++] = self;
    } else {
      PyObject_GC_Del(self);
    }
    Py_DECREF(type);
    return;
  }
  if (livesOn(self)) return;
  if (type->tp_finalize != nullptr && PyObject_CallFinalizerFromDealloc(self) < 0) return;
  if (PyObject_GC_IsTracked(self)) PyObject_GC_UnTrack(self);
  Py_TRASHCAN_BEGIN(self, dealloc) if (o->weak_list != nullptr) PyObject_ClearWeakRefs(self);
  if (type != tensor_class)
    forSlots(self, [](PyObject** place) {
      Py_CLEAR(*place);
      return 0;
    });
  freeParts(o);
  PyObject_GC_Del(self);
  Py_DECREF(type);
  Py_TRASHCAN_END
}

// Counts the collector's runs, from 1 on.
uint32_t collection = 1;

/// In gc.callbacks: (phase, info).
PyObject* noteCollection(PyObject*, PyObject* const*, Py_ssize_t) {
  ++collection;
  Py_RETURN_NONE;
}
PyMethodDef note_collection = {
    "_note_collection", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(noteCollection)), METH_FASTCALL, nullptr};

void watchCollector() {
  const Ref gc = owned(PyImport_ImportModule("gc"));
  const Ref callbacks = owned(PyObject_GetAttrString(gc.get(), "callbacks"));
  const Ref callback = owned(PyCFunction_New(&note_collection, nullptr));
  checkStatus(PyList_Append(callbacks.get(), callback.get()));
}

/// See Note [One object for one tensor].
bool isHidden(TensorObject* o) {
  if (o->collection != collection) {
    o->collection = collection;
    o->is_shared = o->tensor.defined() && o->tensor.use_count() > 1;
  }
  return o->is_shared;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  TensorObject* o = asObject(self);
  if ((Py_TYPE(self)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0) Py_VISIT(Py_TYPE(self));
  // What others have, too, shows nothing: Note [Circles through graphs] in autograd/traverse.h.
  if (isHidden(o)) return 0;
  Py_VISIT(o->dict);
  Py_VISIT(o->backward_hooks);
  const int status = forSlots(self, [&](PyObject** place) {
    Py_VISIT(*place);
    return 0;
  });
  if (status != 0) return status;
  return o->tensor.defined() ? visitHistory(o->tensor, visit, arg) : 0;
}

// For shunt.Tensor and every class derived from it; the metaclass puts it there. What it frees may run what the program
// wrote: Note [Threads at the end].
void dealloc(PyObject* self) {
  try {
    endObject(self);
  } catch (...) {
    waitForEnd();
  }
}

int clear(PyObject* self) {
  Py_CLEAR(asObject(self)->dict);
  Py_CLEAR(asObject(self)->backward_hooks);
  return 0;
}

int setAttribute(PyObject* self, PyObject* name, PyObject* value) {
  const int status = PyObject_GenericSetAttr(self, name, value);
  if (asObject(self)->dict != nullptr && !PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
  return status;
}

PyObject* getDict(PyObject* self, void* context) {
  PyObject* dict = PyObject_GenericGetDict(self, context);
  if (dict != nullptr && !PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
  return dict;
}

PyGetSetDef dict_property[] = {{"__dict__", getDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};

PyObject* newTensor(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return guarded([&] { return makeTensorOfClass(type, arguments, keywords); });
}

Py_hash_t hash(PyObject* self) { return _Py_HashPointer(self); }

// The metaclass: classes derived from Tensor are freed, and seen by the collector, as Tensor is.
int initClass(PyObject* cls, PyObject* arguments, PyObject* keywords) {
  if (PyType_Type.tp_init(cls, arguments, keywords) < 0) return -1;
  reinterpret_cast<PyTypeObject*>(cls)->tp_dealloc = dealloc;
  reinterpret_cast<PyTypeObject*>(cls)->tp_traverse = traverse;
  return 0;
}

/// <class 'torch.Tensor'> where programs see Shunt as torch, for the package's classes.
PyObject* reprOfClass(PyObject* cls) {
  Ref text = Ref::steal(PyType_Type.tp_repr(cls));
  constexpr std::string_view kPrefix = "<class 'shunt.";
  if (!text || std::strcmp(shownPackage(), "shunt") == 0) return text.release();
  return guarded([&] {
    const std::string ours = utf8(text.get());
    if (!ours.starts_with(kPrefix)) return text.release();
    return PyUnicode_FromFormat("<class '%s.%s", shownPackage(), ours.c_str() + kPrefix.size());
  });
}

PyTypeObject TensorMetaType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt._C._TensorMeta",
    .tp_repr = reprOfClass,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_doc = "The class of Tensor and of the classes derived from it.",
    .tp_init = initClass,
};

}  // namespace

PyTypeObject TensorBaseType = {
    .ob_base = PyVarObject_HEAD_INIT(&TensorMetaType, 0).tp_name = "shunt._C.TensorBase",
    .tp_basicsize = sizeof(TensorObject),
    .tp_dealloc = dealloc,
    .tp_as_number = &tensor_number_methods,
    .tp_as_mapping = &tensor_mapping_methods,
    .tp_hash = hash,
    .tp_setattro = setAttribute,
    .tp_as_buffer = &tensor_buffer,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "What shunt.Tensor has from C++.",
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_richcompare = compareTensors,
    .tp_weaklistoffset = offsetof(TensorObject, weak_list),
    .tp_dictoffset = offsetof(TensorObject, dict),
    .tp_new = newTensor,
};

Tensor aliasOf(const TensorImpl& t) {
  auto impl = make_intrusive<TensorImpl>(Storage(t.storage()), keySetFor(t.device()), t.dtype());
  impl->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
  return Tensor(std::move(impl));
}

PyObject* wrap(Tensor tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  const TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (void* known = impl->foreign_object(); known != nullptr) {
    auto* o = static_cast<PyObject*>(known);
    if (!impl->owns_foreign_object()) return Py_NewRef(o);
    // Back on Python's side: the reference that was the tensor's is the caller's now, and the object's counts again.
    impl->set_owns_foreign_object(false);
    new (&asObject(o)->tensor) Tensor(std::move(tensor));
    return o;
  }
  if (impl->key_set().hasAny(kClassKeys)) [[unlikely]]
    return wrapOfClass(std::move(tensor));
  return wrapAs(tensor_class, std::move(tensor));
}

PyObject* wrapAs(PyTypeObject* type, Tensor tensor) {
  const TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (impl->foreign_object() != nullptr)
    raise(PyExc_RuntimeError, std::string("Creating a new Tensor subclass ") + type->tp_name +
                                  " but the raw Tensor object is already associated to a Python object of type " +
                                  typeNameOf(static_cast<PyObject*>(impl->foreign_object())));
  PyObject* o = newObject(type);
  impl->set_foreign_object(o);
  new (&asObject(o)->tensor) Tensor(std::move(tensor));
  return o;
}

namespace {

const char* nameOf(const PyMethodDef& m) { return m.ml_name; }
const char* nameOf(const PyGetSetDef& g) { return g.name; }

/// The tables of several files as one, which the type keeps.
template <class Def>
Def* joined(std::initializer_list<const Def*> tables) {
  auto& all = *new std::vector<Def>();
  for (const Def* table : tables)
    for (; nameOf(*table) != nullptr; ++table) all.push_back(*table);
  all.push_back({});
  return all.data();
}

}  // namespace

void addTensorType(PyObject* module) {
  TensorBaseType.tp_methods =
      // The first of a name counts.
      joined<PyMethodDef>({tensor_conversion_methods, tensor_factory_methods, tensor_storage_methods,
                           tensor_numpy_methods, generated_methods, tensor_value_methods, tensor_metadata_methods,
                           tensor_autograd_methods});
  TensorBaseType.tp_getset = joined<PyGetSetDef>({tensor_metadata_properties, tensor_autograd_properties});
  offerToTorchFunction(TensorBaseType, generated_methods);
  TensorMetaType.tp_base = &PyType_Type;
  checkStatus(PyType_Ready(&TensorMetaType));
  checkStatus(PyType_Ready(&TensorBaseType));
  const Ref dict = owned(PyDescr_NewGetSet(&TensorBaseType, dict_property));
  checkStatus(PyDict_SetItemString(TensorBaseType.tp_dict, "__dict__", dict.get()));
  addExchangeApi(&TensorBaseType);
  PyType_Modified(&TensorBaseType);
  set_foreign_objects({.release = releaseObject});
  watchCollector();
  checkStatus(PyModule_AddObjectRef(module, "TensorBase", reinterpret_cast<PyObject*>(&TensorBaseType)));
  checkStatus(PyModule_AddObjectRef(module, "_TensorMeta", reinterpret_cast<PyObject*>(&TensorMetaType)));
}

}  // namespace shunt::python
