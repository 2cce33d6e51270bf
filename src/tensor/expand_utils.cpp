#include <shunt/tensor/expand_utils.h>

namespace shunt {

std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b) {
  const size_t ndim = std::max(a.size(), b.size());
  std::vector<int64_t> result(ndim);
  for (size_t i = 0; i < ndim; ++i) {
    const int64_t size_a = i + a.size() < ndim ? 1 : a[i + a.size() - ndim];
    const int64_t size_b = i + b.size() < ndim ? 1 : b[i + b.size() - ndim];
    SHUNT_CHECK(size_a == size_b || size_a == 1 || size_b == 1, "The size of tensor a (", size_a,
                ") must match the size of tensor b (", size_b, ") at non-singleton dimension ", i);
    result[i] = size_a == 1 ? size_b : size_a;
  }
  return result;
}

bool is_expandable_to(IntArrayRef from, IntArrayRef to) {
  if (from.size() > to.size()) return false;
  const size_t leading = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != to[leading + i] && from[i] != 1) return false;
  return true;
}

Tensor sum_to(Tensor tensor, IntArrayRef shape) {
  const IntArrayRef sizes = tensor.sizes();
  if (sizes == shape) return tensor;
  SHUNT_CHECK(is_expandable_to(shape, sizes), "size {", shape, "} is not expandable to size {", sizes, "}.");
  if (shape.empty()) return ops::sum::call(tensor, std::nullopt);
  const size_t leading = sizes.size() - shape.size();
  std::vector<int64_t> reduced;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (i < leading || (shape[i - leading] == 1 && sizes[i] != 1)) reduced.push_back(static_cast<int64_t>(i));
  tensor = ops::sum_dim_IntList::call(tensor, reduced, true, std::nullopt);
  return leading > 0 ? ops::view::call(tensor, shape) : tensor;
}

}  // namespace shunt
