// Lower medians, made of a stable sort, so that of equal elements the first is chosen.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

#include <shunt/core/wrap_dim.h>
#include <shunt/ops.h>

#include <limits>

namespace shunt::native {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

void checkNumbers(const Tensor& self, const char* name) {
  if (implOf(self, name).dtype() == kBool) detail::throwNotImplementedFor(detail::str(name, "_out").c_str(), kBool);
}

/// The place of each row's median among its sorted elements, of which NaN are the last; one element along `dim`.
Tensor middles(const Tensor& self, int64_t dim, bool skip_nan) {
  const Tensor nan = self.isnan();
  const Tensor numbers = nan.logical_not().sum({dim}, true);
  if (skip_nan) return numbers.sub(1).floor_divide(2).clamp_min(0);
  // NaN is the median of a row that has one: the first, which comes after the numbers.
  return shunt::where(nan.any(dim, true), numbers, shunt::full_like(numbers, (self.size(dim) - 1) / 2));
}

Pair medianAlong(const char* name, const Tensor& self, int64_t dim, bool keepdim, bool skip_nan) {
  checkNumbers(self, name);
  const int64_t d = maybe_wrap_dim(dim, self.dim());
  if (self.dim() == 0) return {self.clone(), self.new_zeros({}, TensorOptions(kLong))};
  const int64_t size = self.size(d);
  SHUNT_CHECK_INDEX(size != 0, name, "(): Expected reduction dim ", d, " to have non-zero size.");
  auto [values, places] = shunt::sort(self, /*stable=*/true, d, /*descending=*/false);
  if (isFloatingType(self.scalar_type())) {
    const Tensor middle = middles(self, d, skip_nan);
    values = values.gather(d, middle);
    places = places.gather(d, middle);
  } else {
    values = values.narrow(d, (size - 1) / 2, 1).clone(MemoryFormat::Contiguous);
    places = places.narrow(d, (size - 1) / 2, 1).clone(MemoryFormat::Contiguous);
  }
  if (keepdim) return {values, places};
  return {values.squeeze(d), places.squeeze(d)};
}

Tensor medianOfAll(const char* name, const Tensor& self, bool skip_nan) {
  checkNumbers(self, name);
  if (self.numel() != 0) return std::get<0>(medianAlong(name, self.reshape({-1}), 0, false, skip_nan)).clone();
  // NaN, and what processors make of it where they convert it to an integer.
  switch (self.scalar_type()) {
    case kLong:
      return self.new_full({}, std::numeric_limits<int64_t>::min());
    case kInt:
      return self.new_full({}, std::numeric_limits<int32_t>::min());
    default:
      break;
  }
  return isFloatingType(self.scalar_type()) ? self.new_full({}, std::numeric_limits<double>::quiet_NaN())
                                            : self.new_zeros({});
}

}  // namespace

Tensor median(const Tensor& self) { return medianOfAll("median", self, false); }
Pair median_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return medianAlong("median", self, dim, keepdim, false);
}
Tensor nanmedian(const Tensor& self) { return medianOfAll("nanmedian", self, true); }
Pair nanmedian_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return medianAlong("nanmedian", self, dim, keepdim, true);
}

}  // namespace shunt::native
