// Gradients of views and copies: formulas.h.
#include "kernels/autograd/formulas.h"
#include "kernels/common/overlap.h"

#include <algorithm>
#include <utility>

namespace shunt::autograd {
namespace {

int64_t wrap(int64_t dim, int64_t n) { return dim < 0 ? dim + n : dim; }

/// Elements of a storage that the geometry reaches.
int64_t reach(IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  int64_t last = offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return last + 1;
}

/// What as_strided_scatter writes to: a copy of the input with its geometry, or where that is expanded a dense one.
TensorGeometry copyOf(TensorGeometry input) {
  if (!elementwise::repeatsElements(input.sizes, input.strides)) return input;
  for (size_t d = input.sizes.size(), step = 1; d-- > 0;
       step *= static_cast<size_t>(std::max<int64_t>(input.sizes[d], 1)))
    input.strides[d] = static_cast<int64_t>(step);
  input.storage_offset = 0;
  return input;
}

/// `grad` where `input` lies in its storage, in a storage that the window fits in too; zeros elsewhere.
Tensor laidOut(const Tensor& grad, const TensorGeometry& input, IntArrayRef size, IntArrayRef stride, int64_t offset) {
  const int64_t n = std::max(reach(input.sizes, input.strides, input.storage_offset), reach(size, stride, offset));
  return zeros({n}, grad.options()).as_strided_scatter(grad, input.sizes, input.strides, input.storage_offset);
}

}  // namespace

Tensor permute_backward(const Tensor& grad, IntArrayRef dims) {
  std::vector<int64_t> inverse(dims.size());
  const auto n = static_cast<int64_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) inverse[static_cast<size_t>(wrap(dims[i], n))] = static_cast<int64_t>(i);
  return grad.permute(inverse);
}

Tensor unsqueeze_to(const Tensor& grad, IntArrayRef sizes) {
  Tensor result = grad;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] == 1) result = result.unsqueeze(static_cast<int64_t>(d));
  return result;
}

Tensor unsqueeze_to(const Tensor& grad, int64_t dim, IntArrayRef sizes) {
  if (sizes.empty()) return grad;
  const int64_t d = wrap(dim, static_cast<int64_t>(sizes.size()));
  return sizes[static_cast<size_t>(d)] == 1 ? grad.unsqueeze(d) : grad;
}

Tensor slice_backward_wrapper(const Tensor& grad, IntArrayRef sizes, int64_t dim, std::optional<int64_t> start,
                              std::optional<int64_t> end, int64_t step) {
  const int64_t d = wrap(dim, static_cast<int64_t>(sizes.size()));
  return slice_backward(grad, sizes, d, start.value_or(0), end.value_or(sizes[static_cast<size_t>(d)]), step);
}

Tensor as_strided_backward(const Tensor& grad, const TensorGeometry& input, IntArrayRef size, IntArrayRef stride,
                           std::optional<int64_t> storage_offset) {
  TensorGeometry view;
  view.sizes = size.vec();
  view.strides = stride.vec();
  view.storage_offset = storage_offset.value_or(input.storage_offset);
  return as_strided_backward(grad, input, std::move(view));
}

Tensor as_strided_scatter_self_backward(const Tensor& grad, const TensorGeometry& self, IntArrayRef size,
                                        IntArrayRef stride, std::optional<int64_t> storage_offset) {
  const TensorGeometry input = copyOf(self);
  const int64_t offset = storage_offset.value_or(input.storage_offset);
  return laidOut(grad, input, size, stride, offset)
      .as_strided_scatter(zeros(size, grad.options()), size, stride, offset)
      .as_strided(input.sizes, input.strides, input.storage_offset);
}

Tensor as_strided_scatter_src_backward(const Tensor& grad, const TensorGeometry& self, IntArrayRef size,
                                       IntArrayRef stride, std::optional<int64_t> storage_offset) {
  const TensorGeometry input = copyOf(self);
  const int64_t offset = storage_offset.value_or(input.storage_offset);
  return laidOut(grad, input, size, stride, offset).as_strided(size, stride, offset);
}

Tensor index_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  return zeros(sizes, grad.options()).index_add(dim, index, grad);
}

Tensor index_backward(const Tensor& grad, IntArrayRef sizes, TensorOptList indices) {
  return zeros(sizes, grad.options()).index_put(indices, grad, true);
}

Tensor index_put_self_backward(const Tensor& grad, TensorOptList indices, bool accumulate) {
  return accumulate ? grad : grad.index_put(indices, zeros({}, grad.options()));
}

