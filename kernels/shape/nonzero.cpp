// nonzero, where(condition) and masked_select: results whose size depends on the elements.
#include "generated/native_functions.h"
#include "kernels/common/result.h"
#include "kernels/common/strided_loop.h"
#include "kernels/common/view_util.h"

#include <shunt/elementwise/cast.h>
#include <shunt/ops.h>
#include <shunt/tensor/expand_utils.h>

namespace shunt::native {
namespace {

/// Places in row-major order, counted from the first element. NaN is none of the zeros.
std::vector<int64_t> placesOfNonzero(const TensorImpl& t) {
  std::vector<int64_t> places;
  dispatchAllTypes(t.dtype(), "nonzero", [&]<class T>(std::type_identity<T>) {
    int64_t place = 0;
    forEachElement<T>(t, [&](const T& element) {
      if (cast<opmath_t<T>>(element) != opmath_t<T>(0)) places.push_back(place);
      ++place;
    });
  });
  return places;
}

}  // namespace

/// A row of coordinates for each element that is not 0.
Tensor nonzero(const Tensor& self) {
  const TensorImpl& from = implOf(self, "nonzero");
  // Without elements there is no count: item() says so, which fake tensors report as an operator that depends on data.
  if (!hasData(from)) return newResult(from, {newResult(from, {}, kLong).item<int64_t>(), from.dim()}, kLong);
  const std::vector<int64_t> places = placesOfNonzero(from);
  const auto rows = static_cast<int64_t>(places.size());
  // A column for each dimension, one after the other in memory, as PyTorch's result has.
  const Tensor columns = newResult(from, {from.dim(), rows}, kLong);
  auto* at = reinterpret_cast<int64_t*>(columns.unsafeGetTensorImpl()->data());
  for (int64_t place : places) {
    for (int64_t d = from.dim() - 1; d >= 0; --d) {
      const int64_t size = from.sizes()[static_cast<size_t>(d)];
      at[d * rows] = place % size;
      place /= size;
    }
    ++at;
  }
  return makeView(*columns.unsafeGetTensorImpl(), {rows, from.dim()}, {1, rows}, 0);
}

/// nonzero()'s columns: for each dimension the coordinates of what is not 0, so that x.index(where(condition)) has
/// those elements. A tensor of no dimensions counts as one of one element, as in NumPy.
std::vector<Tensor> where(const Tensor& condition) {
  const TensorImpl& from = implOf(condition, "where", "condition");
  return (from.dim() == 0 ? condition.unsqueeze(0) : condition).nonzero().unbind(1);
}

/// The elements at which the mask is true, in a row.
Tensor masked_select(const Tensor& self, const Tensor& mask) {
  implOf(self, "masked_select");
  const ScalarType type = implOf(mask, "masked_select", "mask").dtype();
  SHUNT_CHECK(type == kBool || type == kByte, "masked_select: expected BoolTensor or ByteTensor for mask, but got ",
              type);
  const Tensor wide = mask.expand(infer_size(self.sizes(), mask.sizes()));
  SHUNT_CHECK(type == kBool || wide.le(1).all().item<bool>(),
              "masked_select: Mask tensor can take 0 and 1 values only");
  const Tensor places = shunt::nonzero(wide.reshape({-1})).select(1, 0);
  return shunt::index_select(self.expand(wide.sizes()).reshape({-1}), 0, places);
}

}  // namespace shunt::native
