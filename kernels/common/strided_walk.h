// Visiting several strided operands of one shape together, run by run, in row-major order: for kernels that move
// elements and keep track of where each of their operands stands.
//
// An operand is a place and a stride in bytes for each dimension; a stride may be 0 or negative. Pure functions; any
// thread.
#pragma once

#include <shunt/tensor/tensor_impl.h>

#include <array>
#include <cstddef>
#include <vector>

namespace shunt::native {

struct Walked {
  std::byte* data;
  std::vector<int64_t> strides;
};

/// `dims` strides: those of the tensor, or 0 for a tensor without dimensions.
inline Walked walkedOf(const TensorImpl& t, size_t dims) {
  Walked w{t.data(), std::vector<int64_t>(dims, 0)};
  for (size_t d = 0; d < dims && d < t.strides().size(); ++d) w.strides[d] = t.strides()[d] * t.itemsize();
  return w;
}

/// f(places, strides, n) for each run of the last dimension. `sizes` has a dimension at least.
template <size_t N, class F>
void forEachRunTogether(IntArrayRef sizes, const std::array<Walked, N>& operands, F&& f) {
  for (const int64_t s : sizes)
    if (s == 0) return;
  const size_t inner = sizes.size() - 1;
  std::array<std::byte*, N> places;
  std::array<int64_t, N> strides;
  for (size_t k = 0; k < N; ++k) {
    places[k] = operands[k].data;
    strides[k] = operands[k].strides[inner];
  }
  std::vector<int64_t> position(inner, 0);
  for (;;) {
    f(places, strides, sizes[inner]);
    size_t d = inner;
    for (; d > 0; --d) {
      const bool at_end = ++position[d - 1] == sizes[d - 1];
      const int64_t steps = at_end ? 1 - sizes[d - 1] : 1;
      for (size_t k = 0; k < N; ++k) places[k] += steps * operands[k].strides[d - 1];
      if (!at_end) break;
      position[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

/// f(a type of the elements' size), for kernels that only move elements.
template <class F>
void dispatchBySize(int64_t itemsize, F&& f) {
  switch (itemsize) {
    case 1:
      return f(std::type_identity<uint8_t>());
    case 2:
      return f(std::type_identity<uint16_t>());
    case 4:
      return f(std::type_identity<uint32_t>());
    default:
      SHUNT_INTERNAL_ASSERT(itemsize == 8, "elements of ", itemsize, " bytes");
      return f(std::type_identity<uint64_t>());
  }
}

}  // namespace shunt::native
