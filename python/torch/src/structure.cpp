#include "structure.h"

#include "values.h"

#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>

namespace shunt_torch {
namespace {

constexpr size_t kMaxDepth = 100, kMaxElements = 100'000;

// Of what counts by value what repr() says, of others what they are: repr() may be the user's, and long.
std::string representation(PyObject* o) {
  if (!isValue(o)) {
    const std::string out = std::string("a ") + Py_TYPE(o)->tp_name;
    const bool has_length = PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o);
    return has_length ? out + " of " + std::to_string(PyObject_Size(o)) : out;
  }
  const auto text = py::reinterpret_steal<py::object>(PyObject_Repr(o));
  if (!text) {
    PyErr_Clear();
    return "an object";
  }
  std::string out = text.cast<std::string>();
  if (out.size() > 80) out = out.substr(0, 77) + "...";
  return out;
}

// Of the nodes of either class.
template <class Node>
int traverseNode(const Node& n, visitproc visit, void* arg) {
  Py_VISIT(n.object.ptr());
  for (const py::object& key : n.keys) Py_VISIT(key.ptr());
  for (const Node& child : n.children)
    if (const int stop = child.traverse(visit, arg)) return stop;
  return 0;
}

}  // namespace

int Arguments::Node::traverse(visitproc visit, void* arg) const { return traverseNode(*this, visit, arg); }
int Result::Node::traverse(visitproc visit, void* arg) const { return traverseNode(*this, visit, arg); }

int Arguments::traverse(visitproc visit, void* arg) const {
  for (const Node& n : roots_)
    if (const int stop = n.traverse(visit, arg)) return stop;
  for (const auto& [path, tensor] : tensors_) Py_VISIT(tensor.ptr());
  for (const auto& [path, object] : objects_) Py_VISIT(object.ptr());
  return 0;
}

Arguments::Arguments(const py::tuple& args, const py::dict& kwargs, const py::function& is_value) {
  roots_.push_back(build("args", args, is_value, 0));
  roots_.push_back(build("kwargs", kwargs, is_value, 0));
  containers_.clear();
}

size_t Arguments::number(PyObject* container) {
  containers_.push_back(container);
  return static_cast<size_t>(std::find(containers_.begin(), containers_.end(), container) - containers_.begin());
}

Arguments::Node Arguments::build(const std::string& path, const py::handle& o, const py::function& is_value,
                                 size_t depth) {
  if (depth > kMaxDepth) throw py::value_error("arguments are nested more than " + std::to_string(kMaxDepth) + " deep");
  if (++elements_ > kMaxElements)
    throw py::value_error("arguments have more than " + std::to_string(kMaxElements) + " elements");
  const auto type = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(Py_TYPE(o.ptr())));
  if (THPVariable_Check(o.ptr())) {
    tensors_.emplace_back(path, py::reinterpret_borrow<py::object>(o));
    return {Kind::kTensor, path, type};
  }
  const bool is_tuple = PyTuple_Check(o.ptr());
  if (is_tuple || PyList_CheckExact(o.ptr())) {
    Node n{is_tuple ? Kind::kTuple : Kind::kList, path, type};
    if (!is_tuple) n.container = number(o.ptr());
    size_t i = 0;
    for (const py::handle& item : py::reinterpret_borrow<py::sequence>(o))
      n.children.push_back(build(path + '[' + std::to_string(i++) + ']', item, is_value, depth + 1));
    return n;
  }
  if (PyDict_CheckExact(o.ptr())) {
    Node n{Kind::kDict, path, type};
    n.container = number(o.ptr());
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(o)) {
      n.keys.push_back(py::reinterpret_borrow<py::object>(key));
      n.children.push_back(build(path + '[' + representation(key.ptr()) + ']', value, is_value, depth + 1));
    }
    return n;
  }
  const auto object = py::reinterpret_borrow<py::object>(o);
  if (is_value(object).cast<bool>()) return {Kind::kValue, path, object};
  objects_.emplace_back(path, object);
  return {Kind::kObject, path, object};
}

bool Arguments::isSameContainer(const Node& n, PyObject* got, Met& met) {
  met.containers.push_back(got);
  return std::find(met.containers.begin(), met.containers.end(), got) - met.containers.begin() ==
         static_cast<ptrdiff_t>(n.container);
}

