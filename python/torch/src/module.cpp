// The extension module shunt_torch._C.
#include <shunt/shunt.h>
#include <shunt/version.h>

#include <torch/csrc/utils/pybind.h>

#include <string>

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.doc() = "The compiled part of shunt_torch: PyTorch on one side, libshunt on the other.";
  module.def(
      "runtime_version", [] { return shunt::ones({1}).item<float>() == 1.0f ? std::string(SHUNT_VERSION) : std::string(); },
      "The version of Shunt, after a first call of libshunt.");
}
