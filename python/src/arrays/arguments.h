// Arguments of functions that are written by hand: by position and by name, for METH_FASTCALL | METH_KEYWORDS.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/device.h>
#include <shunt/tensor/scalar_type.h>

#include <array>
#include <optional>
#include <span>

namespace shunt::python {

/// What a function takes. The first `required` of the names have no default; the first `positional` may be given by
/// position.
struct Parameters {
  const char* function;
  std::span<const char* const> names;
  size_t required;
  size_t positional;
};

/// Fills `out`, one for each name, with borrowed objects; null where an argument isn't given. Throws TypeError for
/// missing, unknown, repeated and surplus arguments, by name.
void parseArguments(const Parameters& parameters, PyObject* const* args, Py_ssize_t n, PyObject* keyword_names,
                    std::span<PyObject*> out);

/// A function's parameters, made once: `static constexpr FunctionParameters<2> p("f", {"a", "b"}, 1, 2);`
template <size_t N>
struct FunctionParameters {
  const char* function;
  std::array<const char*, N> names;
  size_t required;
  size_t positional;
  std::array<PyObject*, N> parse(PyObject* const* args, Py_ssize_t n, PyObject* keyword_names) const {
    std::array<PyObject*, N> out{};
    parseArguments({function, names, required, positional}, args, n, keyword_names, out);
    return out;
  }
};

// Of an argument that may be missing or None. TypeError, with the function's and the argument's name, for objects of
// another type.
std::optional<ScalarType> optionalDType(const char* function, PyObject* o);
std::optional<Device> optionalDevice(const char* function, PyObject* o);
bool optionalBool(const char* function, const char* name, PyObject* o, bool fallback);
int64_t optionalInt(const char* function, const char* name, PyObject* o, int64_t fallback);

using FastFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
/// For tables of methods.
inline PyCFunction fast(FastFunction f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f)); }

}  // namespace shunt::python
