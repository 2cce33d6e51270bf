#include "python/common/state/state_guards.h"

#include "python/common/state/values.h"

#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace shunt::python {
namespace {

constexpr std::string_view kNumber = "_number";  // after the name of a kind

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
  static PyObject* cache = nullptr;
  return reinterpret_cast<PyTypeObject*>(imported(cache, "collections", "deque"));
}

// The methods of list and deque, whatever a subclass makes of them.
Py_ssize_t lengthOf(PyObject* owner) {
  if (PyAnySet_Check(owner)) return PySet_GET_SIZE(owner);
  if (PyType_Check(owner)) return PyDict_GET_SIZE(reinterpret_cast<PyTypeObject*>(owner)->tp_dict);
  return PyList_Check(owner) ? PyList_GET_SIZE(owner) : dequeType()->tp_as_sequence->sq_length(owner);
}

Ref elementOf(PyObject* owner, Py_ssize_t i) {
  if (i < 0 || i >= lengthOf(owner)) return {};
  if (PyList_Check(owner)) return Ref::borrow(PyList_GET_ITEM(owner, i));
  return Ref::steal(dequeType()->tp_as_sequence->sq_item(owner, i));
}

// Of a function what is asked for most, without the audit that reading `__code__` is.
PyObject* partOf(PyObject* function, PyObject* key) {
  static PyObject *const code = PyUnicode_InternFromString("__code__"),
                         *const defaults = PyUnicode_InternFromString("__defaults__"),
                         *const keyword_defaults = PyUnicode_InternFromString("__kwdefaults__");
  const auto orNone = [](PyObject* o) { return o != nullptr ? o : Py_None; };
  if (key == code) return PyFunction_GET_CODE(function);
  if (key == defaults) return orNone(PyFunction_GET_DEFAULTS(function));
  return key == keyword_defaults ? orNone(PyFunction_GET_KW_DEFAULTS(function)) : nullptr;
}

// A slot, or what a type made in C keeps; a property isn't called.
Ref attributeOf(PyObject* owner, PyObject* key) {
  if (PyFunction_Check(owner))
    if (PyObject* part = partOf(owner, key)) return Ref::borrow(part);
  PyTypeObject* const type = Py_TYPE(owner);
  PyObject* const found = _PyType_Lookup(type, key);
  if (found == nullptr || (Py_TYPE(found) != &PyGetSetDescr_Type && Py_TYPE(found) != &PyMemberDescr_Type)) return {};
  return Ref::steal(Py_TYPE(found)->tp_descr_get(found, owner, reinterpret_cast<PyObject*>(type)));
}

bool havePlainHashes(PyObject* dict) {
  Py_ssize_t at = 0;
  for (PyObject* key = nullptr; PyDict_Next(dict, &at, &key, nullptr);)
    if (!hasPlainHash(key)) return false;
  return true;
}

}  // namespace

StateGuards::Kind StateGuards::kindOf(std::string_view name) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "item",      "missing",        "keys",  "index", "length",  "cell",   "empty_cell",
      "attribute", "type_attribute", "plain", "set",   "context", "counter"};
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Kind>(i);
  PyErr_SetString(PyExc_ValueError, ("unknown kind of guard: " + std::string(name)).c_str());
  throw PythonError();
}

StateGuards::StateGuards(PyObject* guards, PyObject* missing) : missing_(Ref::borrow(missing)) {
  const Py_ssize_t n = PyList_Size(guards);
  if (n < 0) throw PythonError();
  guards_.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) add(PyList_GET_ITEM(guards, i));
}

void StateGuards::add(PyObject* guard) {
  const char* kind = nullptr;
  PyObject *owner = nullptr, *key = nullptr, *expected = nullptr, *path = nullptr;
  int by_value = 0;
  if (!PyArg_ParseTuple(guard, "sOOOpO", &kind, &owner, &key, &expected, &by_value, &path)) throw PythonError();
  std::string_view name = kind;
  const bool is_number = name.ends_with(kNumber);
  if (is_number) name.remove_suffix(kNumber.size());
  Guard g{kindOf(name), by_value != 0, is_number, Ref::borrow(owner), Ref::borrow(key), Ref::borrow(expected)};
  if (g.kind == Kind::kIndex) g.number = PyLong_AsSsize_t(key);
  if (g.kind == Kind::kLength) g.number = PyLong_AsSsize_t(expected);
  if (PyErr_Occurred() != nullptr) throw PythonError();
  const bool is_item = g.kind == Kind::kItem || g.kind == Kind::kMissing;
  if (is_item) g.by_hash = isValue(key) && hasPlainHash(key);
  if (is_number && (!PyByteArray_Check(expected) || PyByteArray_GET_SIZE(expected) != sizeof(double))) {
    PyErr_SetString(PyExc_TypeError, "a guard of a number has no bytearray of 8 for it");
    throw PythonError();
  }
  g.is_class = g.kind == Kind::kAttribute && PyUnicode_CompareWithASCIIString(key, "__class__") == 0;
  if (g.kind == Kind::kKeys || g.kind == Kind::kSet)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(expected); ++i)
      g.by_values.push_back(isValue(PyTuple_GET_ITEM(expected, i)));
  const bool of_dict = is_item || g.kind == Kind::kKeys;
  const bool of_type = g.kind == Kind::kTypeAttribute || g.kind == Kind::kPlain;
  if ((of_dict && !PyDict_Check(owner)) || (of_type && !PyType_Check(owner))) {
    PyErr_SetString(PyExc_TypeError, "a guard of a dict or class has another owner");
    throw PythonError();
  }
  PyObject* const counted = of_dict || of_type ? owner : nullptr;
  if (groups_.empty() || groups_.back().counted != counted)
    groups_.push_back({guards_.size(), guards_.size(), counted});
  guards_.push_back(std::move(g));
  groups_.back().end = guards_.size();
}

