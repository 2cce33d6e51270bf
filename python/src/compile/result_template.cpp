#include "python/src/compile/result_template.h"

#include "python/common/state/values.h"
#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/shunt.h>

#include <string>

namespace shunt::python {

namespace {

// shunt.utils._pytree.SUPPORTED_NODES, and its entry for exactly this class; none for others.
Ref definitionOf(PyObject* o) {
  static PyObject* cache = nullptr;
  PyObject* const nodes = imported(cache, "shunt.utils._pytree", "SUPPORTED_NODES");
  return Ref::borrow(PyDict_GetItemWithError(nodes, reinterpret_cast<PyObject*>(Py_TYPE(o))));
}

/// Children, a list or tuple, and context.
std::pair<Ref, Ref> flattened(PyObject* definition, PyObject* o) {
  const Ref function = owned(PyObject_GetAttrString(definition, "flatten_fn"));
  const Ref both = owned(PyObject_CallOneArg(function.get(), o));
  Ref children = owned(PySequence_GetItem(both.get(), 0)), context = owned(PySequence_GetItem(both.get(), 1));
  return {owned(PySequence_List(children.get())), std::move(context)};
}

bool isNamed(PyObject* o) {
  return PyTuple_Check(o) && !PyTuple_CheckExact(o) &&
         (PyObject_HasAttrString(o, "_make") || PyObject_HasAttrString(o, "n_sequence_fields"));
}

}  // namespace

struct ResultTemplate::Making {
  std::vector<Tensor>& tensors;
  std::vector<PyObject*> objects = {};  // of the tensors
  size_t depth = 0;
};

/// One level of a result, for a scope.
class ResultTemplate::Level {
 public:
  explicit Level(size_t& depth) : depth_(depth) {
    if (depth >= kMaxDepth) throw Error("the function returns a container that holds itself, or is nested too deep");
    ++depth_;
  }
  ~Level() { --depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  static constexpr size_t kMaxDepth = 100;
  size_t& depth_;
};

std::shared_ptr<ResultTemplate> ResultTemplate::make(PyObject* result, std::vector<Tensor>& tensors) {
  std::shared_ptr<ResultTemplate> made(new ResultTemplate, [](ResultTemplate* t) {
    if (!isInterpreterAlive()) return;
    const Gil gil;
    delete t;
  });
  Making making{tensors};
  made->root_ = made->parse(result, making);
  return made;
}

ResultTemplate::Node ResultTemplate::parse(PyObject* o, Making& making) {
  if (isTensor(o)) {
    for (size_t i = 0; i < making.objects.size(); ++i)
      if (making.objects[i] == o) return {Kind::kTensor, i};
    if (!isPlainTensor(o))
      throw Error("the function returns a " + typeNameOf(o) + ", and subclasses of Tensor aren't recorded");
    making.objects.push_back(o);
    making.tensors.push_back(tensorOf(o));
    return {Kind::kTensor, making.objects.size() - 1};
  }
  if (isValue(o)) return {Kind::kValue, 0, Ref::borrow(o)};
  const Level level(making.depth);
  const bool is_list = PyList_CheckExact(o);
  if (is_list || PyTuple_CheckExact(o) || isNamed(o)) {
    if (hasAttributes(o)) throw Error("the function returns a tuple with attributes, which a graph would leave out");
    if (!PyTuple_CheckExact(o)) containers_.push_back(o);
    Node n{is_list                 ? Kind::kList
           : PyTuple_CheckExact(o) ? Kind::kTuple
                                   : Kind::kNamed,
           0, Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o)))};
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      n.children.push_back(parse(PySequence_Fast_GET_ITEM(o, i), making));
    return n;
  }
  if (PyDict_CheckExact(o)) {
    containers_.push_back(o);
    Node n{Kind::kDict, 0, Ref::borrow(reinterpret_cast<PyObject*>(&PyDict_Type))};
    Py_ssize_t at = 0;
    for (PyObject *key = nullptr, *value = nullptr; PyDict_Next(o, &at, &key, &value);) {
      if (!isValue(key)) throw Error("the function returns a dict with keys that aren't numbers, strings and the like");
      n.keys.push_back(Ref::borrow(key));
      n.children.push_back(parse(value, making));
    }
    return n;
  }
  const Ref definition = definitionOf(o);
  if (!definition)
    throw Error(
        "the function returns a " + typeNameOf(o) +
        "; a graph can return tensors, numbers, strings, None, tuples, lists, dicts, and objects of classes that "
        "shunt.utils._pytree knows");
  containers_.push_back(o);
  auto [children, context] = flattened(definition.get(), o);
  Node n{Kind::kRegistered, 0, owned(PyObject_GetAttrString(definition.get(), "unflatten_fn")), std::move(context)};
  n.keys.push_back(Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o))));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(children.get()); ++i)
    n.children.push_back(parse(PyList_GET_ITEM(children.get(), i), making));
  return n;
}

