// Walks over the elements of a strided tensor, for rules that look at memory. Pure functions.
#pragma once

#include <shunt/core/array_ref.h>

#include <cstdint>

namespace shunt::levels {

/// f(offset) of every element, from `offset`, until it returns false: whether it never did.
template <class F>
bool everyElement(IntArrayRef sizes, IntArrayRef strides, int64_t offset, const F& f, size_t dim = 0) {
  if (dim == sizes.size()) return f(offset);
  for (int64_t i = 0; i < sizes[dim]; ++i)
    if (!everyElement(sizes, strides, offset + i * strides[dim], f, dim + 1)) return false;
  return true;
}

}  // namespace shunt::levels
