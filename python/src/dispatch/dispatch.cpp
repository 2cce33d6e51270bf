#include "python/src/dispatch/dispatch.h"

#include "python/src/dispatch/jit.h"
#include "python/src/dispatch/keys.h"
#include "python/src/dispatch/library.h"
#include "python/src/dispatch/modes.h"
#include "python/src/dispatch/operator.h"
#include "python/src/dispatch/schema.h"
#include "python/src/dispatch/subclasses.h"
#include "python/src/dispatch/torch_function.h"
#include "python/src/dispatch/transforms.h"

namespace shunt::python {

void addDispatch(PyObject* module) {
  addKeys(module);
  addSchema(module);
  addOperatorTypes(module);
  addLibrary(module);
  addTorchFunction(module);
  addModes(module);
  addSubclasses(module);
  addTransforms(module);
  addJit(module);
}

}  // namespace shunt::python
