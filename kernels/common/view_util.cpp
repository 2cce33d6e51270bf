#include "kernels/common/view_util.h"

namespace shunt::native {

namespace {

[[noreturn]] SHUNT_COLD void throwInvalidShape(IntArrayRef requested, int64_t numel) {
  throw Error(detail::str("shape '", requested, "' is invalid for input of size ", numel));
}

}  // namespace

void inferSize(IntArrayRef requested, int64_t numel, int64_t* out) {
  int64_t known = 1;
  int64_t inferred = -1;
  for (size_t i = 0; i < requested.size(); ++i) {
    const int64_t size = out[i] = requested[i];
    if (size == -1) {
      SHUNT_CHECK(inferred < 0, "only one dimension can be inferred");
      inferred = static_cast<int64_t>(i);
      continue;
    }
    SHUNT_CHECK(size >= 0, "invalid shape dimension ", size, " in shape ", requested);
    if (__builtin_mul_overflow(known, size, &known)) [[unlikely]]
      throwInvalidShape(requested, numel);
  }
  if (inferred < 0) {
    if (known != numel) [[unlikely]]
      throwInvalidShape(requested, numel);
    return;
  }
  SHUNT_CHECK(known != 0 || numel != 0, "cannot reshape tensor of 0 elements into shape ", requested,
              " because the unspecified dimension size -1 can be any value and is ambiguous");
  if (known == 0 || numel % known != 0) [[unlikely]]
    throwInvalidShape(requested, numel);
  out[inferred] = numel / known;
}

bool computeViewStrides(IntArrayRef sizes, IntArrayRef strides, int64_t numel, IntArrayRef new_sizes,
                        int64_t* new_strides) {
  if (numel == 0) {
    if (sizes == new_sizes)
      std::copy(strides.begin(), strides.end(), new_strides);
    else
      contiguousStrides(new_sizes, new_strides);
    return true;
  }
  // From the innermost dimension outwards: a run of old dimensions that lie in one piece must be used up exactly by a
  // run of new ones.
  size_t next = new_sizes.size();
  int64_t run = 1;
  int64_t base_stride = sizes.empty() ? 1 : strides.back();
  for (size_t i = sizes.size(); i-- > 0;) {
    run *= sizes[i];
    if (i > 0 && (sizes[i - 1] == 1 || strides[i - 1] == run * base_stride)) continue;
    int64_t used = 1;
    while (next > 0 && (used < run || new_sizes[next - 1] == 1)) {
      new_strides[--next] = used * base_stride;
      used *= new_sizes[next];
    }
    if (used != run) return false;
    if (i > 0) base_stride = strides[i - 1];
    run = 1;
  }
  for (; next > 0 && sizes.empty(); --next) new_strides[next - 1] = 1;
  return next == 0;
}

}  // namespace shunt::native
