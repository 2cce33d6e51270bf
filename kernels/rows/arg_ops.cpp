// The operators argmax, argmin, max.dim and min.dim: shapes, dtypes and checks.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"
#include "kernels/rows/arg_reduce.h"
#include "kernels/wrappers/copy_forms.h"

namespace shunt::native {

namespace {

using accumulators::Largest;
using accumulators::Smallest;
using reduce::DimSet;

// Checks as calls; the rest inlined, so that a thunk has the call of run() in it.

/// `name` and `parentheses`, that PyTorch's message has or has not.
SHUNT_NOINLINE DimSet alongDim(const char* name, const char* parentheses, const TensorImpl& self, int64_t d) {
  const int64_t dim = maybe_wrap_dim(d, self.dim());
  SHUNT_CHECK_INDEX(self.numel() != 0 || self.dim() == 0 || self.sizes()[static_cast<size_t>(dim)] != 0, name,
                    parentheses, ": Expected reduction dim ", dim, " to have non-zero size.");
  return DimSet().set(static_cast<size_t>(dim));
}

SHUNT_NOINLINE DimSet argDims(const char* name, const TensorImpl& self, std::optional<int64_t> dim) {
  if (self.dtype() == kBool) ::shunt::detail::throwNotImplementedFor(detail::str(name, "_cpu").c_str(), kBool);
  if (dim) return alongDim(name, "()", self, *dim);
  SHUNT_CHECK_INDEX(self.numel() != 0, name,
                    "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                    "reduction dim with the 'dim' argument.");
  return DimSet().set();
}

template <class Acc>
SHUNT_ALWAYS_INLINE Tensor argExtreme(const char* name, const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  const DimSet dims = argDims(name, implOf(self, name), dim);
  return rows::run({reduce::kExtreme<Acc, false>, self, dims, keepdim, kLong}).first;
}

template <class Acc>
SHUNT_ALWAYS_INLINE std::tuple<Tensor, Tensor> extremeAlong(const char* name, const Tensor& self, int64_t d,
                                                            bool keepdim) {
  const TensorImpl& impl = implOf(self, name);
  const DimSet dims = alongDim(name, "", impl, d);
  auto [values, indices] = rows::run({reduce::kExtreme<Acc, true>, self, dims, keepdim, impl.dtype()});
  return {std::move(values), std::move(indices)};
}

template <class Acc>
std::tuple<Tensor&, Tensor&> extremeOut(const char* name, const Tensor& self, int64_t dim, bool keepdim, Tensor& values,
                                        Tensor& indices) {
  const auto [v, i] = extremeAlong<Acc>(name, self, dim, keepdim);
  SHUNT_CHECK(values.defined() && indices.defined(), name, ": an out= tensor is undefined");
  SHUNT_CHECK(values.dtype() == v.dtype(), "Expected out tensor to have dtype ", v.dtype(), ", but got ",
              values.dtype(), " instead");
  SHUNT_CHECK(indices.dtype() == kLong, "Expected out tensor to have dtype Long, but got ", indices.dtype(),
              " instead");
  wrappers::copyToOut(name, values, v);
  wrappers::copyToOut(name, indices, i);
  return {values, indices};
}

}  // namespace

Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return argExtreme<Largest>("argmax", self, dim, keepdim);
}
Tensor argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  return argExtreme<Smallest>("argmin", self, dim, keepdim);
}
std::tuple<Tensor, Tensor> max_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extremeAlong<Largest>("max()", self, dim, keepdim);
}
std::tuple<Tensor, Tensor> min_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return extremeAlong<Smallest>("min()", self, dim, keepdim);
}
std::tuple<Tensor&, Tensor&> max_dim_out(const Tensor& self, int64_t dim, bool keepdim, Tensor& max,
                                         Tensor& max_values) {
  return extremeOut<Largest>("max()", self, dim, keepdim, max, max_values);
}
std::tuple<Tensor&, Tensor&> min_dim_out(const Tensor& self, int64_t dim, bool keepdim, Tensor& min,
                                         Tensor& min_indices) {
  return extremeOut<Smallest>("min()", self, dim, keepdim, min, min_indices);
}

}  // namespace shunt::native
