// What index tensors choose of a tensor, as index and index_put take it.
//
// A mask stands for the tensors of its nonzero(). Index tensors are broadcast against each other; their dimensions take
// the place of those that they index where these are neighbours, and come first otherwise, as in NumPy. Values made for
// one call, on its thread.
#pragma once

#include "kernels/common/strided_walk.h"

#include <shunt/tensor/tensor.h>

#include <vector>

namespace shunt::native {

inline bool isMask(const Tensor& index) { return index.dtype() == kBool || index.dtype() == kByte; }

/// The dtypes, devices and number of the index tensors.
void checkIndices(const char* op, const TensorImpl& self, TensorOptList indices);
/// A mask for the dimensions of `self` from `first` on has their sizes.
void checkMask(const Tensor& self, const Tensor& mask, int64_t first);

/// What the index tensors choose of `self`: the result's shape and, for each of its dimensions, the strides in bytes.
struct Chosen {
  struct Index {
    Tensor positions;  // of the index's shape
    int64_t dim;       // of self
  };
  std::vector<Index> indices;
  std::vector<int64_t> index_sizes;
  std::vector<int64_t> sizes;
  std::vector<int64_t> self_strides;  // 0 along the index
  size_t first = 0;                   // the first dimension of the index in the result
};

/// Of checked indices. Masks need elements to count.
Chosen choose(const Tensor& self, TensorOptList indices);

/// Bytes from self's first element to the chosen ones, in the index's row-major order. Checks all positions.
std::vector<int64_t> offsetsOf(const Chosen& chosen, const TensorImpl& self);

/// Strides of a dense result whose dimensions lie in the order of self's, as far as both operands have an opinion.
std::vector<int64_t> layoutOf(const Chosen& chosen);

/// f(chosen element of self, element of `other`) along the result's shape; T is of the elements' size.
template <class T, class F>
void forEachChosen(const Chosen& chosen, const std::vector<int64_t>& offsets, const TensorImpl& self,
                   const TensorImpl& other, F&& f) {
  const int64_t whole = 1;
  const size_t dims = std::max<size_t>(chosen.sizes.size(), 1);
  Walked places{reinterpret_cast<std::byte*>(const_cast<int64_t*>(offsets.data())), std::vector<int64_t>(dims, 0)};
  Walked from{self.data(), chosen.self_strides};
  from.strides.resize(dims, 0);
  auto step = static_cast<int64_t>(sizeof(int64_t));
  for (size_t d = chosen.index_sizes.size(); d-- > 0; step *= chosen.index_sizes[d])
    places.strides[chosen.first + d] = step;
  forEachRunTogether<3>(chosen.sizes.empty() ? IntArrayRef(&whole, 1) : IntArrayRef(chosen.sizes),
                        {places, from, walkedOf(other, dims)},
                        [&](std::array<std::byte*, 3> at, const std::array<int64_t, 3>& strides, int64_t n) {
                          for (int64_t i = 0; i < n; ++i) {
                            const int64_t offset = *reinterpret_cast<const int64_t*>(at[0]);
                            f(*reinterpret_cast<T*>(at[1] + offset), *reinterpret_cast<T*>(at[2]));
                            for (size_t o = 0; o < 3; ++o) at[o] += strides[o];
                          }
                        });
}

}  // namespace shunt::native
