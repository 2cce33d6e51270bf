// What register_hook and its like return.
#pragma once

#include "python/src/base/python.h"

#include <functional>

namespace shunt::python {

/// A new handle; `remove` is called once at most, under the lock.
PyObject* makeHandle(unsigned id, std::function<void()> remove);

}  // namespace shunt::python
