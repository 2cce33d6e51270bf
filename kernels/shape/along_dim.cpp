// take_along_dim, and flip: elements of whole dimensions in other places.
#include "generated/native_functions.h"
#include "kernels/common/result.h"
#include "kernels/common/strided_walk.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>
#include <shunt/tensor/expand_utils.h>

namespace shunt::native {
namespace {

/// `t` broadcast to the other's sizes, but for `dim`, whose size stays.
Tensor broadcastBut(const Tensor& t, const Tensor& other, int64_t dim) {
  const auto d = static_cast<size_t>(dim);
  std::vector<int64_t> sizes = other.sizes().vec();
  sizes[d] = t.sizes()[d];
  return t.expand(infer_size(t.sizes(), sizes));
}

/// Indices from the end, -1 for the last, counted from the front; what else is out of range stays so.
Tensor fromTheFront(const Tensor& indices, int64_t size) {
  return shunt::where(indices.lt(0), indices.add(size), indices);
}

}  // namespace

/// numpy.take_along_axis: gather, with sizes broadcast outside of `dim`. Without `dim`, of all elements in a row.
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  implOf(self, "take_along_dim");
  const TensorImpl& at = implOf(indices, "take_along_dim", "indices");
  if (!dim) return shunt::gather(self.view({-1}), 0, fromTheFront(indices.view({-1}), self.numel()));
  SHUNT_CHECK(self.dim() == at.dim(),
              "torch.take_along_dim(): input and indices should have the same number of dimensions, but got ",
              self.dim(), " dimensions for input, and ", at.dim(), " dimensions for indices");
  SHUNT_CHECK(at.dtype() == kLong, "torch.take_along_dim(): dtype of indices should be Long but got ", at.dtype());
  const int64_t d = maybe_wrap_dim(*dim, self.dim());
  if (self.dim() == 0) return shunt::gather(self, d, fromTheFront(indices, 1));
  const Tensor positions = fromTheFront(indices, self.sizes()[static_cast<size_t>(d)]);
  return shunt::gather(broadcastBut(self, indices, d), d, broadcastBut(positions, self, d));
}

Tensor flip(const Tensor& self, IntArrayRef dims) {
  const TensorImpl& from = implOf(self, "flip");
  const auto ndim = static_cast<size_t>(from.dim());
  std::vector<bool> flipped(std::max<size_t>(ndim, 1), false);
  for (const int64_t dim : dims) {
    const auto d = static_cast<size_t>(maybe_wrap_dim(dim, from.dim()));
    SHUNT_CHECK(!flipped[d], "dim ", d, " appears multiple times in the list of dims");
    flipped[d] = true;
  }
  Tensor out = native::empty_like(self, {}, {}, {}, {}, MemoryFormat::Preserve);
  if (!hasData(from) || from.numel() == 0) return out;
  // Read from the last element of flipped dimensions backwards.
  const int64_t whole = 1;
  Walked source = walkedOf(from, flipped.size());
  for (size_t d = 0; d < ndim; ++d) {
    if (!flipped[d]) continue;
    source.data += (from.sizes()[d] - 1) * source.strides[d];
    source.strides[d] = -source.strides[d];
  }
  dispatchBySize(from.itemsize(), [&]<class T>(std::type_identity<T>) {
    forEachRunTogether<2>(ndim == 0 ? IntArrayRef(&whole, 1) : from.sizes(),
                          {walkedOf(*out.unsafeGetTensorImpl(), flipped.size()), source},
                          [](std::array<std::byte*, 2> at, const std::array<int64_t, 2>& strides, int64_t n) {
                            for (int64_t i = 0; i < n; ++i, at[0] += strides[0], at[1] += strides[1])
                              *reinterpret_cast<T*>(at[0]) = *reinterpret_cast<const T*>(at[1]);
                          });
  });
  return out;
}

}  // namespace shunt::native
