// Arrays in NumPy's format, as files and as entries of archives. One thread for each source.
#pragma once

#include "src/files/about_tensor.h"
#include "src/files/byte_source.h"

#include <shunt/tensor/tensor.h>

namespace shunt::files {

/// An array that takes the whole of the source.
Tensor readNpy(const AboutTensor& about, ByteSource& source);

}  // namespace shunt::files
