#include "python/src/compile/call_arguments.h"

#include "python/common/state/values.h"
#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/shunt.h>

#include <algorithm>

namespace shunt::python {

namespace {

constexpr size_t kMaxDepth = 100, kMaxElements = 100'000;

// Of what counts by value what repr() says, of others what they are: repr() may be the user's, and long.
std::string representation(PyObject* o) {
  if (o == nullptr) return "nothing";
  if (!isValue(o)) {
    const std::string out = "a " + typeNameOf(o);
    const bool has_length = PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o);
    return has_length ? out + " of " + std::to_string(PyObject_Size(o)) : out;
  }
  std::string out = reprOf(o);
  if (out.size() > 80) out = out.substr(0, 77) + "...";
  return out;
}

Ref typeOf(PyObject* o) { return Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o))); }
bool isOfType(PyObject* o, const Ref& type) { return reinterpret_cast<PyObject*>(Py_TYPE(o)) == type.get(); }

Tensor numberAsTensor(double value) { return ops::scalar_tensor::call(value, kDouble, {}, {}, {}); }

}  // namespace

/// What a comparison has met so far.
struct CallArguments::Met {
  FoundTensors* found;  // null: only compared
  InlineVector<PyObject*, 8> containers = {};
  PyObject* at = nullptr;  // what differs
};

struct CallArguments::Rebuilding {
  std::span<const Tensor> tensors;
  size_t next = 0;
  std::vector<std::pair<PyObject*, Ref>> containers = {};  // copied already
  std::vector<std::pair<PyObject*, Ref>> wrapped = {};     // tensors that have their wrapper
};

int CallArguments::Node::traverse(visitproc visit, void* arg) const {
  Py_VISIT(object.get());
  for (const Ref& key : keys) Py_VISIT(key.get());
  for (const Node& child : children)
    if (const int stop = child.traverse(visit, arg)) return stop;
  return 0;
}

int CallArguments::traverse(visitproc visit, void* arg) const {
  for (const Node& n : roots_)
    if (const int stop = n.traverse(visit, arg)) return stop;
  for (const Places* places : {&tensors_, &objects_})
    for (const auto& [path, object] : *places) Py_VISIT(object.get());
  return 0;
}

CallArguments::CallArguments(const Arguments& arguments, PyObject* lifted)
    : positional_(arguments.count), lifted_(lifted) {
  for (size_t i = 0; i < arguments.count; ++i)
    roots_.push_back(build("args[" + std::to_string(i) + "]", arguments.values[i], 0));
  const Py_ssize_t named = arguments.keywords != nullptr ? PyTuple_GET_SIZE(arguments.keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(arguments.keywords, i);
    keywords_.push_back(Ref::borrow(name));
    roots_.push_back(build(utf8(name), arguments.values[arguments.count + static_cast<size_t>(i)], 0));
  }
  containers_.clear();
  lifted_ = nullptr;
}

size_t CallArguments::number(PyObject* container) {
  containers_.push_back(container);
  return static_cast<size_t>(std::find(containers_.begin(), containers_.end(), container) - containers_.begin());
}

CallArguments::Node CallArguments::build(const std::string& path, PyObject* o, size_t depth) {
  if (depth > kMaxDepth)
    raise(PyExc_ValueError, "arguments are nested more than " + std::to_string(kMaxDepth) + " deep");
  if (++elements_ > kMaxElements)
    raise(PyExc_ValueError, "arguments have more than " + std::to_string(kMaxElements) + " elements");
  if (isTensor(o)) {
    if (!isPlainTensor(o))
      raise(PyExc_TypeError, path + " is a " + typeNameOf(o) + ", and subclasses of Tensor aren't recorded");
    if (hasAttributes(o))
      raise(PyExc_TypeError, path + " has attributes, which another call's tensor need not have: pass them apart");
    tensors_.emplace_back(path, Ref::borrow(o));
    return {Kind::kTensor, path, typeOf(o)};
  }
  const bool is_tuple = PyTuple_Check(o) && (!isValue(o) || noteFloats(path, o));
  if (is_tuple || PyList_CheckExact(o)) {
    Node n{is_tuple ? Kind::kTuple : Kind::kList, path, typeOf(o)};
    if (!is_tuple) n.container = number(o);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      n.children.push_back(build(path + '[' + std::to_string(i) + ']', PySequence_Fast_GET_ITEM(o, i), depth + 1));
    return n;
  }
  if (PyDict_CheckExact(o)) {
    Node n{Kind::kDict, path, typeOf(o)};
    n.container = number(o);
    Py_ssize_t at = 0;
    for (PyObject *key = nullptr, *value = nullptr; PyDict_Next(o, &at, &key, &value);) {
      if (!isValue(key)) raise(PyExc_TypeError, "the keys of " + path + " have to be numbers, strings and the like");
      n.keys.push_back(Ref::borrow(key));
      n.children.push_back(build(path + '[' + representation(key) + ']', value, depth + 1));
    }
    return n;
  }
  if (noteFloats(path, o) && num_lifted_ < kMaxLifted) {
    ++num_lifted_;
    return {Kind::kLifted, path, {}};
  }
  if (isValue(o)) return {Kind::kValue, path, Ref::borrow(o)};
  objects_.emplace_back(path, Ref::borrow(o));
  return {Kind::kObject, path, Ref::borrow(o)};
}

