#include "structure.h"

#include "values.h"

#include <torch/csrc/autograd/python_variable.h>

namespace shunt_torch {
namespace {

std::string representation(PyObject* o) {
  const auto text = py::reinterpret_steal<py::object>(PyObject_Repr(o));
  if (!text) {
    PyErr_Clear();
    return "an object";
  }
  std::string out = text.cast<std::string>();
  if (out.size() > 80) out = out.substr(0, 77) + "...";
  return out;
}

}  // namespace

Arguments::Arguments(const py::tuple& args, const py::dict& kwargs, const py::function& is_value) {
  roots_.push_back(build("args", args, is_value));
  roots_.push_back(build("kwargs", kwargs, is_value));
}

Arguments::Node Arguments::build(const std::string& path, const py::handle& o, const py::function& is_value) {
  const auto type = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(Py_TYPE(o.ptr())));
  if (THPVariable_Check(o.ptr())) {
    tensors_.emplace_back(path, py::reinterpret_borrow<py::object>(o));
    return {Kind::kTensor, path, type};
  }
  const bool is_tuple = PyTuple_Check(o.ptr());
  if (is_tuple || PyList_CheckExact(o.ptr())) {
    Node n{is_tuple ? Kind::kTuple : Kind::kList, path, type};
    size_t i = 0;
    for (const py::handle& item : py::reinterpret_borrow<py::sequence>(o))
      n.children.push_back(build(path + '[' + std::to_string(i++) + ']', item, is_value));
    return n;
  }
  if (PyDict_CheckExact(o.ptr())) {
    Node n{Kind::kDict, path, type};
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(o)) {
      n.keys.push_back(py::reinterpret_borrow<py::object>(key));
      n.children.push_back(build(path + '[' + representation(key.ptr()) + ']', value, is_value));
    }
    return n;
  }
  const auto object = py::reinterpret_borrow<py::object>(o);
  if (is_value(object).cast<bool>()) return {Kind::kValue, path, object};
  objects_.emplace_back(path, object);
  return {Kind::kObject, path, object};
}

const Arguments::Node* Arguments::firstDifference(const Node& n, PyObject* got, std::vector<PyObject*>& tensors,
                                                  PyObject** at) const {
  *at = got;
  switch (n.kind) {
    case Kind::kTensor:
      if (reinterpret_cast<PyObject*>(Py_TYPE(got)) != n.object.ptr()) return &n;
      tensors.push_back(got);
      return nullptr;
    case Kind::kValue:
      return isSameValue(got, n.object.ptr()) ? nullptr : &n;
    case Kind::kObject:
      return got == n.object.ptr() ? nullptr : &n;
    case Kind::kTuple:
    case Kind::kList: {
      if (reinterpret_cast<PyObject*>(Py_TYPE(got)) != n.object.ptr()) return &n;
      const auto size = static_cast<size_t>(PySequence_Fast_GET_SIZE(got));
      if (size != n.children.size()) return &n;
      for (size_t i = 0; i < size; ++i)
        if (const Node* d =
                firstDifference(n.children[i], PySequence_Fast_GET_ITEM(got, static_cast<Py_ssize_t>(i)), tensors, at))
          return d;
      *at = got;
      return nullptr;
    }
    case Kind::kDict: {
      if (!PyDict_CheckExact(got) || static_cast<size_t>(PyDict_GET_SIZE(got)) != n.children.size()) return &n;
      // The order, too: a program may run over it.
      Py_ssize_t where = 0;
      size_t i = 0;
      for (PyObject *key, *value; PyDict_Next(got, &where, &key, &value); ++i) {
        if (!isSameValue(key, n.keys[i].ptr())) return *at = got, &n;
        if (const Node* d = firstDifference(n.children[i], value, tensors, at)) return d;
      }
      *at = got;
      return nullptr;
    }
  }
  return &n;
}

bool Arguments::match(PyObject* args, PyObject* kwargs, std::vector<PyObject*>& tensors) const {
  PyObject* at = nullptr;
  if (firstDifference(roots_[0], args, tensors, &at) != nullptr) return false;
  if (kwargs == nullptr) return roots_[1].children.empty();
  return firstDifference(roots_[1], kwargs, tensors, &at) == nullptr;
}

