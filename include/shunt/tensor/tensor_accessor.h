// TensorAccessor: the elements of a CPU tensor by their indices: `a[i][j]`. What is known of the tensor is read once;
// nothing is dispatched, and no index is checked. Good as long as the tensor lives and keeps its sizes.
#pragma once

#include <shunt/core/array_ref.h>

#include <cstddef>
#include <cstdint>

namespace shunt {

/// N dimensions of elements of type T. As at::TensorAccessor.
template <class T, size_t N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}

  IntArrayRef sizes() const { return {sizes_, N}; }
  IntArrayRef strides() const { return {strides_, N}; }
  int64_t size(int64_t d) const { return sizes_[d]; }
  int64_t stride(int64_t d) const { return strides_[d]; }
  T* data() const { return data_; }
  /// An element where N is 1, else what remains of the dimensions.
  decltype(auto) operator[](int64_t i) const {
    T* at = data_ + i * strides_[0];
    if constexpr (N == 1)
      return static_cast<T&>(*at);
    else
      return TensorAccessor<T, N - 1>(at, sizes_ + 1, strides_ + 1);
  }

 private:
  T* data_;
  const int64_t* sizes_;
  const int64_t* strides_;
};

}  // namespace shunt
