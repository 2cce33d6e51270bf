// The operators cumsum and cumprod.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"
#include "kernels/rows/descriptor.h"
#include "kernels/wrappers/copy_forms.h"

#include <shunt/ops.h>

namespace shunt::native {

namespace {

using accumulators::Product;
using accumulators::Sum;

/// Of the input already: its elements are of the result's dtype when they are added up.
SHUNT_NOINLINE Tensor converted(const char* name, const Tensor& self, ScalarType result) {
  if (result == kBool) ::shunt::detail::throwNotImplementedFor(detail::str(name, "_out_cpu").c_str(), result);
  return self.dtype() == result ? self : ops::to_dtype::call(self, result, false, false, std::nullopt);
}

template <class Acc>
SHUNT_ALWAYS_INLINE Tensor scan(const char* name, const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const TensorImpl& impl = implOf(self, name);
  const auto set = reduce::DimSet().set(static_cast<size_t>(maybe_wrap_dim(dim, impl.dim())));
  const ScalarType result = reduce::typeOfSum(name, impl.dtype(), dtype);
  const rows::Descriptor& op = reduce::kDescriptor<Acc, reduce::Kind::kScan>;
  if (impl.dtype() == result && result != kBool) [[likely]]
    return rows::run({op, self, set, true, result}).first;
  return rows::run({op, converted(name, self, result), set, true, result}).first;
}

template <class Acc>
Tensor& scanOut(const char* name, const Tensor& self, int64_t dim, std::optional<ScalarType> dtype, Tensor& out) {
  const std::optional<ScalarType> type = dtype || !out.defined() ? dtype : out.scalar_type();
  return wrappers::copyToOut(name, out, scan<Acc>(name, self, dim, type));
}

template <class Acc>
Tensor& scanInplace(const char* name, Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const ScalarType type = implOf(self, name).dtype();
  maybe_wrap_dim(dim, self.dim());
  SHUNT_CHECK(!dtype || *dtype == type, "Bad in-place call: input tensor dtype ", type, " and output tensor dtype ",
              *dtype, " should match");
  return wrappers::copyInplace(name, self, scan<Acc>(name, self, dim, type));
}

}  // namespace

Tensor cumsum(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return scan<Sum>("cumsum", self, dim, dtype);
}
Tensor& cumsum_(Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return scanInplace<Sum>("cumsum", self, dim, dtype);
}
Tensor& cumsum_out(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype, Tensor& out) {
  return scanOut<Sum>("cumsum", self, dim, dtype, out);
}

Tensor cumprod(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return scan<Product>("cumprod", self, dim, dtype);
}
Tensor& cumprod_(Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  return scanInplace<Product>("cumprod", self, dim, dtype);
}
Tensor& cumprod_out(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype, Tensor& out) {
  return scanOut<Product>("cumprod", self, dim, dtype, out);
}

}  // namespace shunt::native
