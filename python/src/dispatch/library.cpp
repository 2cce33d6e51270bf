#include "python/src/dispatch/library.h"

#include "python/src/base/errors.h"
#include "python/src/base/handler_call.h"
#include "python/src/dispatch/keys.h"
#include "python/src/dispatch/modes.h"
#include "python/src/dispatch/operator.h"

#include <shunt/core/library.h>

#include <fmt/format.h>

#include <bit>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

namespace shunt::python {

namespace {

// ---- places ------------------------------------------------------------------------------------------------------

/// A place in a program's Python, for messages that say where something was registered. The standard has no way to make
/// one; libstdc++'s is a pointer to these four, as the compilers' built-in gives it.
struct PlaceParts {
  const char* file;
  const char* function;
  unsigned line, column;
};
static_assert(sizeof(std::source_location) == sizeof(const PlaceParts*));

}  // namespace

std::source_location placeOf(const char* file, unsigned line) {
  static auto& places = *new std::map<std::pair<std::string, unsigned>, PlaceParts>();
  const auto [place, is_new] = places.try_emplace({file, line});
  if (is_new) place->second = {place->first.first.c_str(), "", line, 0};
  return std::bit_cast<std::source_location>(static_cast<const PlaceParts*>(&place->second));
}

namespace {

// ---- kernels -----------------------------------------------------------------------------------------------------

/// "my_relu (model.py:12)", of the function that the program wrote; its repr where it has no code.
std::string describeKernel(PyObject* kernel) {
  const auto attribute = [](PyObject* o, const char* name) {
    Ref found = Ref::steal(o != nullptr ? PyObject_GetAttrString(o, name) : nullptr);
    PyErr_Clear();
    return found;
  };
  Ref function = Ref::borrow(kernel);
  while (Ref wrapped = attribute(function.get(), "__wrapped__")) function = std::move(wrapped);
  const Ref code = attribute(function.get(), "__code__"), name = attribute(function.get(), "__qualname__");
  const Ref file = attribute(code.get(), "co_filename"), line = attribute(code.get(), "co_firstlineno");
  if (!name || !PyUnicode_Check(name.get()) || !file || !PyUnicode_Check(file.get()) || !line ||
      !PyLong_Check(line.get()))
    return reprOf(kernel);
  const std::string path = utf8(file.get());
  return fmt::format("{} ({}:{})", utf8(name.get()), path.substr(path.rfind('/') + 1), PyLong_AsLong(line.get()));
}

/// A function of Python's as a kernel. The functor is copied and destroyed by threads without the lock.
class PythonKernel {
 public:
  PythonKernel(PyObject* function, bool with_keyset)
      : function_(new Ref(Ref::borrow(function)), release), with_keyset_(with_keyset) {}

  void operator()(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) const {
    const Gil gil;
    OpOverloadObject* const object = operatorObject(op.op());
    const PreparedSchema& schema = preparedOf(*object);
    const IValue* const arguments = stack->data() + (stack->size() - schema.schema.arguments().size());
    PackedArguments packed = packArguments(schema, arguments);
    if (with_keyset_) packed.positional = withFirst(wrapKeySet(keys), packed.positional.get());
    const Ref function = *function_;
    const bool no_keywords = PyDict_GET_SIZE(packed.keywords.get()) == 0;
    const Ref returned = owned(callHandler([&] {
      return PyObject_Call(function.get(), packed.positional.get(), no_keywords ? nullptr : packed.keywords.get());
    }));
    replaceByReturned(schema, returned.get(), stack, [&] { return describeKernel(function.get()); });
  }

