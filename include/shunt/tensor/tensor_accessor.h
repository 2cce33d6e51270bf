// TensorAccessor: the elements of a CPU tensor by their indices: `a[i][j]`. What is known of the tensor is read once;
// nothing is dispatched, and no index is checked. Good as long as the tensor lives and keeps its sizes.
// PackedTensorAccessor holds sizes and strides itself, of another integer type if wanted, so that it may be copied to
// where the tensor isn't; it, too, needs the tensor's data.
#pragma once

#include <shunt/core/array_ref.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace shunt {

/// How elements are pointed at.
template <class T>
struct DefaultPtrTraits {
  /// A pointer to elements.
  using PtrType = T*;
};
/// N dimensions of elements of type T. As at::TensorAccessor.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class TensorAccessor {
 public:
  using PtrType = typename Traits<T>::PtrType;
  TensorAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}

  /// The tensor's sizes, strides and first element.
  ArrayRef<Index> sizes() const { return {sizes_, N}; }
  ArrayRef<Index> strides() const { return {strides_, N}; }
  Index size(Index d) const { return sizes_[d]; }
  Index stride(Index d) const { return strides_[d]; }
  PtrType data() const { return data_; }
  /// An element where N is 1, else what remains of the dimensions.
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

/// As at::GenericPackedTensorAccessor. Throws where Index can't hold a size or a stride.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class GenericPackedTensorAccessor {
 public:
  using PtrType = typename Traits<T>::PtrType;
  GenericPackedTensorAccessor(PtrType data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t d = 0; d < N; ++d) {
      SHUNT_CHECK(fits(sizes[d]) && fits(strides[d]), "packed_accessor: dimension ", d, " has size ", sizes[d],
                  " and stride ", strides[d], "; expected at most ", std::numeric_limits<Index>::max(),
                  ". Use packed_accessor64");
      sizes_[d] = static_cast<Index>(sizes[d]);
      strides_[d] = static_cast<Index>(strides[d]);
    }
  }

  /// Of dimension d, from 0.
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
/// With 32-bit indices.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
/// With 64-bit indices.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;

}  // namespace shunt
