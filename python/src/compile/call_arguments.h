// CallArguments: the arguments that a specialisation of a compiled function is for. Tensors may be others in each call;
// all else has to be the same: numbers and strings by value, containers by their structure, other objects by identity.
//
// For threads that hold the interpreter's lock.
#pragma once

#include "python/src/base/python.h"

#include <shunt/compile/compile.h>

#include <span>
#include <string>
#include <vector>

namespace shunt::python {

/// The arguments of a call by vectorcall.
struct Arguments {
  PyObject* const* values;
  size_t count;        // of positional ones
  PyObject* keywords;  // their names: a tuple, or null
};

/// What a call gives a graph.
struct FoundTensors {
  detail::CompileArguments call;
  /// The objects of the tensors to which `call` points: another thread may take them out of the caller's lists.
  InlineVector<Ref, 8> held = {};
  /// Numbers that count as tensors: tensors of these calls' own, to which `call` points.
  std::vector<Tensor> lifted = {};
};

constexpr size_t kMaxLifted = 8;

class CallArguments {
 public:
  /// The call's. `lifted`: places of floats, as floatPlaces() names them, that are tensors to the graph, at most eight.
  /// Throws PythonError, of ValueError, for what is nested too deep or holds too much, and of TypeError for a tensor
  /// that has attributes or a class of a program's.
  CallArguments(const Arguments& arguments, PyObject* lifted);
  /// Whether another call has the same arguments but for its tensors, which are added to `found`, in order.
  bool match(const Arguments& arguments, FoundTensors& found) const;
  /// The first place that differs, for people: "args[1]: expected 3, got 4". Empty where match() is true.
  std::string difference(const Arguments& arguments) const;
  /// The arguments with copies of containers, and `tensors` in their places: a tuple and a dict.
  std::pair<Ref, Ref> rebuilt(const Arguments& arguments, std::span<const Tensor> tensors) const;
  /// New lists of pairs (path, object): of tensors, of objects that count by identity, and of floats.
  PyObject* tensorPlaces() const;
  PyObject* objectPlaces() const;
  PyObject* floatPlaces() const;
  /// Lets go of the first call's tensors.
  void forgetTensors() { tensors_.clear(); }
  int traverse(visitproc visit, void* arg) const;

 private:
  enum class Kind : uint8_t { kTensor, kValue, kLifted, kObject, kTuple, kList, kDict };
  struct Node {
    Kind kind;
    std::string path;
    Ref object;  // the value or object; the type of a container or tensor
    std::vector<Ref> keys = {};
    std::vector<Node> children = {};
    size_t container = 0;  // of a list or dict: the first in order that is the same object
    int traverse(visitproc visit, void* arg) const;
  };
  using Places = std::vector<std::pair<std::string, Ref>>;
  struct Met;
  struct Rebuilding;
  Node build(const std::string& path, PyObject* object, size_t depth);
  size_t number(PyObject* container);
  bool noteFloats(const std::string& path, PyObject* object);
  bool isLifted(const std::string& path) const;
  const Node* firstDifference(const Node& n, PyObject* got, Met& met) const;
  const Node* firstDifference(const Arguments& arguments, Met& met) const;
  static bool isSameContainer(const Node& n, PyObject* got, Met& met);
  static size_t tensorsIn(const Node& n);
  static Ref rebuild(const Node& n, PyObject* object, Rebuilding& state);
  static PyObject* listOf(const Places& places);

  size_t positional_ = 0;
  std::vector<Ref> keywords_;
  std::vector<Node> roots_;            // positional ones, then those by name
  std::vector<PyObject*> containers_;  // while it is built
  PyObject* lifted_ = nullptr;         // while it is built
  size_t elements_ = 0, num_lifted_ = 0;
  Places tensors_, objects_, floats_;
};

}  // namespace shunt::python
