// TensorAccessor: access to the elements of a CPU tensor by index: `a[i][j]`.
//
// It reads the tensor's metadata once. Nothing is dispatched, and no index is checked. It is valid while the tensor
// lives and keeps its sizes. PackedTensorAccessor holds copies of sizes and strides, if wanted in another integer type,
// so that it can be copied to where the tensor is not. It also needs the tensor's data.
#pragma once

#include <shunt/core/array_ref.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace shunt {

/// The pointer type for elements of type T.
template <class T>
struct DefaultPtrTraits {
  /// A plain pointer.
  using PtrType = T*;
};
/// Accesses N dimensions of elements of type T. Borrows sizes and strides. As at::TensorAccessor.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class TensorAccessor {
 public:
  using PtrType = typename Traits<T>::PtrType;  // how the accessor holds the first element's address
  TensorAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}

  /// The sizes, the strides in elements, and the first element of the accessor's dimensions.
  ArrayRef<Index> sizes() const { return {sizes_, N}; }
  ArrayRef<Index> strides() const { return {strides_, N}; }
  Index size(Index d) const { return sizes_[d]; }
  Index stride(Index d) const { return strides_[d]; }
  PtrType data() const { return data_; }
  /// The element when N is 1, else an accessor of the remaining dimensions. The index must not be negative.
  decltype(auto) operator[](Index i) const {
    if constexpr (N == 1)
      return static_cast<T&>(data_[i * strides_[0]]);
    else
      return TensorAccessor<T, N - 1, Traits, Index>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }

 private:
  PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};

/// Holds copies of sizes and strides. The constructor throws when Index can't hold one of them. As
/// at::GenericPackedTensorAccessor.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class GenericPackedTensorAccessor {
 public:
  using PtrType = typename Traits<T>::PtrType;  // as TensorAccessor's
  GenericPackedTensorAccessor(PtrType data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t d = 0; d < N; ++d) {
      SHUNT_CHECK(fits(sizes[d]) && fits(strides[d]), "packed_accessor: dimension ", d, " has size ", sizes[d],
                  " and stride ", strides[d], "; expected at most ", std::numeric_limits<Index>::max(),
                  ". Use packed_accessor64");
      sizes_[d] = static_cast<Index>(sizes[d]);
      strides_[d] = static_cast<Index>(strides[d]);
    }
  }

  /// The size or stride of dimension d, counted from 0.
  Index size(Index d) const { return sizes_[d]; }
  Index stride(Index d) const { return strides_[d]; }
  PtrType data() const { return data_; }
  decltype(auto) operator[](Index i) const { return TensorAccessor<T, N, Traits, Index>(data_, sizes_, strides_)[i]; }

 private:
  static bool fits(int64_t value) {
    return value >= std::numeric_limits<Index>::min() && value <= std::numeric_limits<Index>::max();
  }
  PtrType data_;
  Index sizes_[N];
  Index strides_[N];
};
/// A packed accessor with 32-bit indices.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
/// A packed accessor with 64-bit indices.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;

}  // namespace shunt
