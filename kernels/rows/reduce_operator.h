// The kernels of reductions that are generated from their accumulators (`reduction` in kernels/operators), for CPU and
// Meta. Any thread.
#pragma once

#include "kernels/common/view_util.h"
#include "kernels/rows/descriptor.h"

namespace shunt::reduce {

/// Throws PyTorch's error where a result needs elements, and there are none.
SHUNT_NOINLINE void checkNotEmpty(const char* name, const TensorImpl& self, OptionalIntArrayRef dims);

/// The request's call with its input converted to the result's dtype.
SHUNT_NOINLINE rows::Results runConverted(const rows::Request& request);

/// Whether the input is converted on loading as it would be beforehand: not to 16-bit types, which round, nor from
/// floating point to integers.
SHUNT_ALWAYS_INLINE bool convertsOnLoading(ScalarType from, ScalarType to) {
  return from == to || to == kFloat || to == kDouble || to == kBool ||
         (isIntegralType(to, false) && isIntegralType(from, true));
}

// Inlined, so that a thunk has the call of run() in it, and no switch over dtypes: a thunk would have as many
// loops.
SHUNT_ALWAYS_INLINE rows::Results runReduction(const rows::Descriptor& op, const Tensor& self, OptionalIntArrayRef dims,
                                               bool keepdim, ScalarType result, double number = 0) {
  const DimSet set = dimSet(dims, self.dim());
  const rows::Request request{op, self, set, keepdim, result, number};
  if (op.in == ComputeIn::kResult && !convertsOnLoading(self.dtype(), result)) [[unlikely]]
    return runConverted(request);
  return rows::run(request);
}

/// Sums and products of truth values are "any" and "all".
template <class Acc>
SHUNT_ALWAYS_INLINE const rows::Descriptor& descriptorFor(ScalarType result) {
  if constexpr (std::is_same_v<Acc, accumulators::Sum>) {
    return result == kBool ? kDescriptor<accumulators::Any> : kDescriptor<Acc>;
  } else if constexpr (std::is_same_v<Acc, accumulators::Product>) {
    return result == kBool ? kDescriptor<accumulators::All> : kDescriptor<Acc>;
  } else {
    return kDescriptor<Acc>;
  }
}

template <class Acc>
SHUNT_ALWAYS_INLINE Tensor reduceOperator(const char* name, const Tensor& self, OptionalIntArrayRef dims, bool keepdim,
                                          std::optional<ScalarType> dtype) {
  const TensorImpl& impl = native::implOf(self, name);
  if constexpr (Acc::kNeedsElements) checkNotEmpty(name, impl, dims);
  const ScalarType result = Acc::resultType(name, impl.dtype(), dtype);
  return runReduction(descriptorFor<Acc>(result), self, dims, keepdim, result).first;
}

}  // namespace shunt::reduce
