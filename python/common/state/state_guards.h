// StateGuards: what a recording found behind names in Python, compared again before each run of it.
//
// Note [Flat guards]
// Each guard looks at one object, its owner, which the guard keeps alive: that this dict has that object under this
// key. That the owner is still what a name leads to is the business of guards before it in the list, so no path is
// walked. Guards of one dict stand together, and so do those of one class. CPython up to 3.11 counts the changes of a
// dict, and all versions those of a class and its bases: what hasn't changed since its guards last held is passed by.
// An OrderedDict of two or more isn't: its order changes uncounted.
//
// For threads that hold the interpreter's lock.
#pragma once

#include "python/src/base/python.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace shunt::python {

class StateGuards {
 public:
  StateGuards() = default;
  /// `guards`: a list of tuples (kind, owner, key, expected, by_value, path), see guard.py, which has the meaning of
  /// each kind, and `missing`, the object that stands for an attribute that isn't there. Throws PythonError for others.
  StateGuards(PyObject* guards, PyObject* missing);
  /// The position of the first guard that doesn't hold, or -1. Runs no code of the user's.
  int64_t firstFailed() const;
  size_t size() const { return guards_.size(); }
  int traverse(visitproc visit, void* arg) const;

 private:
  enum class Kind : uint8_t {
    kItem,
    kMissing,
    kKeys,
    kIndex,
    kLength,
    kCell,
    kEmptyCell,
    kAttribute,
    kTypeAttribute,
    kPlain,
    kSet,
    kContext,
    kCounter
  };
  struct Guard {
    Kind kind;
    bool by_value;
    bool is_number;  // it holds for any float, whose value `expected` gets
    Ref owner, key, expected;
    Py_ssize_t number = 0;             // index or length
    bool by_hash = false;              // of items: whether to look the key up
    bool is_class = false;             // of kAttribute: the type itself, whatever it says of its class
    std::vector<bool> by_values = {};  // of kKeys and kSet: whether the expected key counts by value
    mutable Py_ssize_t at = 0;         // where the key stood last
  };
  struct Group {
    size_t begin, end;
    PyObject* counted;  // a dict, a type, or null
    mutable uint64_t version = 0;
  };
  static Kind kindOf(std::string_view name);
  void add(PyObject* guard);
  bool holds(const Guard& g) const;
  bool isExpected(const Guard& g, PyObject* got) const;
  static PyObject* itemOf(const Guard& g);
  static bool hasKeys(const Guard& g);
  static bool hasElements(const Guard& g);
  static bool isPlain(const Guard& g);
  static PyObject* find(const Guard& g, Py_ssize_t from, Py_ssize_t until);

  std::vector<Guard> guards_;
  std::vector<Group> groups_;
  Ref missing_;
};

}  // namespace shunt::python