int StateGuards::traverse(visitproc visit, void* arg) const {
  for (const Guard& g : guards_) {
    Py_VISIT(g.owner.get());
    Py_VISIT(g.key.get());
    Py_VISIT(g.expected.get());
  }
  Py_VISIT(missing_.get());
  return 0;
}

// --- dicts ---

PyObject* StateGuards::find(const Guard& g, Py_ssize_t from, Py_ssize_t until) {
  PyObject* const expected = g.key.get();
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = from, next = from; (until < 0 || at < until) && PyDict_Next(g.owner.get(), &next, &key, &value);
       at = next) {
    if (key != expected && !(isValue(expected) && isSameValue(expected, key))) continue;
    g.at = at;
    return value;
  }
  return nullptr;
}

PyObject* StateGuards::itemOf(const Guard& g) {
  if (g.by_hash) return PyDict_GetItemWithError(g.owner.get(), g.key.get());
  // Other keys' hashes may be the user's. Most often the entry is where it was.
  PyObject* const again = find(g, g.at, g.at + 1);
  return again != nullptr ? again : find(g, 0, -1);
}

bool StateGuards::hasKeys(const Guard& g) {
  PyObject *const dict = g.owner.get(), *const keys = g.expected.get();
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
  const auto iterator = Ref::steal(PyODict_Type.tp_iter(dict));
  for (; i < PyTuple_GET_SIZE(keys); ++i) {
    const auto key = Ref::steal(PyIter_Next(iterator.get()));
    if (!key || !isNext(key.get())) return false;
  }
  return true;
}

// --- sets and classes ---

// In the order of iteration, which what was added and removed before decides, too.
bool StateGuards::hasElements(const Guard& g) {
  PyObject *const set = g.owner.get(), *const expected = g.expected.get();
  if (PySet_GET_SIZE(set) != PyTuple_GET_SIZE(expected)) return false;
  const auto iterator = Ref::steal(PySet_Type.tp_iter(set));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(expected); ++i) {
    const auto got = Ref::steal(PyIter_Next(iterator.get()));
    PyObject* const element = PyTuple_GET_ITEM(expected, i);
    if (!got) return false;
    if (got.get() != element && !(g.by_values[static_cast<size_t>(i)] && isSameValue(element, got.get()))) return false;
  }
  return true;
}

bool StateGuards::isPlain(const Guard& g) {
  auto* const type = reinterpret_cast<PyTypeObject*>(g.owner.get());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(g.expected.get()); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(g.expected.get(), i);
    if (_PyType_Lookup(type, name) != _PyType_Lookup(&PyBaseObject_Type, name)) return false;
  }
  return true;
}

// --- all ---

bool StateGuards::isExpected(const Guard& g, PyObject* got) const {
  if (g.is_number) {
    // While a dict or class is passed by, as it hasn't changed, the number is the one that was written last.
    if (got == nullptr || !PyFloat_CheckExact(got)) return false;
    const double value = PyFloat_AS_DOUBLE(got);
    std::memcpy(PyByteArray_AS_STRING(g.expected.get()), &value, sizeof(value));
    return true;
  }
  if (got == nullptr) got = missing_.get();
  return got == g.expected.get() || (g.by_value && isSameValue(g.expected.get(), got));
}

bool StateGuards::holds(const Guard& g) const {
  PyObject* const owner = g.owner.get();
  switch (g.kind) {
    case Kind::kItem:
      return isExpected(g, itemOf(g));
    case Kind::kMissing: {
      PyObject* const got = itemOf(g);
      return got == nullptr || got == missing_.get();
    }
    case Kind::kKeys:
      return hasKeys(g);
    case Kind::kIndex:
      return isExpected(g, elementOf(owner, g.number).get());
    case Kind::kLength:
      return lengthOf(owner) == g.number;
    case Kind::kCell:
      return isExpected(g, PyCell_GET(owner));
    case Kind::kEmptyCell:
      return PyCell_GET(owner) == nullptr || PyCell_GET(owner) == missing_.get();
    case Kind::kAttribute:
      if (g.is_class) return g.expected.get() == reinterpret_cast<PyObject*>(Py_TYPE(owner));
      return isExpected(g, attributeOf(owner, g.key.get()).get());
    case Kind::kTypeAttribute:
      return isExpected(g, _PyType_Lookup(reinterpret_cast<PyTypeObject*>(owner), g.key.get()));
    case Kind::kPlain:
      return isPlain(g);
    case Kind::kSet:
      return hasElements(g);
    case Kind::kContext: {
      PyObject* got = nullptr;
      if (PyContextVar_Get(owner, missing_.get(), &got) < 0) return false;
      return isExpected(g, Ref::steal(got).get());
    }
    case Kind::kCounter:
      return isExpected(g, Ref::steal(PyObject_CallNoArgs(owner)).get());
  }
  return false;
}

int64_t StateGuards::firstFailed() const {
  for (const Group& group : groups_) {
    const uint64_t version = versionOf(group.counted);
    if (version != 0 && version == group.version) continue;
    for (size_t i = group.begin; i < group.end; ++i) {
      const bool held = holds(guards_[i]);
      if (PyErr_Occurred() != nullptr) PyErr_Clear();
      if (!held) return static_cast<int64_t>(i);
    }
    group.version = versionOf(group.counted);  // a class is counted from the first look at it on
  }
  return -1;
}

}  // namespace shunt::python