bool CallArguments::isLifted(const std::string& path) const {
  if (lifted_ == nullptr) return false;
  const Ref name = owned(PyUnicode_FromString(path.c_str()));
  return PySequence_Contains(lifted_, name.get()) == 1;
}

/// Notes a float, or those of a tuple that counts by value. Whether one is lifted, so that the tuple is taken apart.
bool CallArguments::noteFloats(const std::string& path, PyObject* o) {
  if (PyFloat_CheckExact(o)) {
    floats_.emplace_back(path, Ref::borrow(o));
    return isLifted(path);
  }
  if (!PyTuple_CheckExact(o)) return false;
  bool any = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
    any |= noteFloats(path + '[' + std::to_string(i) + ']', PyTuple_GET_ITEM(o, i));
  return any;
}

bool CallArguments::isSameContainer(const Node& n, PyObject* got, Met& met) {
  met.containers.push_back(got);
  return std::find(met.containers.begin(), met.containers.end(), got) - met.containers.begin() ==
         static_cast<ptrdiff_t>(n.container);
}

const CallArguments::Node* CallArguments::firstDifference(const Node& n, PyObject* got, Met& met) const {
  met.at = got;
  switch (n.kind) {
    case Kind::kTensor:
      if (!isOfType(got, n.object) || reinterpret_cast<TensorObject*>(got)->dict != nullptr) return &n;
      if (met.found != nullptr) {
        met.found->held.push_back(Ref::borrow(got));
        met.found->call.tensors.push_back(&tensorOf(got));
      }
      return nullptr;
    case Kind::kLifted:
      if (!PyFloat_CheckExact(got)) return &n;
      if (met.found != nullptr) {
        std::vector<Tensor>& lifted = met.found->lifted;
        lifted.reserve(kMaxLifted);  // its elements stay where they are
        lifted.push_back(numberAsTensor(PyFloat_AS_DOUBLE(got)));
        met.found->call.tensors.push_back(&lifted.back());
      }
      return nullptr;
    case Kind::kValue:
      return isSameValue(got, n.object.get()) ? nullptr : &n;
    case Kind::kObject:
      return got == n.object.get() ? nullptr : &n;
    case Kind::kTuple:
    case Kind::kList: {
      if (!isOfType(got, n.object)) return &n;
      const auto size = static_cast<size_t>(PySequence_Fast_GET_SIZE(got));
      if (size != n.children.size()) return &n;
      if (n.kind == Kind::kList ? !isSameContainer(n, got, met) : hasAttributes(got)) return &n;
      for (size_t i = 0; i < size; ++i) {
        PyObject* const item = PySequence_Fast_GET_ITEM(got, static_cast<Py_ssize_t>(i));
        if (const Node* d = firstDifference(n.children[i], item, met)) return d;
      }
      return nullptr;
    }
    case Kind::kDict: {
      if (!PyDict_CheckExact(got) || static_cast<size_t>(PyDict_GET_SIZE(got)) != n.children.size()) return &n;
      if (!isSameContainer(n, got, met)) return &n;
      // The order, too: a program may run over it.
      Py_ssize_t at = 0;
      size_t i = 0;
      for (PyObject *key = nullptr, *value = nullptr; PyDict_Next(got, &at, &key, &value); ++i) {
        if (!isSameValue(key, n.keys[i].get())) return met.at = got, &n;
        if (const Node* d = firstDifference(n.children[i], value, met)) return d;
      }
      return nullptr;
    }
  }
  return &n;
}

const CallArguments::Node* CallArguments::firstDifference(const Arguments& arguments, Met& met) const {
  for (size_t i = 0; i < roots_.size(); ++i)
    if (const Node* d = firstDifference(roots_[i], arguments.values[i], met)) return d;
  return nullptr;
}

bool CallArguments::match(const Arguments& arguments, FoundTensors& found) const {
  if (arguments.count != positional_) return false;
  const size_t named = arguments.keywords != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(arguments.keywords)) : 0;
  if (named != keywords_.size()) return false;
  for (size_t i = 0; i < named; ++i)
    if (!isSameValue(PyTuple_GET_ITEM(arguments.keywords, static_cast<Py_ssize_t>(i)), keywords_[i].get()))
      return false;
  Met met{&found};
  return firstDifference(arguments, met) == nullptr;
}