bool ResultTemplate::collect(PyObject* result, std::vector<Tensor>& tensors) const {
  return collect(root_, result, tensors);
}

bool ResultTemplate::collect(const Node& n, PyObject* o, std::vector<Tensor>& tensors) {
  switch (n.kind) {
    case Kind::kTensor:
      if (!isTensor(o)) return false;
      if (n.index == tensors.size()) tensors.push_back(tensorOf(o));
      return tensors.size() > n.index && tensors[n.index].is_same(tensorOf(o));
    case Kind::kValue:
      return isSameValue(n.object.get(), o);
    case Kind::kTuple:
    case Kind::kNamed:
    case Kind::kList: {
      if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != n.object.get()) return false;
      if (static_cast<size_t>(PySequence_Fast_GET_SIZE(o)) != n.children.size()) return false;
      for (size_t i = 0; i < n.children.size(); ++i)
        if (!collect(n.children[i], PySequence_Fast_GET_ITEM(o, static_cast<Py_ssize_t>(i)), tensors)) return false;
      return true;
    }
    case Kind::kDict: {
      if (!PyDict_CheckExact(o) || static_cast<size_t>(PyDict_GET_SIZE(o)) != n.children.size()) return false;
      Py_ssize_t at = 0;
      size_t i = 0;
      for (PyObject *key = nullptr, *value = nullptr; PyDict_Next(o, &at, &key, &value); ++i)
        if (!isSameValue(n.keys[i].get(), key) || !collect(n.children[i], value, tensors)) return false;
      return true;
    }
    case Kind::kRegistered: {
      const Ref definition = definitionOf(o);
      if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != n.keys[0].get() || !definition) return false;
      const auto [children, context] = flattened(definition.get(), o);
      if (static_cast<size_t>(PyList_GET_SIZE(children.get())) != n.children.size()) return false;
      for (size_t i = 0; i < n.children.size(); ++i)
        if (!collect(n.children[i], PyList_GET_ITEM(children.get(), static_cast<Py_ssize_t>(i)), tensors)) return false;
      return PyObject_RichCompareBool(context.get(), n.context.get(), Py_EQ) == 1;
    }
  }
  return false;
}

PyObject* ResultTemplate::build(const Tensor* tensors) const { return build(root_, tensors); }

PyObject* ResultTemplate::build(const Node& n, const Tensor* tensors) {
  switch (n.kind) {
    case Kind::kTensor:
      return check(wrap(tensors[n.index]));
    case Kind::kValue:
      return Py_NewRef(n.object.get());
    case Kind::kTuple:
    case Kind::kNamed: {
      Ref items = owned(PyTuple_New(static_cast<Py_ssize_t>(n.children.size())));
      for (size_t i = 0; i < n.children.size(); ++i)
        PyTuple_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), build(n.children[i], tensors));
      if (n.kind == Kind::kTuple) return items.release();
      if (PyObject_HasAttrString(n.object.get(), "_make"))
        return check(PyObject_CallMethod(n.object.get(), "_make", "(O)", items.get()));
      return check(PyObject_CallOneArg(n.object.get(), items.get()));
    }
    case Kind::kList:
    case Kind::kRegistered: {
      Ref items = owned(PyList_New(static_cast<Py_ssize_t>(n.children.size())));
      for (size_t i = 0; i < n.children.size(); ++i)
        PyList_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), build(n.children[i], tensors));
      if (n.kind == Kind::kList) return items.release();
      return check(PyObject_CallFunctionObjArgs(n.object.get(), items.get(), n.context.get(), nullptr));
    }
    case Kind::kDict: {
      Ref dict = owned(PyDict_New());
      for (size_t i = 0; i < n.children.size(); ++i) {
        const Ref value = Ref::steal(build(n.children[i], tensors));
        checkStatus(PyDict_SetItem(dict.get(), n.keys[i].get(), value.get()));
      }
      return dict.release();
    }
  }
  return nullptr;
}

}  // namespace shunt::python