namespace {

/// The one index tensor, if it is a mask, with dimensions to broadcast along `grad`; else undefined.
Tensor onlyMask(const Tensor& grad, TensorOptList indices) {
  Tensor mask;
  int64_t before = 0;  // dimensions
  for (const std::optional<Tensor>& index : indices) {
    if (!index || !index->defined()) {
      before += mask.defined() ? 0 : 1;
      continue;
    }
    const bool is_mask = index->dtype() == kBool || index->dtype() == kByte;
    if (mask.defined() || !is_mask || index->device() != grad.device()) return {};
    mask = index->to(kBool);
  }
  if (!mask.defined()) return {};
  while (before + mask.dim() < grad.dim()) mask = mask.unsqueeze(-1);
  return mask;
}

}  // namespace

Tensor index_put_values_backward(const Tensor& grad, TensorOptList indices, IntArrayRef sizes) {
  const bool one = std::all_of(sizes.begin(), sizes.end(), [](int64_t n) { return n == 1; });
  // One number wherever the mask is true: a sum whose shape, other than that of an index, is known without looking at
  // the mask.
  if (const Tensor mask = one ? onlyMask(grad, indices) : Tensor(); mask.defined())
    return grad.masked_fill(mask.logical_not(), 0).sum().reshape(sizes);
  return grad.index(indices);
}

Tensor gather_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index, bool sparse_grad) {
  SHUNT_CHECK(!sparse_grad, "gather(): sparse_grad=True asks for a sparse gradient, which is not implemented");
  return zeros(sizes, grad.options()).scatter_add(dim, index, grad);
}

namespace {

// A tensor without dimensions counts as one dimension of size 1.
Tensor atLeastOneDim(const Tensor& t) { return t.dim() == 0 ? t.reshape({1}) : t; }

/// The elements of `src` that an index of `sizes` covers, in those sizes.
Tensor covered(const Tensor& src, IntArrayRef sizes) {
  Tensor part = atLeastOneDim(src);
  for (size_t d = 0; d < sizes.size(); ++d)
    if (part.sizes()[d] != sizes[d]) part = part.narrow(static_cast<int64_t>(d), 0, sizes[d]);
  if (sizes.empty()) part = part.narrow(0, 0, 1);
  return part.sizes() == sizes ? part : part.reshape(sizes);
}

/// `grad` of the covered elements, with zeros for all others of `sizes`.
Tensor uncovered(const Tensor& grad, IntArrayRef sizes) {
  if (grad.sizes() == sizes) return grad;
  if (sizes.empty()) return grad.reshape(sizes);
  Tensor whole = atLeastOneDim(grad);
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::vector<int64_t> grown = whole.sizes().vec();
    if (grown[d] == sizes[d]) continue;
    const int64_t length = std::exchange(grown[d], sizes[d]);
    whole = slice_backward(whole, grown, static_cast<int64_t>(d), 0, length, 1);
  }
  return whole;
}

}  // namespace

Tensor scatter_src_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef src_sizes) {
  if (index.numel() == 0) return zeros(src_sizes, grad.options());
  return uncovered(grad.gather(dim, index), src_sizes);
}

namespace {

/// Where `is_zero` holds for the first ("amin") or the last ("amax") of the elements that go to one place.
Tensor outermostZero(const Tensor& is_zero, IntArrayRef sizes, int64_t dim, const Tensor& index,
                     std::string_view which) {
  const TensorOptions options = TensorOptions(kLong).device(index.device());
  const int64_t count = is_zero.numel();
  const Tensor places = arange(Scalar(count), options).reshape(is_zero.sizes());
  const Tensor candidates = where(is_zero, places, Scalar(which == "amin" ? count : -1));
  const Tensor chosen = zeros(sizes, options).scatter_reduce(dim, index, candidates, which, false);
  return is_zero.logical_and(places.eq(chosen.gather(dim, index)));
}

/// Of products: all factors but the own one. Where several factors of an element are 0 the gradients of all are 0, but
/// with two of them each one's gradient depends on the other. So the first and the last are multiplied out, and others
/// are between zeros.
std::tuple<Tensor, Tensor> scatteredProductBackward(const Tensor& grad, const Tensor& self, int64_t dim,
                                                    const Tensor& index, const Tensor& src, bool include_self,
                                                    const Tensor& result) {
  const Tensor self_or_one = self.masked_fill(self.eq(0), 1);
  const Tensor of_self = grad.mul(self_or_one.scatter_reduce(dim, index, src, "prod", include_self)).div(self_or_one);
  const Tensor is_zero = src.eq(0);
  const auto allBut = [&](const Tensor& one) {
    const Tensor others = self.scatter_reduce(dim, index, src.masked_fill(one, 1), "prod", include_self);
    return grad.mul(others).gather(dim, index);
  };
  const Tensor first = outermostZero(is_zero, self.sizes(), dim, index, "amin");
  const Tensor last = outermostZero(is_zero, self.sizes(), dim, index, "amax");
  const Tensor divided = grad.mul(result).gather(dim, index).div(src.masked_fill(is_zero, 1));
  return {of_self, where(first, allBut(first), where(last, allBut(last), divided))};
}

std::tuple<Tensor, Tensor> scatteredMeanBackward(const Tensor& grad, int64_t dim, const Tensor& index,
                                                 const Tensor& src, bool include_self) {
  Tensor count = include_self ? ones_like(grad) : zeros_like(grad);
  count = count.scatter_add(dim, index, ones_like(src));
  const Tensor share = grad.div(count.masked_fill(count.eq(0), 1));
  return {share, share.gather(dim, index)};
}

/// Equal extremes share.
std::tuple<Tensor, Tensor> scatteredExtremeBackward(const Tensor& grad, const Tensor& self, int64_t dim,
                                                    const Tensor& index, const Tensor& src, const Tensor& result) {
  const Tensor self_is = self.eq(result).to(grad.scalar_type());
  const Tensor src_is = src.eq(result.gather(dim, index)).to(grad.scalar_type());
  const Tensor share = grad.div(self_is.scatter_add(dim, index, src_is));
  return {self_is.mul(share), src_is.mul(share.gather(dim, index))};
}

}  // namespace

