// The arguments and the result of a captured call: containers with tensors, numbers and other objects in them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/utils/pybind.h>

#include <string>
#include <vector>

namespace shunt_torch {

/// The arguments of a call as they were when it was recorded. Tuples, lists and dicts are taken apart, by their exact
/// types; values have to be the same values, other objects the same objects, and lists and dicts that were the same
/// object have to be, and no others.
class Arguments {
 public:
  /// `is_value`: called for what isn't a tensor or a container; whether it counts by value.
  Arguments(const py::tuple& args, const py::dict& kwargs, const py::function& is_value);
  /// Whether another call has the same arguments but for its tensors, which are added to `tensors`, in order.
  bool match(PyObject* args, PyObject* kwargs, std::vector<PyObject*>& tensors) const;
  /// The first place that differs, for people: "args[1]: expected 3, got 4". Empty where match() is true.
  std::string difference(const py::tuple& args, const py::dict& kwargs) const;
  /// The tensors of the recorded call, and their places.
  const std::vector<std::pair<std::string, py::object>>& tensors() const { return tensors_; }
  /// Lets go of them.
  void forgetTensors() { tensors_.clear(); }
  /// Objects that count by identity, and their places.
  const std::vector<std::pair<std::string, py::object>>& objects() const { return objects_; }
  int traverse(visitproc visit, void* arg) const;

 private:
  enum class Kind : uint8_t { kTensor, kValue, kObject, kTuple, kList, kDict };
  struct Node {
    Kind kind;
    std::string path;
    py::object object;  // the value or object; the type of a container or tensor
    std::vector<py::object> keys = {};
    std::vector<Node> children = {};
    size_t container = 0;  // of a list or dict: the first in order that is the same object
    int traverse(visitproc visit, void* arg) const;
  };
  /// What a comparison has met so far.
  struct Met {
    std::vector<PyObject*>& tensors;
    c10::SmallVector<PyObject*, 8> containers = {};
    PyObject* at = nullptr;  // what differs
  };
  Node build(const std::string& path, const py::handle& object, const py::function& is_value, size_t depth);
  size_t number(PyObject* container);
  const Node* firstDifference(const Node& n, PyObject* got, Met& met) const;
  static bool isSameContainer(const Node& n, PyObject* got, Met& met);
  std::vector<Node> roots_;
  std::vector<PyObject*> containers_;  // while it is built
  size_t elements_ = 0;
  std::vector<std::pair<std::string, py::object>> tensors_, objects_;
};

/// How the result of a call is put together from what a replay has made.
class Result {
 public:
  /// `example`: the recorded result, in which each tensor stands as an int: n for the n-th made by the call, -1 - n for
  /// the n-th input itself. Other objects are in it as literals, wrapped: ("literal", object); those that a registered
  /// function puts together as shunt_torch.registered.Rebuilt.
  explicit Result(const py::object& example);
  /// `objects`: of each input; null where it is looked up by `inputs`.
  py::object build(const std::vector<at::Tensor>& made, const std::vector<PyObject*>& objects,
                   const std::vector<at::Tensor>& inputs) const;
  int traverse(visitproc visit, void* arg) const { return root_.traverse(visit, arg); }

 private:
  enum class Kind : uint8_t { kMade, kInput, kLiteral, kTuple, kNamedTuple, kList, kDict, kRebuilt };
  struct Node {
    Kind kind;
    int64_t index = 0;
    py::object object = {};
    std::vector<py::object> keys = {};
    std::vector<Node> children = {};
    int traverse(visitproc visit, void* arg) const;
  };
  struct Tensors {
    const std::vector<at::Tensor>& made;
    const std::vector<PyObject*>& objects;
    const std::vector<at::Tensor>& inputs;
  };
  static Node parse(const py::handle& example);
  static py::object build(const Node& n, const Tensors& tensors);
  Node root_;
};

}  // namespace shunt_torch
