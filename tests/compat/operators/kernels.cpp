// The operators' schemas and their kernels for the CPU.
#include "operators.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/TensorUtils.h>
#include <torch/library.h>

#include <cmath>
#include <vector>

namespace operators {
namespace {

at::Tensor row_softmax_cpu(const at::Tensor& x, double scale) {
  TORCH_CHECK(x.dim() == 2, "row_softmax: expected a matrix, got ", x.dim(), " dimensions");
  at::Tensor y = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "row_softmax", [&] {
    const auto in = x.accessor<scalar_t, 2>();
    auto out = y.accessor<scalar_t, 2>();
    const scalar_t k = static_cast<scalar_t>(scale);
    at::parallel_for(0, in.size(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        scalar_t sum = 0;
        for (int64_t c = 0; c < in.size(1); ++c) sum += out[r][c] = std::exp(k * in[r][c]);
        for (int64_t c = 0; c < in.size(1); ++c) out[r][c] /= sum;
      }
    });
  });
  return y;
}

at::Tensor row_softmax_backward_cpu(const at::Tensor& grad, const at::Tensor& y, double scale) {
  const at::TensorArg of_grad{grad, "grad", 1}, of_y{y, "y", 2};
  at::checkSameSize("row_softmax_backward", of_grad, of_y);
  at::checkSameType("row_softmax_backward", of_grad, of_y);
  at::Tensor result = at::empty_like(y);
  AT_DISPATCH_FLOATING_TYPES(y.scalar_type(), "row_softmax_backward", [&] {
    const auto g = grad.accessor<scalar_t, 2>(), out = y.accessor<scalar_t, 2>();
    auto to = result.accessor<scalar_t, 2>();
    const scalar_t k = static_cast<scalar_t>(scale);
    for (int64_t r = 0; r < out.size(0); ++r) {
      scalar_t dot = 0;
      for (int64_t c = 0; c < out.size(1); ++c) dot += g[r][c] * out[r][c];
      for (int64_t c = 0; c < out.size(1); ++c) to[r][c] = k * out[r][c] * (g[r][c] - dot);
    }
  });
  return result;
}

at::Tensor segment_sum_cpu(const at::Tensor& src, const at::Tensor& index, int64_t size) {
  at::CheckedFrom from = "segment_sum";
  at::checkDim(from, at::TensorArg(src, "src", 1), 2);
  at::checkSize(from, at::TensorArg(index, "index", 2), 0, src.size(0));
  at::Tensor result = at::zeros({size, src.size(1)}, src.options());
  const at::Tensor rows = src.contiguous(), places = index.contiguous();
  AT_DISPATCH_ALL_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, src.scalar_type(), "segment_sum", [&] {
    using sum_t = at::opmath_type<scalar_t>;
    const scalar_t* in = rows.data_ptr<scalar_t>();
    scalar_t* out = result.data_ptr<scalar_t>();
    const int64_t columns = src.size(1), count = src.size(0);
    AT_DISPATCH_INDEX_TYPES(places.scalar_type(), "segment_sum_index", [&] {
      const index_t* place = places.data_ptr<index_t>();
      at::parallel_for(0, columns, 0, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c)
          for (int64_t r = 0; r < count; ++r) {
            TORCH_CHECK_INDEX(place[r] >= 0 && place[r] < size, "segment_sum: index ", place[r], " in row ", r,
                              " is out of range for ", size, " segments");
            scalar_t& to = out[place[r] * columns + c];
            to = static_cast<scalar_t>(static_cast<sum_t>(to) + static_cast<sum_t>(in[r * columns + c]));
          }
      });
    });
  });
  return result;
}

at::Tensor segment_sum_backward_cpu(const at::Tensor& grad, const at::Tensor& index) {
  return at::index_select(grad, 0, index);
}

std::tuple<at::Tensor, at::Tensor> row_max_cpu(const at::Tensor& x) {
  TORCH_CHECK_VALUE(x.dim() == 2 && x.size(1) > 0, "row_max: expected a matrix with columns, got ", x.sizes());
  at::Tensor values = at::empty({x.size(0)}, x.options()), where = at::empty({x.size(0)}, x.options().dtype(at::kLong));
  AT_DISPATCH_SWITCH(
      x.scalar_type(), "row_max", AT_DISPATCH_CASE_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, [&] {
        const auto in = x.packed_accessor32<scalar_t, 2>();
        for (int32_t r = 0; r < in.size(0); ++r) {
          int32_t best = 0;
          for (int32_t c = 1; c < in.size(1); ++c)
            if (in[r][c] > in[r][best]) best = c;
          values.data_ptr<scalar_t>()[r] = in[r][best];
          where.data_ptr<int64_t>()[r] = best;
        }
      }) AT_DISPATCH_CASE(at::kBool, [&] { TORCH_CHECK_TYPE(false, "row_max: there is no order of bools"); }));
  return std::make_tuple(values, where);
}

at::Tensor row_max_backward_cpu(const at::Tensor& grad, const at::Tensor& where, int64_t columns) {
  at::Tensor result = at::zeros({grad.size(0), columns}, grad.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, grad.scalar_type(), "row_max_backward", [&] {
    for (int64_t r = 0; r < grad.size(0); ++r)
      result.accessor<scalar_t, 2>()[r][where.accessor<int64_t, 1>()[r]] = grad.accessor<scalar_t, 1>()[r];
  });
  return result;
}

at::Tensor& clamp_below_cpu(at::Tensor& x, double low) {
  TORCH_CHECK(x.is_contiguous(), "clamp_below_: expected a contiguous tensor");
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "clamp_below_", [&] {
    scalar_t* at = x.data_ptr<scalar_t>();
    for (const auto i : c10::irange(x.numel()))
      if (at[i] < scalar_t(low)) at[i] = scalar_t(low);
  });
  return x;
}

}  // namespace
}  // namespace operators

TORCH_LIBRARY(operators, m) {
  m.def("row_softmax(Tensor x, float scale=1.0) -> Tensor");
  m.def("row_softmax_backward(Tensor grad, Tensor y, float scale) -> Tensor");
  m.def("segment_sum(Tensor src, Tensor index, int size) -> Tensor");
  m.def("segment_sum_backward(Tensor grad, Tensor index) -> Tensor");
  m.def("row_max(Tensor x) -> (Tensor values, Tensor where)");
  m.def("row_max_backward(Tensor grad, Tensor where, int columns) -> Tensor");
  m.def("clamp_below_(Tensor(a!) x, float low) -> Tensor(a!)");
}
TORCH_LIBRARY_IMPL(operators, CPU, m) {
  m.impl("row_softmax", TORCH_FN(operators::row_softmax_cpu));
  m.impl("row_softmax_backward", TORCH_FN(operators::row_softmax_backward_cpu));
  m.impl("segment_sum", TORCH_FN(operators::segment_sum_cpu));
  m.impl("segment_sum_backward", TORCH_FN(operators::segment_sum_backward_cpu));
  m.impl("row_max", TORCH_FN(operators::row_max_cpu));
  m.impl("row_max_backward", TORCH_FN(operators::row_max_backward_cpu));
  m.impl("clamp_below_", TORCH_FN(operators::clamp_below_cpu));
}
