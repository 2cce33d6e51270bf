// The operators sum, mean, prod, amax, amin, max, min, all, any: dtypes and checks.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"
#include "kernels/rows/reduce.h"
#include "kernels/wrappers/copy_forms.h"

#include <shunt/tensor/expand_utils.h>

namespace shunt::native {

namespace {

using reduce::Accumulator;
using reduce::accumulatorOf;
using reduce::ReduceOp;
using reduce::Reduction;

/// What sums and products of `self` are, unless the caller says otherwise.
SHUNT_ALWAYS_INLINE ScalarType sumType(const TensorImpl& self, std::optional<ScalarType> dtype) {
  if (dtype) return *dtype;
  return isIntegralType(self.dtype(), true) ? kLong : self.dtype();
}

SHUNT_NOINLINE Tensor reduceConverted(const Tensor& self, const reduce::DimSet& dims, bool keepdim,
                                      const Reduction& reduction) {
  const Tensor input = ops::to_dtype::call(self, reduction.out_dtype, false, false, std::nullopt);
  return reduce::reduce(input, dims, keepdim, reduction);
}

/// In a type of the caller's choice. The input is converted only where the loops' own conversion on loading would give
/// something else: to 16-bit types, which round, and from floating point to integers.
SHUNT_ALWAYS_INLINE Tensor reduceAs(const Tensor& self, OptionalIntArrayRef dims, bool keepdim,
                                    const Reduction& reduction) {
  const ScalarType from = self.dtype(), dtype = reduction.out_dtype;
  const bool loads = from == dtype || dtype == kFloat || dtype == kDouble || dtype == kBool ||
                     (isIntegralType(dtype, false) && isIntegralType(from, true));
  const reduce::DimSet set = reduce::dimSet(dims, self.dim());
  return loads ? reduce::reduce(self, set, keepdim, reduction) : reduceConverted(self, set, keepdim, reduction);
}

void checkSupported(ScalarType dtype, const char* op) {
  if (!isSupportedType(dtype)) [[unlikely]]
    ::shunt::detail::throwNotImplementedFor(op, dtype);
}

// As a call: inlined, every dtype that it tells apart would have a call of reduce() of its own, and a thunk as many
// loops.
SHUNT_NOINLINE Reduction sumOrProdOf(const char* name, ReduceOp op, const Tensor& self,
                                     std::optional<ScalarType> dtype) {
  const ScalarType type = sumType(implOf(self, name), dtype);
  checkSupported(type, name);
  if (type == kBool) op = op == ReduceOp::kSum ? ReduceOp::kMax : ReduceOp::kMin;
  return {op, accumulatorOf(type), type};
}

// Inlined, so that a thunk has the call of reduce() in it.
SHUNT_ALWAYS_INLINE Tensor sumOrProd(const char* name, ReduceOp op, const Tensor& self, OptionalIntArrayRef dims,
                                     bool keepdim, std::optional<ScalarType> dtype) {
  return reduceAs(self, dims, keepdim, sumOrProdOf(name, op, self, dtype));
}

[[noreturn]] SHUNT_COLD void throwMeanType(bool given, ScalarType type) {
  throw Error(detail::str("mean(): could not infer output dtype. ", given ? "Optional" : "Input",
                          " dtype must be either a floating point or complex dtype. Got: ", type));
}

SHUNT_NOINLINE Reduction meanOf(const Tensor& self, std::optional<ScalarType> dtype) {
  const ScalarType type = dtype.value_or(implOf(self, "mean").dtype());
  if (!isFloatingType(type)) [[unlikely]]
    throwMeanType(dtype.has_value(), type);
  return {ReduceOp::kSum, accumulatorOf(type), type, true};
}

SHUNT_ALWAYS_INLINE Tensor meanOver(const Tensor& self, OptionalIntArrayRef dims, bool keepdim,
                                    std::optional<ScalarType> dtype) {
  return reduceAs(self, dims, keepdim, meanOf(self, dtype));
}

[[noreturn]] SHUNT_COLD void throwNeedsDim(const char* name) {
  throw Error(detail::str(name,
                          "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
                          "dim with the 'dim' argument."));
}

void checkNotEmpty(const char* name, const TensorImpl& self, IntArrayRef dims) {
  if (self.numel() != 0) [[likely]]
    return;
  if (dims.empty()) throwNeedsDim(name);
  for (const int64_t d : dims) {
    const int64_t dim = maybe_wrap_dim(d, self.dim());
    SHUNT_CHECK_INDEX(self.dim() == 0 || self.sizes()[static_cast<size_t>(dim)] != 0, name,
                      "(): Expected reduction dim ", dim, " to have non-zero size.");
  }
}

SHUNT_ALWAYS_INLINE Tensor extreme(const char* name, ReduceOp op, const Tensor& self, IntArrayRef dims, bool keepdim) {
  const TensorImpl& impl = implOf(self, name);
  checkNotEmpty(name, impl, dims);
  return reduce::reduce(self, reduce::dimSet(dims, impl.dim()), keepdim,
                        {op, accumulatorOf(impl.dtype()), impl.dtype()});
}

SHUNT_ALWAYS_INLINE Tensor anyOrAll(const char* name, ReduceOp op, const Tensor& self, OptionalIntArrayRef dims,
                                    bool keepdim) {
  const TensorImpl& impl = implOf(self, name);
  const ScalarType type = impl.dtype() == kByte ? kByte : kBool;
  return reduce::reduce(self, reduce::dimSet(dims, impl.dim()), keepdim, {op, Accumulator::kBool, type});
}

/// Computes in out's dtype, which may be either of those that all and any have.
Tensor& anyOrAllOut(const char* name, ReduceOp op, const Tensor& self, OptionalIntArrayRef dims, bool keepdim,
                    Tensor& out) {
  const TensorImpl& impl = implOf(self, name);
  const ScalarType type = implOf(out, name, "out").dtype();
  SHUNT_CHECK(type == kBool || type == kByte, name, " only supports bool tensor for result, got: ", type);
  return wrappers::copyToOut(
      name, out, reduce::reduce(self, reduce::dimSet(dims, impl.dim()), keepdim, {op, Accumulator::kBool, type}));
}

/// Without a dtype of its own the call computes in out's.
std::optional<ScalarType> dtypeFor(const Tensor& out, std::optional<ScalarType> dtype) {
  return dtype || !out.defined() ? dtype : out.scalar_type();
}

}  // namespace

Tensor sum(const Tensor& self, std::optional<ScalarType> dtype) {
  return sumOrProd("sum", ReduceOp::kSum, self, std::nullopt, false, dtype);
}
Tensor sum_dim(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  return sumOrProd("sum", ReduceOp::kSum, self, dim, keepdim, dtype);
}
Tensor& sum_dim_out(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype,
                    Tensor& out) {
  return wrappers::copyToOut("sum", out, sum_dim(self, dim, keepdim, dtypeFor(out, dtype)));
}
Tensor sum_to_size(const Tensor& self, IntArrayRef size) {
  SHUNT_CHECK(is_expandable_to(size, self.sizes()), "size {", size, "} is not expandable to size {", self.sizes(),
              "}.");
  return size.empty() ? ops::sum::call(self, std::nullopt) : sum_to(self, size);
}

Tensor mean(const Tensor& self, std::optional<ScalarType> dtype) { return meanOver(self, std::nullopt, false, dtype); }
Tensor mean_dim(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype) {
  return meanOver(self, dim, keepdim, dtype);
}
Tensor& mean_dim_out(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype,
                     Tensor& out) {
  const ScalarType of_input = dtype.value_or(implOf(self, "mean").dtype());
  if (!isFloatingType(of_input)) throwMeanType(dtype.has_value(), of_input);
  return wrappers::copyToOut("mean", out, mean_dim(self, dim, keepdim, dtypeFor(out, dtype)));
}

Tensor prod(const Tensor& self, std::optional<ScalarType> dtype) {
  return sumOrProd("prod", ReduceOp::kProd, self, std::nullopt, false, dtype);
}
Tensor prod_dim(const Tensor& self, int64_t dim, bool keepdim, std::optional<ScalarType> dtype) {
  return sumOrProd("prod", ReduceOp::kProd, self, IntArrayRef(dim), keepdim, dtype);
}
Tensor& prod_dim_out(const Tensor& self, int64_t dim, bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  return wrappers::copyToOut("prod", out, prod_dim(self, dim, keepdim, dtypeFor(out, dtype)));
}

Tensor amax(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return extreme("amax", ReduceOp::kMax, self, dim, keepdim);
}
Tensor amin(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return extreme("amin", ReduceOp::kMin, self, dim, keepdim);
}
Tensor max(const Tensor& self) { return extreme("max", ReduceOp::kMax, self, {}, false); }
Tensor min(const Tensor& self) { return extreme("min", ReduceOp::kMin, self, {}, false); }
Tensor max(const Tensor& self, const Tensor& other) { return ops::maximum::call(self, other); }
Tensor min(const Tensor& self, const Tensor& other) { return ops::minimum::call(self, other); }
Tensor& max_out(const Tensor& self, const Tensor& other, Tensor& out) {
  return ops::maximum_out::call(self, other, out);
}
Tensor& min_out(const Tensor& self, const Tensor& other, Tensor& out) {
  return ops::minimum_out::call(self, other, out);
}

Tensor all(const Tensor& self) { return anyOrAll("all", ReduceOp::kMin, self, std::nullopt, false); }
Tensor all_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return anyOrAll("all", ReduceOp::kMin, self, IntArrayRef(dim), keepdim);
}
Tensor& all_out(const Tensor& self, Tensor& out) {
  return anyOrAllOut("all", ReduceOp::kMin, self, std::nullopt, false, out);
}
Tensor& all_out_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  return anyOrAllOut("all", ReduceOp::kMin, self, IntArrayRef(dim), keepdim, out);
}
Tensor any(const Tensor& self) { return anyOrAll("any", ReduceOp::kMax, self, std::nullopt, false); }
Tensor any_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return anyOrAll("any", ReduceOp::kMax, self, IntArrayRef(dim), keepdim);
}
Tensor& any_out(const Tensor& self, Tensor& out) {
  return anyOrAllOut("any", ReduceOp::kMax, self, std::nullopt, false, out);
}
Tensor& any_out_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  return anyOrAllOut("any", ReduceOp::kMax, self, IntArrayRef(dim), keepdim, out);
}

}  // namespace shunt::native