 private:
  static Ref withFirst(PyObject* first, PyObject* tuple) {
    const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    Ref out = owned(PyTuple_New(n + 1));
    PyTuple_SET_ITEM(out.get(), 0, first);
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(out.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
    return out;
  }
  static void release(const Ref* function) {
    if (!isInterpreterAlive()) return;
    const Gil gil;
    delete function;
  }
  std::shared_ptr<const Ref> function_;
  bool with_keyset_;
};

CppFunction kernelOf(PyObject* function, bool with_keyset) {
  return CppFunction::makeFromBoxed(PythonKernel(function, with_keyset));
}

bool isFallthrough(PyObject* function) {
  static PyObject* cache = nullptr;
  return function == imported(cache, "shunt.library", "fallthrough_kernel");
}

CppFunction functionFrom(PyObject* function, bool with_keyset) {
  if (isFallthrough(function)) return CppFunction::makeFallthrough();
  if (!PyCallable_Check(function)) raise(PyExc_TypeError, "a kernel must be callable, got " + typeNameOf(function));
  return kernelOf(function, with_keyset);
}

// ---- libraries ---------------------------------------------------------------------------------------------------

constexpr const char* kName = "shunt.Library";

}  // namespace

Library& libraryOf(PyObject* capsule) {
  auto* library = static_cast<Library*>(PyCapsule_GetPointer(capsule, kName));
  if (library == nullptr) throw PythonError();
  return *library;
}

namespace {

void destroyLibrary(PyObject* capsule) {
  auto* library = static_cast<Library*>(PyCapsule_GetPointer(capsule, kName));
  const WithoutGil unlocked;  // kernels' destructors take it
  delete library;
}

PyObject* newLibrary(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char *kind = nullptr, *ns = nullptr, *file = nullptr;
    PyObject* key = nullptr;
    unsigned line = 0;
    if (!PyArg_ParseTuple(arguments, "ssOsI", &kind, &ns, &key, &file, &line)) return nullptr;
    const std::string_view k = kind;
    if (k != "DEF" && k != "FRAGMENT" && k != "IMPL")
      raise(PyExc_ValueError, fmt::format("Unsupported library type: {}; expected 'DEF', 'FRAGMENT' or 'IMPL'", kind));
    std::optional<DispatchKey> for_key;
    if (key != Py_None && PyUnicode_GetLength(key) != 0) for_key = keyFrom(key);
    const std::source_location where = placeOf(file, line);
    const Library::Kind as = k == "DEF"    ? Library::Kind::kDef
                             : k == "IMPL" ? Library::Kind::kImpl
                                           : Library::Kind::kFragment;
    std::unique_ptr<Library> library;
    {
      const WithoutGil unlocked;
      library = std::make_unique<Library>(as, ns, for_key, where);
    }
    PyObject* capsule = check(PyCapsule_New(library.get(), kName, destroyLibrary));
    library.release();
    return capsule;
  });
}

PyObject* define(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char *schema = nullptr, *file = nullptr;
    PyObject* capsule = nullptr;
    unsigned line = 0;
    if (!PyArg_ParseTuple(arguments, "OssI", &capsule, &schema, &file, &line)) return nullptr;
    Library& library = libraryOf(capsule);
    const std::source_location where = placeOf(file, line);
    {
      const WithoutGil unlocked;
      library.def(std::string_view(schema), where);
    }
    forgetSchemas();
    const FunctionSchema parsed = parseSchema(schema);
    return PyUnicode_FromString(parsed.operator_name().str().c_str());
  });
}

PyObject* implement(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char *name = nullptr, *file = nullptr;
    PyObject *capsule = nullptr, *key = nullptr, *function = nullptr;
    int with_keyset = 0;
    unsigned line = 0;
    if (!PyArg_ParseTuple(arguments, "OsOOpsI", &capsule, &name, &key, &function, &with_keyset, &file, &line))
      return nullptr;
    Library& library = libraryOf(capsule);
    CppFunction kernel = functionFrom(function, with_keyset != 0);
    const std::source_location where = placeOf(file, line);
    const DispatchKey k = keyFrom(key);
    {
      const WithoutGil unlocked;
      library.impl(name, dispatch(k, std::move(kernel)), where);
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* addFallback(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char* file = nullptr;
    PyObject *capsule = nullptr, *key = nullptr, *function = nullptr;
    int with_keyset = 0;
    unsigned line = 0;
    if (!PyArg_ParseTuple(arguments, "OOOpsI", &capsule, &key, &function, &with_keyset, &file, &line)) return nullptr;
    Library& library = libraryOf(capsule);
    CppFunction kernel = functionFrom(function, with_keyset != 0);
    const std::source_location where = placeOf(file, line);
    const DispatchKey k = keyFrom(key);
    {
      const WithoutGil unlocked;
      library.fallback(dispatch(k, std::move(kernel)), where);
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* reset(PyObject*, PyObject* capsule) {
  return guarded([&] {
    Library& library = libraryOf(capsule);
    {
      const WithoutGil unlocked;
      library.reset();
    }
    forgetSchemas();
    return Py_NewRef(Py_None);
  });
}

PyObject* parse(PyObject*, PyObject* schema) {
  return guarded([&] { return PyUnicode_FromString(parseSchema(utf8(schema)).str().c_str()); });
}

PyMethodDef functions[] = {
    {"_library_new", newLibrary, METH_VARARGS, nullptr},
    {"_library_define", define, METH_VARARGS, nullptr},
    {"_library_impl", implement, METH_VARARGS, nullptr},
    {"_library_fallback", addFallback, METH_VARARGS, nullptr},
    {"_library_reset", reset, METH_O, nullptr},
    {"_canonical_schema", parse, METH_O, nullptr},
    {},
};

}  // namespace

void addLibrary(PyObject* module) {
  checkStatus(PyModule_AddFunctions(module, functions));
  addBatchingRules(module);
}

}  // namespace shunt::python
