// The operators of this extension, as its kernels call each other: through the dispatcher.
#pragma once

#include <ATen/ATen.h>

#include <tuple>

namespace operators {

/// exp(scale * x) over its sum, in each row. x: [rows, columns], floating.
at::Tensor row_softmax(const at::Tensor& x, double scale);
at::Tensor row_softmax_backward(const at::Tensor& grad, const at::Tensor& y, double scale);

/// [size, columns]: the sums of those rows of src that have the same index. src: [rows, columns], any dtype;
/// index: [rows], int32 or int64.
at::Tensor segment_sum(const at::Tensor& src, const at::Tensor& index, int64_t size);
at::Tensor segment_sum_backward(const at::Tensor& grad, const at::Tensor& index);

/// Each row's largest element and where it is; the first of equal ones.
std::tuple<at::Tensor, at::Tensor> row_max(const at::Tensor& x);
at::Tensor row_max_backward(const at::Tensor& grad, const at::Tensor& where, int64_t columns);

/// Sets what is below `low` to it.
at::Tensor& clamp_below_(at::Tensor& x, double low);

}  // namespace operators
