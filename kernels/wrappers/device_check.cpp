#include "kernels/wrappers/device_check.h"

namespace shunt::wrappers {

void throwDifferentDevices(const char* method, const char* argument, Device first, Device other) {
  throw Error(detail::str("Expected all tensors to be on the same device, but found at least two devices, ", first,
                          " and ", other, "! (when checking argument for argument ", argument, " in method ", method,
                          ")"));
}

}  // namespace shunt::wrappers
