// shunt._C._Specialization: what a compiled function of Python's is for one set of arguments that aren't tensors, and
// one state of what it reads besides: a compiled function of C++, and what has to hold for it.
//
// Note [Specialisations]
// C++'s compiled functions compare tensors and the thread's settings (Note [Compiled functions], compile.h). What
// Python code can read besides is compared here: arguments that are no tensors, and what the walk of closures, globals
// and attributes has found (python/common/walk). A call that no specialisation of a function fits is made by Python
// (shunt/compiler.py), which watches it, walks, and adds one. The first call that fits it runs the function, too: what
// it changes of that state is no graph's. From then on C++ decides, call by call.
#pragma once

#include "python/common/state/state_guards.h"
#include "python/src/compile/call_arguments.h"

#include <memory>
#include <string>

namespace shunt::python {

/// What code can ask of a tensor that it finds by itself, without an operator. Its elements are read by the graph.
struct TensorFacts {
  explicit TensorFacts(PyObject* object);
  bool hold() const;
  Ref object;
  uint64_t keys;
  ScalarType dtype;
  bool requires_grad;
  InlineVector<int64_t, 4> sizes, strides;
};

struct Specialization {
  /// The first guard of Python's state that doesn't hold, or -1; the number of guards for a tensor, one more for the
  /// default device.
  int64_t firstFailed() const;

  CallArguments arguments;
  StateGuards guards = {};
  std::vector<TensorFacts> tensors = {};
  Device device = kCPU;                                     // the thread's for new tensors
  std::unique_ptr<detail::CompiledFunction> function = {};  // null: calls run the function of Python
  bool is_confirmed = false;                                // a call was seen to leave all of that as it was
  Ref kept = {};                                            // what the guards need alive
  std::string changed = {};                                 // what the last failed comparison has found
  uint64_t calls_without = 0;                               // that ran the function since `function` is null
};

struct SpecializationObject {
  PyObject_HEAD Specialization* state;
};

extern PyTypeObject SpecializationType;
void addSpecialization(PyObject* module);
inline Specialization& specializationOf(PyObject* o) { return *reinterpret_cast<SpecializationObject*>(o)->state; }

}  // namespace shunt::python
