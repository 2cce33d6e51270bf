// shunt.dtype, shunt.layout and shunt.memory_format: objects that stand for the values of an enumeration, one each.
#pragma once

#include "python/src/base/python.h"

#include <shunt/tensor/layout.h>
#include <shunt/tensor/scalar_type.h>

namespace shunt::python {

/// Makes the types and adds them and their objects to the module, names of PyTorch's that mean the same included
/// (float for float32).
void addConstants(PyObject* module);

/// The package's name in texts: "shunt", and "torch" in processes where `import torch` is answered by Shunt, whose
/// programs compare str(x.dtype) with "torch.float32". For threads that hold the interpreter's lock.
const char* shownPackage();
/// `_show_package(name)`: sets it, to "shunt" or "torch".
PyObject* showPackage(PyObject*, PyObject* name);

/// dtype objects, and the types of Python that stand for one: float, int, bool.
bool isDType(PyObject* o);
bool isLayout(PyObject* o);
bool isMemoryFormat(PyObject* o);
/// The value that such an object stands for.
int64_t constantValue(PyObject* o);
inline ScalarType dtypeOf(PyObject* o) { return static_cast<ScalarType>(constantValue(o)); }

// The end of a message about an argument that is the name of a constant, or nearly so: "; did you mean shunt.float32?";
// empty for others.
std::string dtypeMeantBy(PyObject* given);
std::string layoutMeantBy(PyObject* given);
std::string memoryFormatMeantBy(PyObject* given);

// Borrowed.
PyObject* dtypeObject(ScalarType type);
PyObject* layoutObject(Layout layout);
PyObject* memoryFormatObject(MemoryFormat format);

}  // namespace shunt::python
