// maybe_wrap_dim: the rule for dimension arguments. Negative ones count from the end. Pure functions; any thread.
#pragma once

#include <shunt/core/error.h>

#include <cstdint>

namespace shunt {

namespace detail {
[[noreturn]] SHUNT_COLD inline void throwDimOutOfRange(int64_t dim, int64_t ndim) {
  if (ndim == 0) throw IndexError(str("Dimension specified as ", dim, " but tensor has no dimensions"));
  throw IndexError(
      str("Dimension out of range (expected to be in range of [", -ndim, ", ", ndim - 1, "], but got ", dim, ")"));
}
}  // namespace detail

/// `dim` as an index in [0, ndim). Throws IndexError if it is out of range. With `wrap_scalar`, a 0-dim tensor counts
/// as having one dimension; without, every dim of it throws.
inline int64_t maybe_wrap_dim(int64_t dim, int64_t ndim, bool wrap_scalar = true) {
  const int64_t n = ndim == 0 && wrap_scalar ? 1 : ndim;
  if (dim < -n || dim >= n) [[unlikely]]
    detail::throwDimOutOfRange(dim, n);
  return dim < 0 ? dim + n : dim;
}

}  // namespace shunt
