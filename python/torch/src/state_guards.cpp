#include "state_guards.h"

#include "values.h"

#include <array>
#include <string_view>

namespace shunt_torch {
namespace {

// Grows with each change; 0: not counted, so always compared.
uint64_t versionOf(PyObject* dict) {
  if (dict == nullptr) return 0;
  if (PyType_Check(dict)) {
    const auto* const type = reinterpret_cast<PyTypeObject*>(dict);
    return PyType_HasFeature(reinterpret_cast<PyTypeObject*>(dict), Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag
                                                                                                  : 0;
  }
#if PY_VERSION_HEX < 0x030C0000
  const bool has_order = PyODict_Check(dict) && PyDict_GET_SIZE(dict) > 1;
  return has_order ? 0 : reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  (void)dict;
  return 0;
#endif
}

PyTypeObject* dequeType() {
  static PyTypeObject* const type =
      reinterpret_cast<PyTypeObject*>(py::object(py::module_::import("collections").attr("deque")).release().ptr());
  return type;
}

// The methods of list and deque, whatever a subclass makes of them.
Py_ssize_t lengthOf(PyObject* owner) {
  if (PyAnySet_Check(owner)) return PySet_GET_SIZE(owner);
  if (PyType_Check(owner)) return PyDict_GET_SIZE(reinterpret_cast<PyTypeObject*>(owner)->tp_dict);
  return PyList_Check(owner) ? PyList_GET_SIZE(owner) : dequeType()->tp_as_sequence->sq_length(owner);
}

py::object elementOf(PyObject* owner, Py_ssize_t i) {
  if (i < 0 || i >= lengthOf(owner)) return {};
  if (PyList_Check(owner)) return py::reinterpret_borrow<py::object>(PyList_GET_ITEM(owner, i));
  return py::reinterpret_steal<py::object>(dequeType()->tp_as_sequence->sq_item(owner, i));
}

// A slot, or what a type made in C keeps; a property isn't called.
py::object attributeOf(PyObject* owner, PyObject* key) {
  PyTypeObject* const type = Py_TYPE(owner);
  PyObject* const found = _PyType_Lookup(type, key);
  if (found == nullptr || (Py_TYPE(found) != &PyGetSetDescr_Type && Py_TYPE(found) != &PyMemberDescr_Type)) return {};
  return py::reinterpret_steal<py::object>(
      Py_TYPE(found)->tp_descr_get(found, owner, reinterpret_cast<PyObject*>(type)));
}

bool havePlainHashes(PyObject* dict) {
  Py_ssize_t at = 0;
  for (PyObject* key = nullptr; PyDict_Next(dict, &at, &key, nullptr);)
    if (!hasPlainHash(key)) return false;
  return true;
}

}  // namespace

StateGuards::Kind StateGuards::kindOf(const std::string& name) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "item",      "missing",        "keys",  "index", "length",  "cell",   "empty_cell",
      "attribute", "type_attribute", "plain", "set",   "context", "counter"};
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Kind>(i);
  throw py::value_error("unknown kind of guard: " + name);
}

StateGuards::StateGuards(const py::list& guards, py::object missing) : missing_(std::move(missing)) {
  guards_.reserve(guards.size());
  for (const py::handle& item : guards) {
    const auto t = py::reinterpret_borrow<py::tuple>(item);
    Guard g{kindOf(t[0].cast<std::string>()), t[4].cast<bool>(), t[1], t[2], t[3]};
    if (g.kind == Kind::kIndex) g.number = g.key.cast<Py_ssize_t>();
    if (g.kind == Kind::kLength) g.number = g.expected.cast<Py_ssize_t>();
    if (g.kind == Kind::kItem || g.kind == Kind::kMissing)
      g.by_hash = isValue(g.key.ptr()) && hasPlainHash(g.key.ptr());
    g.is_class = g.kind == Kind::kAttribute && PyUnicode_CompareWithASCIIString(g.key.ptr(), "__class__") == 0;
    if (g.kind == Kind::kKeys || g.kind == Kind::kSet)
      for (const py::handle& key : py::reinterpret_borrow<py::tuple>(g.expected))
        g.by_values.push_back(isValue(key.ptr()));
    const bool of_dict = g.kind == Kind::kItem || g.kind == Kind::kMissing || g.kind == Kind::kKeys;
    if (of_dict && !PyDict_Check(g.owner.ptr())) throw py::type_error("a guard of a dict has another owner");
    const bool of_type = g.kind == Kind::kTypeAttribute || g.kind == Kind::kPlain;
    if (of_type && !PyType_Check(g.owner.ptr())) throw py::type_error("a guard of a class has another owner");
    PyObject* const counted = of_dict || of_type ? g.owner.ptr() : nullptr;
    if (groups_.empty() || groups_.back().counted != counted)
      groups_.push_back({guards_.size(), guards_.size(), counted});
    guards_.push_back(std::move(g));
    groups_.back().end = guards_.size();
  }
}

int StateGuards::traverse(visitproc visit, void* arg) const {
  for (const Guard& g : guards_) {
    Py_VISIT(g.owner.ptr());
    Py_VISIT(g.key.ptr());
    Py_VISIT(g.expected.ptr());
  }
  Py_VISIT(missing_.ptr());
  return 0;
}

// --- dicts ---

