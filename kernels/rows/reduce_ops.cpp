// Forms of sum, mean, prod, all and any with out=, sum_to_size, and max and min of two tensors. The other forms are
// generated (reduce_operator.h).
#include "generated/native_functions.h"
#include "kernels/rows/reduce_operator.h"
#include "kernels/wrappers/copy_forms.h"

#include <shunt/tensor/expand_utils.h>

namespace shunt::native {

namespace {

using accumulators::All;
using accumulators::Any;
using accumulators::Mean;
using accumulators::Product;
using accumulators::Sum;
using reduce::reduceOperator;

/// Computes in out's dtype, which may be either of those that all and any have.
template <class Acc>
Tensor& truthOut(const char* name, const Tensor& self, OptionalIntArrayRef dims, bool keepdim, Tensor& out) {
  implOf(self, name);
  const ScalarType type = implOf(out, name, "out").dtype();
  SHUNT_CHECK(type == kBool || type == kByte, name, " only supports bool tensor for result, got: ", type);
  return wrappers::copyToOut(name, out,
                             reduce::runReduction(reduce::kDescriptor<Acc>, self, dims, keepdim, type).first);
}

/// Without a dtype of its own the call computes in out's.
std::optional<ScalarType> dtypeFor(const Tensor& out, std::optional<ScalarType> dtype) {
  return dtype || !out.defined() ? dtype : out.scalar_type();
}

}  // namespace

Tensor& sum_dim_out(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype,
                    Tensor& out) {
  return wrappers::copyToOut("sum", out, reduceOperator<Sum>("sum", self, dim, keepdim, dtypeFor(out, dtype)));
}
Tensor sum_to_size(const Tensor& self, IntArrayRef size) {
  SHUNT_CHECK(is_expandable_to(size, self.sizes()), "size {", size, "} is not expandable to size {", self.sizes(),
              "}.");
  return size.empty() ? ops::sum::call(self, std::nullopt) : sum_to(self, size);
}

Tensor& mean_dim_out(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype,
                     Tensor& out) {
  reduce::typeOfMean("mean", implOf(self, "mean").dtype(), dtype);
  return wrappers::copyToOut("mean", out, reduceOperator<Mean>("mean", self, dim, keepdim, dtypeFor(out, dtype)));
}

Tensor& prod_dim_out(const Tensor& self, int64_t dim, bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  return wrappers::copyToOut("prod", out,
                             reduceOperator<Product>("prod", self, IntArrayRef(dim), keepdim, dtypeFor(out, dtype)));
}

Tensor& logsumexp_out(const Tensor& self, IntArrayRef dim, bool keepdim, Tensor& out) {
  return wrappers::copyToOut(
      "logsumexp", out,
      reduceOperator<accumulators::LogSumExp>("logsumexp", self, dim, keepdim, dtypeFor(out, std::nullopt)));
}

Tensor max(const Tensor& self, const Tensor& other) { return ops::maximum::call(self, other); }
Tensor min(const Tensor& self, const Tensor& other) { return ops::minimum::call(self, other); }
Tensor& max_out(const Tensor& self, const Tensor& other, Tensor& out) {
  return ops::maximum_out::call(self, other, out);
}
Tensor& min_out(const Tensor& self, const Tensor& other, Tensor& out) {
  return ops::minimum_out::call(self, other, out);
}

Tensor& all_out(const Tensor& self, Tensor& out) { return truthOut<All>("all", self, std::nullopt, false, out); }
Tensor& all_out_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  return truthOut<All>("all", self, IntArrayRef(dim), keepdim, out);
}
Tensor& any_out(const Tensor& self, Tensor& out) { return truthOut<Any>("any", self, std::nullopt, false, out); }
Tensor& any_out_dim(const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  return truthOut<Any>("any", self, IntArrayRef(dim), keepdim, out);
}

}  // namespace shunt::native
