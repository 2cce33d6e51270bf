// ResultTemplate: how the result of a recorded call is put together from the tensors that a graph gives.
//
// For threads that hold the interpreter's lock; it may be destroyed by others.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/tensor.h>

#include <memory>
#include <vector>

namespace shunt::python {

class ResultTemplate {
 public:
  /// Of what the recorded function returned, whose tensors are added to `tensors`, each object once. Throws Error for
  /// what is no tensor, value or container, naming it.
  static std::shared_ptr<ResultTemplate> make(PyObject* result, std::vector<Tensor>& tensors);
  /// The tensors of another result in the same order; false where that is structured in another way.
  bool collect(PyObject* result, std::vector<Tensor>& tensors) const;
  /// A new result.
  PyObject* build(const Tensor* tensors) const;
  /// The containers of the result it was made of, by address, while that lives.
  const std::vector<PyObject*>& containers() const { return containers_; }

 private:
  enum class Kind : uint8_t { kTensor, kValue, kTuple, kNamed, kList, kDict, kRegistered };
  struct Node {
    Kind kind;
    size_t index = 0;  // of a tensor
    Ref object = {};   // the value; the type of a container; how a registered one is put together
    Ref context = {};  // of a registered one
    std::vector<Ref> keys = {};
    std::vector<Node> children = {};
  };
  struct Making;
  class Level;
  Node parse(PyObject* o, Making& making);
  static bool collect(const Node& n, PyObject* o, std::vector<Tensor>& tensors);
  static PyObject* build(const Node& n, const Tensor* tensors);

  Node root_{Kind::kValue};
  std::vector<PyObject*> containers_;
};

}  // namespace shunt::python