PyObject* StateGuards::find(const Guard& g, Py_ssize_t from, Py_ssize_t until) {
  PyObject* const expected = g.key.ptr();
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = from, next = from; (until < 0 || at < until) && PyDict_Next(g.owner.ptr(), &next, &key, &value);
       at = next) {
    if (key != expected && !(isValue(expected) && isSameValue(expected, key))) continue;
    g.at = at;
    return value;
  }
  return nullptr;
}

PyObject* StateGuards::itemOf(const Guard& g) {
  if (g.by_hash) return PyDict_GetItemWithError(g.owner.ptr(), g.key.ptr());
  // Other keys' hashes may be the user's. Most often the entry is where it was.
  PyObject* const again = find(g, g.at, g.at + 1);
  return again != nullptr ? again : find(g, 0, -1);
}

bool StateGuards::hasKeys(const Guard& g) {
  PyObject *const dict = g.owner.ptr(), *const keys = g.expected.ptr();
  if (PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return false;
  Py_ssize_t i = 0;
  const auto isNext = [&](PyObject* key) {
    PyObject* const expected = PyTuple_GET_ITEM(keys, i);
    return key == expected || (g.by_values[static_cast<size_t>(i)] && isSameValue(expected, key));
  };
  if (!PyODict_Check(dict)) {
    Py_ssize_t at = 0;
    for (PyObject* key = nullptr; PyDict_Next(dict, &at, &key, nullptr); ++i)
      if (!isNext(key)) return false;
    return true;
  }
  // Its order is in a list of its own, whose iterator finds each next key by its hash.
  if (!havePlainHashes(dict)) return false;
  const auto iterator = py::reinterpret_steal<py::object>(PyODict_Type.tp_iter(dict));
  for (; i < PyTuple_GET_SIZE(keys); ++i) {
    const auto key = py::reinterpret_steal<py::object>(PyIter_Next(iterator.ptr()));
    if (!key || !isNext(key.ptr())) return false;
  }
  return true;
}

// --- sets and classes ---

// In the order of iteration, which what was added and removed before decides, too.
bool StateGuards::hasElements(const Guard& g) {
  PyObject *const set = g.owner.ptr(), *const expected = g.expected.ptr();
  if (PySet_GET_SIZE(set) != PyTuple_GET_SIZE(expected)) return false;
  const auto iterator = py::reinterpret_steal<py::object>(PySet_Type.tp_iter(set));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(expected); ++i) {
    const auto got = py::reinterpret_steal<py::object>(PyIter_Next(iterator.ptr()));
    PyObject* const element = PyTuple_GET_ITEM(expected, i);
    if (!got) return false;
    if (got.ptr() != element && !(g.by_values[static_cast<size_t>(i)] && isSameValue(element, got.ptr()))) return false;
  }
  return true;
}

bool StateGuards::isPlain(const Guard& g) {
  auto* const type = reinterpret_cast<PyTypeObject*>(g.owner.ptr());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(g.expected.ptr()); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(g.expected.ptr(), i);
    if (_PyType_Lookup(type, name) != _PyType_Lookup(&PyBaseObject_Type, name)) return false;
  }
  return true;
}

// --- all ---

bool StateGuards::isExpected(const Guard& g, PyObject* got) const {
  if (got == nullptr) got = missing_.ptr();
  return got == g.expected.ptr() || (g.by_value && isSameValue(g.expected.ptr(), got));
}

bool StateGuards::holds(const Guard& g) const {
  PyObject* const owner = g.owner.ptr();
  switch (g.kind) {
    case Kind::kItem:
      return isExpected(g, itemOf(g));
    case Kind::kMissing: {
      PyObject* const got = itemOf(g);
      return got == nullptr || got == missing_.ptr();
    }
    case Kind::kKeys:
      return hasKeys(g);
    case Kind::kIndex:
      return isExpected(g, elementOf(owner, g.number).ptr());
    case Kind::kLength:
      return lengthOf(owner) == g.number;
    case Kind::kCell:
      return isExpected(g, PyCell_GET(owner));
    case Kind::kEmptyCell:
      return PyCell_GET(owner) == nullptr || PyCell_GET(owner) == missing_.ptr();
    case Kind::kAttribute:
      if (g.is_class) return g.expected.ptr() == reinterpret_cast<PyObject*>(Py_TYPE(owner));
      return isExpected(g, attributeOf(owner, g.key.ptr()).ptr());
    case Kind::kTypeAttribute:
      return isExpected(g, _PyType_Lookup(reinterpret_cast<PyTypeObject*>(owner), g.key.ptr()));
    case Kind::kPlain:
      return isPlain(g);
    case Kind::kSet:
      return hasElements(g);
    case Kind::kContext: {
      PyObject* got = nullptr;
      if (PyContextVar_Get(owner, missing_.ptr(), &got) < 0) return false;
      return isExpected(g, py::reinterpret_steal<py::object>(got).ptr());
    }
    case Kind::kCounter:
      return isExpected(g, py::reinterpret_steal<py::object>(PyObject_CallNoArgs(owner)).ptr());
  }
  return false;
}

int64_t StateGuards::firstFailed() const {
  for (const Group& group : groups_) {
    const uint64_t version = versionOf(group.counted);
    if (version != 0 && version == group.version) continue;
    for (size_t i = group.begin; i < group.end; ++i) {
      const bool held = holds(guards_[i]);
      PyErr_Clear();
      if (!held) return static_cast<int64_t>(i);
    }
    group.version = versionOf(group.counted);  // a class is counted from the first look at it on
  }
  return -1;
}

}  // namespace shunt_torch
