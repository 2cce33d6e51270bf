#include <shunt/autograd/as_strided_backward.h>

#include <shunt/ops.h>

#include <algorithm>
#include <numeric>

namespace shunt::autograd {
namespace {

// Whether two positions may lie on one element. May say yes wrongly, never no.
bool maybeOverlaps(const TensorGeometry& g) {
  std::vector<size_t> order(g.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return g.strides[a] < g.strides[b]; });
  int64_t reach = 0;  // the farthest element that the dimensions so far get to
  for (size_t d : order) {
    if (g.sizes[d] == 1) continue;
    if (g.strides[d] <= reach) return true;
    reach += g.strides[d] * (g.sizes[d] - 1);
  }
  return false;
}

int64_t storageExtent(const TensorGeometry& g) {
  int64_t n = g.storage_offset + 1;
  for (size_t d = 0; d < g.sizes.size(); ++d) {
    if (g.sizes[d] == 0) return 0;
    n += (g.sizes[d] - 1) * g.strides[d];
  }
  return n;
}

// Dimensions of stride 0 that `grad` must be summed over; they and those of size 1 leave the geometry.
Tensor sumExpanded(Tensor grad, TensorGeometry& g) {
  TensorGeometry kept;
  kept.storage_offset = g.storage_offset;
  for (size_t d = g.sizes.size(); d-- > 0;) {
    const auto dim = static_cast<int64_t>(d);
    if (g.sizes[d] == 1) {
      grad = grad.squeeze(dim);
    } else if (g.strides[d] == 0) {
      grad = grad.sum(IntArrayRef(dim), false);
    } else {
      kept.sizes.insert(kept.sizes.begin(), g.sizes[d]);
      kept.strides.insert(kept.strides.begin(), g.strides[d]);
    }
  }
  g = std::move(kept);
  return grad;
}

Tensor positions(const TensorGeometry& g, int64_t extent, const Tensor& like) {
  return arange(extent, like.options().dtype(kLong)).as_strided(g.sizes, g.strides, g.storage_offset).reshape({-1});
}

}  // namespace

Tensor as_strided_backward(Tensor grad, TensorGeometry input, TensorGeometry view) {
  const int64_t shared = std::min(input.storage_offset, view.storage_offset);
  input.storage_offset -= shared;
  view.storage_offset -= shared;
  const int64_t extent = std::max(storageExtent(input), storageExtent(view));
  if (std::find(view.sizes.begin(), view.sizes.end(), 0) != view.sizes.end() || extent == 0)
    return zeros(input.sizes, grad.options());
  grad = sumExpanded(std::move(grad), view);

  Tensor storage = grad.new_zeros({extent});
  if (maybeOverlaps(view))
    storage = storage.index_add(0, positions(view, extent, grad), grad.reshape({-1}));
  else
    storage.as_strided(view.sizes, view.strides, view.storage_offset).copy_(grad);

  if (maybeOverlaps(input)) {
    const Tensor at = positions(input, extent, grad);
    // The 16-bit types don't have all counts.
    const ScalarType type = grad.scalar_type();
    const TensorOptions exact = grad.options().dtype(type == kHalf || type == kBFloat16 ? kFloat : type);
    const Tensor count = zeros({extent}, exact).index_add(0, at, ones({at.numel()}, exact));
    storage = storage.div(count.clamp_min(1)).to(type);
  }
  return storage.as_strided(input.sizes, input.strides, input.storage_offset);
}

}  // namespace shunt::autograd
