// Which BLAS and oneDNN libshunt runs with.
#include "kernels/linalg/blas.h"

#include <shunt/core/system_info.h>

#include <oneapi/dnnl/dnnl.h>

namespace shunt::detail {

MathLibraries mathLibraries() {
  MathLibraries libraries;
  const linalg::BlasIdentity blas = linalg::identityOfBlas();
  libraries.blas = {blas.version, blas.file, blas.core, blas.problem};
  const dnnl_version_t& onednn = *dnnl_version();
  libraries.onednn =
      std::to_string(onednn.major) + "." + std::to_string(onednn.minor) + "." + std::to_string(onednn.patch);
  return libraries;
}

}  // namespace shunt::detail