std::string Arguments::difference(const py::tuple& args, const py::dict& kwargs) const {
  std::vector<PyObject*> tensors;
  PyObject* at = nullptr;
  const Node* n = firstDifference(roots_[0], args.ptr(), tensors, &at);
  if (n == nullptr) n = firstDifference(roots_[1], kwargs.ptr(), tensors, &at);
  if (n == nullptr) return "";
  const auto nameOf = [](PyObject* type) { return reinterpret_cast<PyTypeObject*>(type)->tp_name; };
  if (n->kind == Kind::kTensor)
    return n->path + ": expected a " + nameOf(n->object.ptr()) + ", got " + representation(at);
  if (n->kind == Kind::kValue || n->kind == Kind::kObject)
    return n->path + ": expected " + representation(n->object.ptr()) + ", got " + representation(at);
  return n->path + ": expected a " + nameOf(n->object.ptr()) + " of " + std::to_string(n->children.size()) +
         " with the same keys, got " + representation(at);
}

Result::Result(const py::object& example) : root_(parse(example)) {}

Result::Node Result::parse(const py::handle& e) {
  if (PyLong_CheckExact(e.ptr())) {
    const int64_t i = e.cast<int64_t>();
    return i >= 0 ? Node{Kind::kMade, i} : Node{Kind::kInput, -1 - i};
  }
  if (PyDict_CheckExact(e.ptr())) {
    Node n{Kind::kDict};
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(e)) {
      n.keys.push_back(py::reinterpret_borrow<py::object>(key));
      n.children.push_back(parse(value));
    }
    return n;
  }
  const bool is_sequence = PyTuple_Check(e.ptr()) || PyList_CheckExact(e.ptr());
  if (!is_sequence && py::hasattr(e, "unflatten")) {  // the context is its last child
    Node n{Kind::kRebuilt};
    n.object = e.attr("unflatten");
    for (const py::handle& child : e.attr("children")) n.children.push_back(parse(child));
    n.children.push_back(parse(e.attr("context")));
    return n;
  }
  if (!is_sequence) throw py::type_error("a result that isn't understood");
  const auto items = py::reinterpret_borrow<py::sequence>(e);
  if (PyTuple_CheckExact(e.ptr()) && items.size() == 2 && py::isinstance<py::str>(items[0]))
    return {Kind::kLiteral, 0, py::object(items[1])};
  Node n{PyList_CheckExact(e.ptr()) ? Kind::kList : PyTuple_CheckExact(e.ptr()) ? Kind::kTuple : Kind::kNamedTuple};
  n.object = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(Py_TYPE(e.ptr())));
  for (const py::handle& item : items) n.children.push_back(parse(item));
  return n;
}

py::object Result::build(const std::vector<at::Tensor>& made, const std::vector<PyObject*>& inputs) const {
  return build(root_, made, inputs);
}

py::object Result::build(const Node& n, const std::vector<at::Tensor>& made, const std::vector<PyObject*>& inputs) {
  switch (n.kind) {
    case Kind::kMade:
      return py::reinterpret_steal<py::object>(THPVariable_Wrap(made[static_cast<size_t>(n.index)]));
    case Kind::kInput:
      return py::reinterpret_borrow<py::object>(inputs[static_cast<size_t>(n.index)]);
    case Kind::kLiteral:
      return n.object;
    case Kind::kTuple: {
      py::tuple out(n.children.size());
      for (size_t i = 0; i < n.children.size(); ++i) out[i] = build(n.children[i], made, inputs);
      return out;
    }
    case Kind::kNamedTuple: {
      py::tuple out(n.children.size());
      for (size_t i = 0; i < n.children.size(); ++i) out[i] = build(n.children[i], made, inputs);
      // torch.return_types take one sequence, collections.namedtuple its elements.
      return py::hasattr(n.object, "_make") ? n.object.attr("_make")(out) : n.object(out);
    }
    case Kind::kList: {
      py::list out(n.children.size());
      for (size_t i = 0; i < n.children.size(); ++i) out[i] = build(n.children[i], made, inputs);
      return out;
    }
    case Kind::kRebuilt: {
      py::list children(n.children.size() - 1);
      for (size_t i = 0; i < children.size(); ++i) children[i] = build(n.children[i], made, inputs);
      return n.object(children, build(n.children.back(), made, inputs));
    }
    case Kind::kDict: {
      py::dict out;
      for (size_t i = 0; i < n.children.size(); ++i) out[n.keys[i]] = build(n.children[i], made, inputs);
      return out;
    }
  }
  return py::none();
}

}  // namespace shunt_torch
