#include "state_guards.h"

#include "values.h"

#include <array>
#include <string_view>

namespace shunt_torch {
namespace {

uint64_t versionOf(PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  (void)dict;
  return 0;  // not counted: always compared
#endif
}

bool hasKeys(PyObject* dict, PyObject* keys) {
  if (PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return false;
  Py_ssize_t at = 0, i = 0;
  for (PyObject *key, *value; PyDict_Next(dict, &at, &key, &value); ++i) {
    PyObject* const expected = PyTuple_GET_ITEM(keys, i);
    if (key == expected) continue;
    // An equal string or number; of other objects only the same one is the same key.
    if (!PyUnicode_CheckExact(key) && !PyLong_CheckExact(key)) return false;
    if (!isSameValue(key, expected)) return false;
  }
  return true;
}

}  // namespace

StateGuards::Kind StateGuards::kindOf(const std::string& name) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "item", "missing", "keys", "index", "length", "cell", "empty_cell", "attribute", "type_attribute", "set"};
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
    const bool of_dict = g.kind == Kind::kItem || g.kind == Kind::kMissing || g.kind == Kind::kKeys;
    if (of_dict && !PyDict_Check(g.owner.ptr())) throw py::type_error("a guard of a dict has another owner");
    PyObject* const dict = of_dict ? g.owner.ptr() : nullptr;
    if (groups_.empty() || groups_.back().dict != dict) groups_.push_back({guards_.size(), guards_.size(), dict});
    guards_.push_back(std::move(g));
    groups_.back().end = guards_.size();
  }
}

bool StateGuards::isExpected(const Guard& g, PyObject* got) {
  return got == g.expected.ptr() || (g.by_value && isSameValue(got, g.expected.ptr()));
}

bool StateGuards::holdsType(const Guard& g) const {
  PyObject* const got = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(g.owner.ptr()), g.key.ptr());
  return got == nullptr ? g.expected.ptr() == missing_.ptr() : isExpected(g, got);
}

bool StateGuards::holds(const Guard& g) const {
  PyObject* const owner = g.owner.ptr();
  switch (g.kind) {
    case Kind::kItem: {
      PyObject* const got = PyDict_GetItemWithError(owner, g.key.ptr());
      return got != nullptr && isExpected(g, got);
    }
    case Kind::kMissing:
      return PyDict_GetItemWithError(owner, g.key.ptr()) == nullptr && PyErr_Occurred() == nullptr;
    case Kind::kKeys:
      return hasKeys(owner, g.expected.ptr());
    case Kind::kIndex: {
      if (PyList_Check(owner))
        return g.number < PyList_GET_SIZE(owner) && isExpected(g, PyList_GET_ITEM(owner, g.number));
      const auto got = py::reinterpret_steal<py::object>(PySequence_GetItem(owner, g.number));
      return got && isExpected(g, got.ptr());
    }
    case Kind::kLength:
      return PyObject_Size(owner) == g.number;
    case Kind::kCell: {
      PyObject* const got = PyCell_GET(owner);
      return got != nullptr && isExpected(g, got);
    }
    case Kind::kEmptyCell:
      return PyCell_GET(owner) == nullptr;
    case Kind::kAttribute: {
      const auto got = py::reinterpret_steal<py::object>(PyObject_GenericGetAttr(owner, g.key.ptr()));
      return got ? isExpected(g, got.ptr()) : g.expected.ptr() == missing_.ptr();
    }
    case Kind::kTypeAttribute:
      return holdsType(g);
    case Kind::kSet: {
      const int same = PyObject_RichCompareBool(owner, g.expected.ptr(), Py_EQ);
      return same == 1;
    }
  }
  return false;
}

int64_t StateGuards::firstFailed() const {
  for (const Group& group : groups_) {
    const uint64_t version = group.dict != nullptr ? versionOf(group.dict) : 0;
    if (version != 0 && version == group.version) continue;
    for (size_t i = group.begin; i < group.end; ++i) {
      if (holds(guards_[i])) {
        PyErr_Clear();
        continue;
      }
      PyErr_Clear();
      return static_cast<int64_t>(i);
    }
    group.version = version;
  }
  return -1;
}

}  // namespace shunt_torch
