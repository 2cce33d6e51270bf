#include "src/files/loaded.h"

#include "src/tensor/active_trace.h"

#include <shunt/core/tls.h>
#include <shunt/ops.h>

#include <algorithm>

namespace shunt::files {

uint64_t bytesOf(const AboutTensor& about, const Sizes& sizes, ScalarType dtype) {
  if (sizes.size() > kMostDimensions)
    about.fail("has ", sizes.size(), " dimensions, and there can be ", kMostDimensions);
  int64_t extent = elementSize(dtype);  // as if dimensions of 0 were 1, since strides are products of the others
  bool fits = true, empty = false;
  for (const int64_t s : sizes) {
    if (s < 0) about.fail("has a shape with a negative dimension: ", IntArrayRef(sizes));
    fits = fits && !__builtin_mul_overflow(extent, std::max<int64_t>(s, 1), &extent);
    empty = empty || s == 0;
  }
  if (!fits)
    about.fail("has a shape of more bytes than 64 bits can count: ", IntArrayRef(sizes), " of ", dtypeName(dtype));
  return empty ? 0 : static_cast<uint64_t>(extent);
}

Tensor newTensor(const AboutTensor& about, const Sizes& sizes, const Sizes& strides, ScalarType dtype) {
  try {
    return Tensor(detail::makeCpuTensor(sizes, strides, dtype));
  } catch (const Error& e) {
    about.fail("shape ", IntArrayRef(sizes), " of ", dtypeName(dtype), ": ", e.what());
  }
}

void checkBools(const AboutTensor& about, const std::byte* bytes, size_t n, uint64_t first) {
  const auto* const wrong = std::find_if(bytes, bytes + n, [](std::byte b) { return b > std::byte{1}; });
  if (wrong != bytes + n)
    about.fail("element ", first + static_cast<uint64_t>(wrong - bytes), " is ", static_cast<unsigned>(*wrong),
               ", and a bool is 0 or 1");
}

Tensor given(Tensor read) {
  if (tls_is_included(DispatchKey::Fake) && activeTrace() == nullptr)
    return empty_strided(read.sizes(), read.strides(), read.options());
  // A graph copies the elements whenever it runs, as it does with those of tensor().
  if (activeTrace() != nullptr || tls_is_included(DispatchKey::Batched)) read = read.clone();
  if (tls_is_included(DispatchKey::Functionalize))
    read = empty_strided(read.sizes(), read.strides(), read.options()).copy_(read);
  return read;
}

void refuseToBeRecorded(const AboutFile& about) {
  if (ActiveTrace* const trace = traceAround()) trace->usesFile(about.function);
}

}  // namespace shunt::files
