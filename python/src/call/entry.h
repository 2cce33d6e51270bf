// What Python calls by one name: the overloads of an operator, with its out= forms among them.
//
// The table is generated (opgen, emitters/python.cpp). Signatures are made from the schemas at the first call of a
// name, so that importing the package costs nothing for what isn't used.
#pragma once

#include "python/src/call/signature.h"

#include <shunt/core/dispatcher.h>

#include <memory>

namespace shunt::python {

struct Overload;
/// Converts the arguments, which have been matched, calls the operator, and wraps its results. `slots` has an object,
/// or null, for each parameter.
using Invoke = PyObject* (*)(const Overload& overload, PyObject* const* slots);

// What a name's overload may be called as.
inline constexpr uint8_t kFunction = 1, kMethod = 2;

/// An overload as the generated table has it.
struct OverloadSource {
  Operator* op;
  void* call;  // ops::X::call
  Invoke invoke;
  uint8_t called_as;
  /// The overload that takes a tensor where this one takes a number (add.Tensor of add.Scalar), -1 for none; and for
  /// each of its arguments the index of this one's.
  int16_t tensor_form;
  const int8_t* tensor_arguments;
  /// A bit for each argument that is None where it isn't given, though the schema has no default.
  uint32_t optional_arguments;
};

/// A name and its overloads, [first, first + count) of the table.
struct EntrySource {
  const char* name;
  uint16_t first, count;
};

extern const OverloadSource overload_sources[];
extern const EntrySource entry_sources[];
extern const size_t num_entries;

/// The class of a node, and the name that Python shows: for `x * 2` the library records the form with a number, and
/// PyTorch the one with a tensor.
struct NodeName {
  const char* recorded;
  const char* shown;
};
extern const NodeName node_names[];  // ends with one without names

struct Overload {
  const OverloadSource* source;
  Signature signature;
  const Overload* tensor_form = nullptr;
  PyTypeObject* result_type = nullptr;  // of several results with names; made with the overload

  OperatorHandle handle() const { return OperatorHandle(*source->op); }
};

/// Functions and methods of one name.
class Entry {
 public:
  explicit Entry(const EntrySource& source) : source_(&source) {}
  const char* name() const { return source_->name; }
  const std::vector<Overload>& functions() const { return functions_; }
  const std::vector<Overload>& methods() const { return methods_; }
  /// Makes the overloads, if that hasn't been done.
  void prepare() {
    if (!prepared_) [[unlikely]]
      makeOverloads();
  }

 private:
  void makeOverloads();
  const EntrySource* source_;
  bool prepared_ = false;
  std::vector<Overload> functions_, methods_;
};

/// The entry of a name of the table, by its place.
Entry& entryAt(size_t place);
/// Null where the table has no such name.
Entry* findEntry(std::string_view name);
/// The class of the results of the functions of a name, where these have names; borrowed, or null.
PyTypeObject* resultTypeOf(std::string_view name);
/// The overload of this operator as a function, without the arguments of Python alone; for forms that stand in.
const Overload& overloadOf(int source_index);

/// A call as Python makes it.
struct Call {
  PyObject* self;  // of a method; else null
  PyObject* const* args;
  Py_ssize_t num_args;
  PyObject* keyword_names;          // a tuple, or null; their values follow the arguments
  bool or_not_implemented = false;  // where no overload fits: NotImplemented instead of TypeError
};

/// By name: what is called, with a tuple and a dict, where no overload takes the arguments. It may return
/// NotImplemented.
extern PyObject* more_forms;

/// Finds the overload, converts, calls. Null with Python's error set where that fails.
PyObject* callEntry(Entry& entry, const Call& call) noexcept;

/// Entry points for tables of methods and functions: one for each name.
template <size_t kPlace>
PyObject* callFunction(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return callEntry(entryAt(kPlace), {nullptr, args, n, names});
}
template <size_t kPlace>
PyObject* callMethod(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return callEntry(entryAt(kPlace), {self, args, n, names});
}

/// The module's functions and the type's methods, generated; each ends with an entry without a name.
extern PyMethodDef generated_methods[];
struct ModuleFunctions {
  const char* name;  // of a module in shunt._C: _functions, _nn; null at the end
  PyMethodDef* functions;
};
extern const ModuleFunctions generated_modules[];

}  // namespace shunt::python
