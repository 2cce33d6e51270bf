// embedding: rows of a table, one for each index.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>

namespace shunt::native {

namespace {

/// One over how often each of `indices`, [n], is among them: [n, 1], not rounded to a 16-bit type. Rows are `count`.
Tensor inverseFrequencies(const Tensor& indices, int64_t count, ScalarType type) {
  const Tensor at = indices.to(kLong);
  const Tensor counts = at.new_zeros({count}).scatter_add(0, at, shunt::ones_like(at));
  return counts.index_select(0, at).to(kDouble).reciprocal().to(type == kDouble ? kDouble : kFloat).unsqueeze(1);
}

}  // namespace

/// The result has a row of `weight` in place of each element of `indices`. The row `padding_idx` gets no gradient; -1:
/// all rows do. With `scale_grad_by_freq` the gradient of a row is divided by how often `indices` names it.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq,
                 bool sparse) {
  const TensorImpl& table = implOf(weight, "embedding", "weight");
  const TensorImpl& at = implOf(indices, "embedding", "indices");
  SHUNT_CHECK(table.dim() == 2, "embedding(): 'weight' must be 2-D, but got ", table.dim(), " dimensions");
  SHUNT_CHECK(
      at.dtype() == kLong || at.dtype() == kInt,
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got ",
      at.dtype(), " instead (while checking arguments for embedding)");
  SHUNT_CHECK(!sparse, "embedding(): sparse=True asks for a sparse gradient, which is not implemented");
  const Tensor flat = indices.reshape({-1});
  Tensor rows = shunt::index_select(weight, 0, flat);
  if (padding_idx >= 0) rows = shunt::where(shunt::eq(flat, padding_idx).unsqueeze(1), rows.detach(), rows);
  if (scale_grad_by_freq && GradMode::is_enabled() && isFloatingType(table.dtype()))
    rows = shunt::_scale_gradient(rows, inverseFrequencies(flat, table.sizes()[0], table.dtype()));
  if (at.dim() == 1) return rows;
  std::vector<int64_t> sizes = at.sizes().vec();
  sizes.push_back(table.sizes()[1]);
  return shunt::_unsafe_view(rows, sizes);
}

}  // namespace shunt::native
