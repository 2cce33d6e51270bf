// The extension module shunt_torch._C.
#include <shunt/version.h>

#include <torch/csrc/utils/pybind.h>

#include "self_test.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.doc() = "The compiled part of shunt_torch: PyTorch on one side, libshunt on the other.";
  module.def("runtime_version", [] { return SHUNT_VERSION; }, "The version of Shunt that it was compiled against.");
  module.def("self_test", &shunt_torch::selfTest,
             "The number of pairs that Shunt has compiled; -1 where it computes wrongly.");
}