std::string CallArguments::difference(const Arguments& arguments) const {
  const size_t named = arguments.keywords != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(arguments.keywords)) : 0;
  if (arguments.count != positional_ || named != keywords_.size())
    return "expected " + std::to_string(positional_) + " positional arguments and " + std::to_string(keywords_.size()) +
           " by name, got " + std::to_string(arguments.count) + " and " + std::to_string(named);
  for (size_t i = 0; i < named; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(arguments.keywords, static_cast<Py_ssize_t>(i));
    if (!isSameValue(name, keywords_[i].get()))
      return "expected argument " + reprOf(keywords_[i].get()) + ", got " + reprOf(name);
  }
  Met met{nullptr};
  const Node* n = firstDifference(arguments, met);
  if (n == nullptr) return "";
  if (n->kind == Kind::kLifted) return n->path + ": expected a float, got " + representation(met.at);
  if (n->kind == Kind::kValue || n->kind == Kind::kObject)
    return n->path + ": expected " + representation(n->object.get()) + ", got " + representation(met.at);
  const std::string type = reinterpret_cast<PyTypeObject*>(n->object.get())->tp_name;
  if (n->kind == Kind::kTensor) return n->path + ": expected a " + type + ", got " + representation(met.at);
  return n->path + ": expected a " + type + " of " + std::to_string(n->children.size()) + " with the same keys, got " +
         representation(met.at);
}

size_t CallArguments::tensorsIn(const Node& n) {
  size_t count = n.kind == Kind::kTensor || n.kind == Kind::kLifted ? 1 : 0;
  for (const Node& child : n.children) count += tensorsIn(child);
  return count;
}

Ref CallArguments::rebuild(const Node& n, PyObject* o, Rebuilding& state) {
  switch (n.kind) {
    case Kind::kTensor: {
      const Tensor& wrapper = state.tensors[state.next++];
      for (const auto& [known, its] : state.wrapped)
        if (known == o) return its;  // for `x is y`: calls are compared by which arguments are one tensor
      state.wrapped.emplace_back(o, owned(wrap(wrapper)));
      return state.wrapped.back().second;
    }
    case Kind::kLifted: {
      static PyObject* cache = nullptr;
      PyObject* const type = imported(cache, "shunt._lifted", "LiftedFloat");
      return owned(PyObject_CallOneArg(type, owned(wrap(state.tensors[state.next++])).get()));
    }
    case Kind::kValue:
    case Kind::kObject:
      return Ref::borrow(o);
    case Kind::kTuple: {
      const Ref items = owned(PyTuple_New(PyTuple_GET_SIZE(o)));
      for (size_t i = 0; i < n.children.size(); ++i) {
        const auto at = static_cast<Py_ssize_t>(i);
        PyTuple_SET_ITEM(items.get(), at, rebuild(n.children[i], PyTuple_GET_ITEM(o, at), state).release());
      }
      if (PyTuple_CheckExact(o)) return items;
      if (PyObject_HasAttrString(o, "_make")) return owned(PyObject_CallMethod(o, "_make", "(O)", items.get()));
      return owned(PyObject_CallOneArg(n.object.get(), items.get()));
    }
    case Kind::kList:
    case Kind::kDict: {
      for (const auto& [known, copy] : state.containers)
        if (known == o) {
          state.next += tensorsIn(n);  // the same ones again
          return copy;
        }
      const Ref copy = owned(n.kind == Kind::kList ? PyList_New(0) : PyDict_New());
      state.containers.emplace_back(o, copy);
      if (n.kind == Kind::kList) {
        for (size_t i = 0; i < n.children.size(); ++i) {
          const Ref item = rebuild(n.children[i], PyList_GET_ITEM(o, static_cast<Py_ssize_t>(i)), state);
          checkStatus(PyList_Append(copy.get(), item.get()));
        }
        return copy;
      }
      Py_ssize_t at = 0;
      size_t i = 0;
      for (PyObject *key = nullptr, *value = nullptr; PyDict_Next(o, &at, &key, &value); ++i) {
        const Ref item = rebuild(n.children[i], value, state);
        checkStatus(PyDict_SetItem(copy.get(), key, item.get()));
      }
      return copy;
    }
  }
  return {};
}

std::pair<Ref, Ref> CallArguments::rebuilt(const Arguments& arguments, std::span<const Tensor> tensors) const {
  Rebuilding state{tensors};
  Ref positional = owned(PyTuple_New(static_cast<Py_ssize_t>(positional_))), named = owned(PyDict_New());
  for (size_t i = 0; i < roots_.size(); ++i) {
    Ref value = rebuild(roots_[i], arguments.values[i], state);
    if (i < positional_)
      PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), value.release());
    else
      checkStatus(PyDict_SetItem(named.get(), keywords_[i - positional_].get(), value.get()));
  }
  return {std::move(positional), std::move(named)};
}

PyObject* CallArguments::listOf(const Places& places) {
  Ref list = owned(PyList_New(0));
  for (const auto& [path, object] : places) {
    const Ref pair = owned(Py_BuildValue("(sO)", path.c_str(), object.get()));
    checkStatus(PyList_Append(list.get(), pair.get()));
  }
  return list.release();
}

PyObject* CallArguments::tensorPlaces() const { return listOf(tensors_); }
PyObject* CallArguments::objectPlaces() const { return listOf(objects_); }
PyObject* CallArguments::floatPlaces() const { return listOf(floats_); }

}  // namespace shunt::python
