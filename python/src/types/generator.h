// shunt.Generator: a source of random numbers.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/generator.h>

namespace shunt::python {

/// Adds the type and the object `default_generator`.
void addGenerator(PyObject* module);
bool isGenerator(PyObject* o);
const Generator& generatorOf(PyObject* o);
/// A new object; the default generator's is the one of shunt.default_generator.
PyObject* wrapGenerator(const Generator& generator);

}  // namespace shunt::python