const Arguments::Node* Arguments::firstDifference(const Node& n, PyObject* got, Met& met) const {
  met.at = got;
  switch (n.kind) {
    case Kind::kTensor:
      if (reinterpret_cast<PyObject*>(Py_TYPE(got)) != n.object.ptr()) return &n;
      met.tensors.push_back(got);
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
      if (n.kind == Kind::kList ? !isSameContainer(n, got, met) : hasAttributes(got)) return &n;
      for (size_t i = 0; i < size; ++i)
        if (const Node* d =
                firstDifference(n.children[i], PySequence_Fast_GET_ITEM(got, static_cast<Py_ssize_t>(i)), met))
          return d;
      met.at = got;
      return nullptr;
    }
    case Kind::kDict: {
      if (!PyDict_CheckExact(got) || static_cast<size_t>(PyDict_GET_SIZE(got)) != n.children.size()) return &n;
      if (!isSameContainer(n, got, met)) return &n;
      // The order, too: a program may run over it.
      Py_ssize_t where = 0;
      size_t i = 0;
      for (PyObject *key, *value; PyDict_Next(got, &where, &key, &value); ++i) {
        if (!isSameValue(key, n.keys[i].ptr())) return met.at = got, &n;
        if (const Node* d = firstDifference(n.children[i], value, met)) return d;
      }
      met.at = got;
      return nullptr;
    }
  }
  return &n;
}

bool Arguments::match(PyObject* args, PyObject* kwargs, std::vector<PyObject*>& tensors) const {
  Met met{tensors};
  if (firstDifference(roots_[0], args, met) != nullptr) return false;
  if (kwargs == nullptr) return roots_[1].children.empty();
  return firstDifference(roots_[1], kwargs, met) == nullptr;
}

std::string Arguments::difference(const py::tuple& args, const py::dict& kwargs) const {
  std::vector<PyObject*> tensors;
  Met met{tensors};
  const Node* n = firstDifference(roots_[0], args.ptr(), met);
  if (n == nullptr) n = firstDifference(roots_[1], kwargs.ptr(), met);
  if (n == nullptr) return "";
  PyObject* const at = met.at;
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

py::object Result::build(const std::vector<at::Tensor>& made, const std::vector<PyObject*>& objects,
                         const std::vector<at::Tensor>& inputs) const {
  return build(root_, {made, objects, inputs});
}

py::object Result::build(const Node& n, const Tensors& tensors) {
  const auto index = static_cast<size_t>(n.index);
  switch (n.kind) {
    case Kind::kMade:
      return py::reinterpret_steal<py::object>(THPVariable_Wrap(tensors.made.at(index)));
    case Kind::kInput:
      if (PyObject* const object = tensors.objects.at(index)) return py::reinterpret_borrow<py::object>(object);
      return py::reinterpret_steal<py::object>(THPVariable_Wrap(tensors.inputs.at(index)));
    case Kind::kLiteral:
      return n.object;
    case Kind::kTuple: {
      py::tuple out(n.children.size());
      for (size_t i = 0; i < n.children.size(); ++i) out[i] = build(n.children[i], tensors);
      return out;
    }
    case Kind::kNamedTuple: {
      py::tuple out(n.children.size());
      for (size_t i = 0; i < n.children.size(); ++i) out[i] = build(n.children[i], tensors);
      // torch.return_types take one sequence, collections.namedtuple its elements.
      return py::hasattr(n.object, "_make") ? n.object.attr("_make")(out) : n.object(out);
    }
    case Kind::kList: {
      py::list out(n.children.size());
      for (size_t i = 0; i < n.children.size(); ++i) out[i] = build(n.children[i], tensors);
      return out;
    }
    case Kind::kRebuilt: {
      py::list children(n.children.size() - 1);
      for (size_t i = 0; i < children.size(); ++i) children[i] = build(n.children[i], tensors);
      return n.object(children, build(n.children.back(), tensors));
    }
    case Kind::kDict: {
      py::dict out;
      for (size_t i = 0; i < n.children.size(); ++i) out[n.keys[i]] = build(n.children[i], tensors);
      return out;
    }
  }
  return py::none();
}

}  // namespace shunt_torch
