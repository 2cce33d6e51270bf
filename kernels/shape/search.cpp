// Counts of ints and places in sorted rows, made of other operators.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>
#include <shunt/tensor/wrapper_kind.h>

#include <algorithm>
#include <limits>

namespace shunt::native {
namespace {

/// Inside vmap and traces there is no value to read.
bool isReadable(const Tensor& t) { return !t.is_meta() && t.numel() != 0 && wrapperKind(t) == WrapperKind::kNone; }

/// Where each value belongs in its row, by halving. The comparison is so that NaN belongs behind all.
Tensor placesIn(const Tensor& rows, const Tensor& values, bool out_int32, bool right) {
  const int64_t size = rows.size(-1);
  if (rows.scalar_type() == kBool && values.scalar_type() == kBool)
    detail::throwNotImplementedFor("searchsorted_out_cpu", kBool);
  SHUNT_CHECK(!out_int32 || size < std::numeric_limits<int32_t>::max(),
              "torch.searchsorted(): the size of boundaries' last dimension should be less than ",
              std::numeric_limits<int32_t>::max(), ", but we got ", size);
  const Tensor sought = rows.dim() == 1 ? values.reshape({-1}) : values;
  Tensor low = sought.new_zeros(sought.sizes(), TensorOptions(kLong)), high = low.add(size);
  for (int64_t most = size; most > 0; most /= 2) {
    const Tensor middle = low.add(high).floor_divide(2);
    const Tensor at = rows.gather(-1, middle.clamp_max(size - 1));
    const Tensor passed = (right ? at.gt(sought) : at.ge(sought)).logical_not().logical_and(middle.lt(high));
    low = shunt::where(passed, middle.add(1), low);
    high = shunt::where(passed, high, middle);
  }
  const Tensor places = low.reshape(values.sizes());
  return out_int32 ? places.to(kInt) : places;
}

/// As a tensor of the boundaries' dtype where that is a floating-point one: numbers beyond it are infinite.
Tensor numberBeside(const Scalar& value, const Tensor& boundaries) {
  const ScalarType dtype = boundaries.scalar_type();
  const ScalarType of_number = isFloatingType(dtype) ? dtype : value.isFloatingPoint() ? kDouble : kLong;
  const TensorOptions options = TensorOptions(of_number).device(boundaries.device());
  if (isFloatingType(dtype)) return shunt::scalar_tensor(value, options.dtype(kDouble)).to(dtype);
  return shunt::scalar_tensor(value, options);
}

bool isRight(bool right, std::optional<std::string_view> side) {
  if (!side) return right;
  SHUNT_CHECK(*side == "left" || *side == "right", "torch.searchsorted(): side can only be 'left' or 'right' but got ",
              *side);
  SHUNT_CHECK(!right || *side == "right",
              "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True");
  return *side == "right";
}

Tensor inOrder(const Tensor& rows, const std::optional<Tensor>& sorter) {
  if (!sorter || !sorter->defined()) return rows;
  SHUNT_CHECK(sorter->sizes() == rows.sizes(),
              "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor ",
              rows.sizes(), " and got sorter tensor ", sorter->sizes());
  SHUNT_CHECK(sorter->scalar_type() == kLong,
              "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype ", sorter->scalar_type());
  if (isReadable(*sorter))
    SHUNT_CHECK(sorter->min().item().toLong() >= 0 && sorter->max().item().toLong() < rows.size(-1),
                "torch.searchsorted(): sorter index out of range");
  return rows.gather(-1, *sorter);
}

}  // namespace

Tensor bincount(const Tensor& self, const std::optional<Tensor>& weights, int64_t minlength) {
  const ScalarType dtype = implOf(self, "bincount").dtype();
  if (!isIntegralType(dtype, false)) detail::throwNotImplementedFor("bincount_cpu", dtype);
  SHUNT_CHECK(minlength >= 0, "minlength should be >= 0");
  SHUNT_CHECK(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
  if (self.numel() == 0) return self.new_zeros({minlength}, TensorOptions(kLong));
  SHUNT_CHECK(self.min().item().toLong() >= 0, "bincount only supports 1-d non-negative integral inputs.");
  const bool weighted = weights && weights->defined();
  SHUNT_CHECK(!weighted || (weights->dim() == 1 && weights->numel() == self.numel()),
              "weights should be 1-d and have the same length as input");
  const int64_t size = std::max(minlength, self.max().item().toLong() + 1);
  const Tensor amounts = !weighted                          ? shunt::ones_like(self, TensorOptions(kLong))
                         : weights->scalar_type() == kFloat ? *weights
                                                            : weights->to(kDouble);
  return amounts.new_zeros({size}).index_add(0, self.to(kLong), amounts);
}

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                    std::optional<std::string_view> side, const std::optional<Tensor>& sorter) {
  implOf(sorted_sequence, "searchsorted", "sorted_sequence");
  implOf(self, "searchsorted");
  const bool from_right = isRight(right, side);
  const int64_t dims = sorted_sequence.dim();
  SHUNT_CHECK(
      dims == 1 || (self.dim() != 0 && dims != 0),
      "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
      "boundaries tensor dim(",
      dims, ") and input value's dim(", self.dim(), ") numel(", self.numel(), ")");
  const auto leading = [](const Tensor& t) { return t.sizes().slice(0, static_cast<size_t>(t.dim()) - 1); };
  SHUNT_CHECK(dims == 1 || (dims == self.dim() && leading(sorted_sequence) == leading(self)),
              "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
              "tensor and input value tensor must match, but we got boundaries tensor ",
              sorted_sequence.sizes(), " and input value tensor ", self.sizes());
  return placesIn(inOrder(sorted_sequence, sorter), self, out_int32, from_right);
}
Tensor searchsorted_scalar(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right,
                           std::optional<std::string_view> side, const std::optional<Tensor>& sorter) {
  implOf(sorted_sequence, "searchsorted", "sorted_sequence");
  return native::searchsorted(sorted_sequence, numberBeside(self, sorted_sequence), out_int32, right, side, sorter);
}

Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  implOf(self, "bucketize");
  implOf(boundaries, "bucketize", "boundaries");
  SHUNT_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
  return placesIn(boundaries, self, out_int32, right);
}
Tensor bucketize_scalar(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
  implOf(boundaries, "bucketize", "boundaries");
  return native::bucketize(numberBeside(self, boundaries), boundaries, out_int32, right);
}

}  // namespace shunt::native
