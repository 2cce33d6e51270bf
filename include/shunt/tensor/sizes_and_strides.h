// SizesAndStrides: a tensor's dimensions, inline for up to 5. A value type that owns its memory; not synchronised.
#pragma once

#include <shunt/core/array_ref.h>

#include <algorithm>
#include <memory>

namespace shunt {

class SizesAndStrides {
 public:
  static constexpr size_t kInline = 5;  // more dimensions are allocated
  SizesAndStrides() = default;
  SizesAndStrides(const SizesAndStrides& o) : dim_(o.dim_) {
    if (dim_ <= kInline) [[likely]] {
      std::copy_n(o.inline_, 2 * kInline, inline_);
      return;
    }
    dim_ = 0;
    *this = o;
  }
  SizesAndStrides& operator=(const SizesAndStrides& o) {
    if (this == &o) return *this;
    resize(o.dim_);
    std::copy_n(o.sizesData(), dim_, sizesData());
    std::copy_n(o.stridesData(), dim_, stridesData());
    return *this;
  }

  /// Initially one dimension of size 0. Pointers and references are valid until resize() or assignment; strides count
  /// elements; `d` is not checked.
  size_t dim() const { return dim_; }
  IntArrayRef sizes() const { return {sizesData(), dim_}; }
  IntArrayRef strides() const { return {stridesData(), dim_}; }
  int64_t size(size_t d) const { return sizesData()[d]; }
  int64_t stride(size_t d) const { return stridesData()[d]; }
  /// Sizes and strides are unspecified afterwards.
  void resize(size_t dim) {
    dim_ = dim;
    if (dim > kInline && dim > heap_dim_) {
      heap_ = std::make_unique<int64_t[]>(2 * dim);
      heap_dim_ = dim;
    }
  }
  /// The first size and the first stride, to be written by the owner of this object.
  int64_t* sizesData() { return dim_ <= kInline ? inline_ : heap_.get(); }
  int64_t* stridesData() { return dim_ <= kInline ? inline_ + kInline : heap_.get() + heap_dim_; }
  const int64_t* sizesData() const { return const_cast<SizesAndStrides*>(this)->sizesData(); }
  const int64_t* stridesData() const { return const_cast<SizesAndStrides*>(this)->stridesData(); }

 private:
  size_t dim_ = 1;
  size_t heap_dim_ = 0;
  std::unique_ptr<int64_t[]> heap_;
  int64_t inline_[2 * kInline] = {};
};

}  // namespace shunt