std::tuple<Tensor, Tensor> scatter_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                                   const Tensor& index, const Tensor& src, std::string_view reduce,
                                                   bool include_self, const Tensor& result) {
  if (index.numel() == 0) return {grad, zeros(src.sizes(), grad.options())};
  const Tensor g = in_compute_type(grad), to = in_compute_type(self),
               from = in_compute_type(covered(src, index.sizes()));
  std::tuple<Tensor, Tensor> both;
  if (reduce == "sum")
    both = {g, g.gather(dim, index)};
  else if (reduce == "prod")
    both = scatteredProductBackward(g, to, dim, index, from, include_self, in_compute_type(result));
  else if (reduce == "mean")
    both = scatteredMeanBackward(g, dim, index, from, include_self);
  else
    both = scatteredExtremeBackward(g, to, dim, index, from, in_compute_type(result));
  auto& [of_self, of_src] = both;
  if (!include_self) of_self = of_self.scatter(dim, index, 0);
  of_src = uncovered(of_src, src.sizes());
  return both;
}

Tensor index_add_source_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef source_sizes,
                                 const Scalar& alpha) {
  return maybe_multiply(grad.index_select(dim, index).reshape(source_sizes), alpha);
}

Tensor split_with_sizes_backward(const std::vector<Tensor>& grads, IntArrayRef split_sizes, int64_t dim,
                                 IntArrayRef sizes, const TensorOptions& options) {
  const int64_t d = wrap(dim, static_cast<int64_t>(sizes.size()));
  std::vector<Tensor> parts = grads;
  std::vector<int64_t> part_sizes = sizes.vec();
  for (size_t i = 0; i < parts.size(); ++i) {
    part_sizes[static_cast<size_t>(d)] = split_sizes[i];
    if (!parts[i].defined()) parts[i] = zeros(part_sizes, options);
  }
  return cat(parts, d);
}

Tensor split_backward(const std::vector<Tensor>& grads, int64_t split_size, int64_t dim, IntArrayRef sizes,
                      const TensorOptions& options) {
  const int64_t size = sizes[static_cast<size_t>(wrap(dim, static_cast<int64_t>(sizes.size())))];
  std::vector<int64_t> split_sizes(grads.size(), split_size);
  split_sizes.back() = size - split_size * (static_cast<int64_t>(grads.size()) - 1);
  return split_with_sizes_backward(grads, split_sizes, dim, sizes, options);
}

Tensor unbind_backward(const std::vector<Tensor>& grads, int64_t dim) {
  const auto given = std::find_if(grads.begin(), grads.end(), [](const Tensor& g) { return g.defined(); });
  std::vector<Tensor> parts = grads;
  for (Tensor& part : parts)
    if (!part.defined()) part = zeros(given->sizes(), given->options());
  return stack(parts, dim);
}

std::vector<std::vector<int64_t>> to_args_sizes(TensorList tensors) {
  std::vector<std::vector<int64_t>> result;
  result.reserve(tensors.size());
  for (const Tensor& t : tensors) result.push_back(t.sizes().vec());
  return result;
}

std::vector<Tensor> cat_tensors_backward(const Tensor& grad, const std::vector<std::vector<int64_t>>& sizes,
                                         int64_t dim) {
  std::vector<Tensor> result(sizes.size());
  if (!grad.defined()) return result;
  const int64_t d = wrap(dim, grad.dim());  // of no meaning, and unused, when all are skipped
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    // cat skips empty tensors of one dimension, whatever the others' shape.
    if (sizes[i].size() == 1 && sizes[i][0] == 0) {
      result[i] = zeros({0}, grad.options());
      continue;
    }
    const int64_t length = sizes[i][static_cast<size_t>(d)];
    result[i] = grad.narrow(d, start, length);
    start += length;
  }
  return result;
}

Tensor to_copy_backward(const Tensor& grad, const TensorOptions& options) {
  return grad.to(TensorOptions(options.dtype()).device(options.device()));
}

}  // namespace shunt::autograd
