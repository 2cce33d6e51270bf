// The operators norm and linalg_vector_norm, and trace.
#include "generated/native_functions.h"
#include "kernels/rows/reduce_operator.h"
#include "kernels/wrappers/copy_forms.h"

#include <shunt/ops.h>

#include <cmath>
#include <limits>

namespace shunt::native {

namespace {

using OptionalType = std::optional<ScalarType>;

/// The accumulator of the norm of order p.
const rows::Descriptor& descriptorOf(double p) {
  using reduce::kDescriptor;
  if (p == 0) return kDescriptor<accumulators::NonZeros>;
  if (p == 1) return kDescriptor<accumulators::SumOfMagnitudes>;
  if (p == 2) return kDescriptor<accumulators::Euclidean>;
  if (!std::isinf(p)) return kDescriptor<accumulators::PowerNorm>;
  return p > 0 ? kDescriptor<accumulators::LargestMagnitude> : kDescriptor<accumulators::SmallestMagnitude>;
}

/// Norms of negative order, and the largest magnitude, are not defined without elements.
void checkElements(const char* name, const TensorImpl& self, double p, OptionalIntArrayRef dims) {
  if (self.numel() != 0 || (p >= 0 && !std::isinf(p))) return;
  const bool all = !dims.has_value() || dims->empty();
  SHUNT_CHECK(!all, name, " cannot compute the ", p,
              " norm on an empty tensor because the operation does not have an identity");
  for (const int64_t d : *dims) {
    const int64_t dim = maybe_wrap_dim(d, self.dim());
    SHUNT_CHECK(self.dim() == 0 || self.sizes()[static_cast<size_t>(dim)] != 0, name, " cannot compute the ", p,
                " norm on the dimension ", d,
                " because this dimension is empty and the operation does not have an identity");
  }
}

/// The dtype that norm is computed in: any floating one that the caller names.
SHUNT_NOINLINE ScalarType typeOfNorm(ScalarType self, OptionalType dtype) {
  const ScalarType type = dtype.value_or(self);
  SHUNT_CHECK(isFloatingType(type), "norm(): ", dtype ? "the desired output" : "input",
              " dtype should be either floating point or complex. Got ", type, " instead.");
  return type;
}

/// That linalg_vector_norm is computed in, which may be wider than its input's.
SHUNT_NOINLINE ScalarType typeOfVectorNorm(const char* name, ScalarType self, OptionalType dtype) {
  SHUNT_CHECK(isFloatingType(self), name, ": Expected a floating point or complex tensor as input. Got ", self);
  if (!dtype) return self;
  SHUNT_CHECK(isFloatingType(*dtype), name, ": dtype should be floating point or complex. Got ", *dtype);
  SHUNT_CHECK(promoteTypes(self, *dtype) == *dtype, name, ": the dtype of the input (", self,
              ") should be convertible without narrowing to the specified dtype (", *dtype, ")");
  return *dtype;
}

SHUNT_ALWAYS_INLINE Tensor normOf(const Tensor& self, double p, OptionalIntArrayRef dims, bool keepdim,
                                  OptionalType dtype) {
  const TensorImpl& impl = implOf(self, "norm");
  const ScalarType result = typeOfNorm(impl.dtype(), dtype);
  // Of nothing every norm is 0 in PyTorch, where linalg_vector_norm refuses orders without an identity.
  if (impl.numel() == 0) p = 2;
  return reduce::runReduction(descriptorOf(p), self, dims, keepdim, result, p).first;
}

double orderOf(const std::optional<Scalar>& p) { return p ? p->toDouble() : 2.0; }

}  // namespace

Tensor norm(const Tensor& self, const Scalar& p) {
  return normOf(self, p.toDouble(), std::nullopt, false, std::nullopt);
}
Tensor norm_dtype(const Tensor& self, const std::optional<Scalar>& p, ScalarType dtype) {
  return normOf(self, orderOf(p), std::nullopt, false, dtype);
}
Tensor norm_dim(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  return normOf(self, orderOf(p), dim, keepdim, std::nullopt);
}
Tensor& norm_out_dim(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim, Tensor& out) {
  typeOfNorm(implOf(self, "norm").dtype(), std::nullopt);  // integers only with a dtype
  const OptionalType type = out.defined() ? OptionalType(out.scalar_type()) : std::nullopt;
  return wrappers::copyToOut("norm", out, normOf(self, orderOf(p), dim, keepdim, type));
}
Tensor norm_dim_dtype(const Tensor& self, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim,
                      ScalarType dtype) {
  return normOf(self, orderOf(p), dim, keepdim, dtype);
}

Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim,
                          OptionalType dtype) {
  constexpr const char* kName = "linalg.vector_norm";
  const TensorImpl& impl = implOf(self, kName);
  const ScalarType result = typeOfVectorNorm(kName, impl.dtype(), dtype);
  const double order = ord.toDouble();
  checkElements(kName, impl, order, dim);
  return reduce::runReduction(descriptorOf(order), self, dim, keepdim, result, order).first;
}

Tensor trace(const Tensor& self) {
  const TensorImpl& impl = implOf(self, "trace");
  SHUNT_CHECK(impl.dim() == 2, "trace: expected a matrix, but got tensor with dim ", impl.dim());
  if (impl.dtype() == kBool) ::shunt::detail::throwNotImplementedFor("trace", impl.dtype());
  const ScalarType result = reduce::typeOfSum("trace", impl.dtype(), std::nullopt);
  const int64_t n = std::min(impl.sizes()[0], impl.sizes()[1]), step = impl.strides()[0] + impl.strides()[1];
  const Tensor diagonal = makeView(impl, n, step, impl.storage_offset());
  return reduce::runReduction(reduce::kDescriptor<accumulators::Sum>, diagonal, std::nullopt, false, result).first;
}

}  // namespace shunt::native
