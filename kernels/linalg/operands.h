// Tensors as operands of gemm: which strides a BLAS takes as they are, and copies of those it does not.
//
// Operand keeps a copy alive as long as its view is used. Local values of one call; any thread.
#pragma once

#include "kernels/linalg/gemm.h"

#include <shunt/tensor/tensor.h>

namespace shunt::linalg {

/// How a rows x cols matrix with these strides can be handed to a BLAS.
struct Orientation {
  bool usable;
  bool transposed;
  int64_t ld;
};

inline Orientation orientationOf(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) {
  // The stride of a dimension with one element never matters; leading dimensions are at least the row's length, and 1.
  if (cols <= 1 || col_stride == 1) {
    const int64_t least = cols > 1 ? cols : 1;
    if (cols > 1 || row_stride >= 1 || rows <= 1) {
      if (rows <= 1) return {true, false, least};
      if (row_stride >= least) return {true, false, row_stride};
    }
  }
  if (rows <= 1 || row_stride == 1) {
    const int64_t least = rows > 1 ? rows : 1;
    if (cols <= 1) return {true, true, least};
    if (col_stride >= least) return {true, true, col_stride};
  }
  return {false, false, 0};
}

/// A contiguous copy.
Tensor contiguousCopy(const Tensor& t);

/// The last two dimensions of a tensor of 2 or 3 dimensions as operands; matrices of a batch are batchStride() apart.
class Operand {
 public:
  explicit Operand(const Tensor& t) {
    const TensorImpl& impl = *t.unsafeGetTensorImpl();
    if (!bind(impl)) {
      copy_ = contiguousCopy(t);
      bind(*copy_.unsafeGetTensorImpl());
    }
  }

  template <class T>
  MatrixView<T> view(int64_t batch = 0) const {
    return {reinterpret_cast<const T*>(data_) + batch * batch_stride_, orientation_.ld, orientation_.transposed};
  }
  int64_t batchStride() const { return batch_stride_; }

 private:
  bool bind(const TensorImpl& impl) {
    const auto d = static_cast<size_t>(impl.dim());
    const int64_t* sizes = impl.sizes().data();
    const int64_t* strides = impl.strides().data();
    orientation_ = orientationOf(sizes[d - 2], sizes[d - 1], strides[d - 2], strides[d - 1]);
    batch_stride_ = d == 3 ? strides[0] : 0;
    data_ = impl.data();
    return orientation_.usable;
  }

  Orientation orientation_;
  int64_t batch_stride_;
  const std::byte* data_;
  Tensor copy_;
};

}  // namespace shunt::linalg
