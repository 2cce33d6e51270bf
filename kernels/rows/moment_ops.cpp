// The operators var, std, var_mean and std_mean.
#include "generated/native_functions.h"
#include "kernels/rows/reduce_operator.h"
#include "kernels/wrappers/copy_forms.h"

namespace shunt::native {

namespace {

using accumulators::StandardDeviation;
using accumulators::Variance;
using reduce::Kind;
using Correction = std::optional<int64_t>;

/// `unbiased` as a correction.
Correction correctionOf(bool unbiased) { return unbiased ? 1 : 0; }

template <class Acc, Kind K>
SHUNT_ALWAYS_INLINE rows::Results moments(const char* name, const Tensor& self, OptionalIntArrayRef dim,
                                          Correction correction, bool keepdim, std::optional<ScalarType> dtype) {
  const ScalarType result = Acc::resultType(name, implOf(self, name).dtype(), dtype);
  return reduce::runReduction(reduce::kDescriptor<Acc, K>, self, dim, keepdim, result,
                              static_cast<double>(correction.value_or(1)));
}

template <class Acc>
SHUNT_ALWAYS_INLINE Tensor moment(const char* name, const Tensor& self, OptionalIntArrayRef dim, Correction correction,
                                  bool keepdim) {
  return moments<Acc, Kind::kReduction>(name, self, dim, correction, keepdim, std::nullopt).first;
}

/// Computes in out's dtype.
template <class Acc>
Tensor& momentOut(const char* name, const Tensor& self, OptionalIntArrayRef dim, Correction correction, bool keepdim,
                  Tensor& out) {
  const ScalarType type = implOf(out, name, "out").dtype();
  return wrappers::copyToOut(name, out,
                             moments<Acc, Kind::kReduction>(name, self, dim, correction, keepdim, type).first);
}

template <class Acc>
SHUNT_ALWAYS_INLINE std::tuple<Tensor, Tensor> momentAndMean(const char* name, const Tensor& self,
                                                             OptionalIntArrayRef dim, Correction correction,
                                                             bool keepdim) {
  auto [value, mean] = moments<Acc, Kind::kWithPivots>(name, self, dim, correction, keepdim, std::nullopt);
  return {std::move(value), std::move(mean)};
}

}  // namespace

Tensor var(const Tensor& self, bool unbiased) {
  return ops::var_correction::call(self, std::nullopt, correctionOf(unbiased), false);
}
Tensor var_dim(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return ops::var_correction::call(self, dim, correctionOf(unbiased), keepdim);
}
Tensor& var_out_dim(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim, Tensor& out) {
  return ops::var_correction_out::call(self, dim, correctionOf(unbiased), keepdim, out);
}
Tensor var_correction(const Tensor& self, OptionalIntArrayRef dim, Correction correction, bool keepdim) {
  return moment<Variance>("var", self, dim, correction, keepdim);
}
Tensor& var_out_correction(const Tensor& self, OptionalIntArrayRef dim, Correction correction, bool keepdim,
                           Tensor& out) {
  return momentOut<Variance>("var", self, dim, correction, keepdim, out);
}

Tensor std(const Tensor& self, bool unbiased) {
  return ops::std_correction::call(self, std::nullopt, correctionOf(unbiased), false);
}
Tensor std_dim(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return ops::std_correction::call(self, dim, correctionOf(unbiased), keepdim);
}
Tensor& std_out_dim(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim, Tensor& out) {
  return ops::std_correction_out::call(self, dim, correctionOf(unbiased), keepdim, out);
}
Tensor std_correction(const Tensor& self, OptionalIntArrayRef dim, Correction correction, bool keepdim) {
  return moment<StandardDeviation>("std", self, dim, correction, keepdim);
}
Tensor& std_out_correction(const Tensor& self, OptionalIntArrayRef dim, Correction correction, bool keepdim,
                           Tensor& out) {
  return momentOut<StandardDeviation>("std", self, dim, correction, keepdim, out);
}

std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased) {
  return ops::var_mean_correction::call(self, std::nullopt, correctionOf(unbiased), false);
}
std::tuple<Tensor, Tensor> var_mean_dim(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return ops::var_mean_correction::call(self, dim, correctionOf(unbiased), keepdim);
}
std::tuple<Tensor, Tensor> var_mean_correction(const Tensor& self, OptionalIntArrayRef dim, Correction correction,
                                               bool keepdim) {
  return momentAndMean<Variance>("var_mean", self, dim, correction, keepdim);
}

std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased) {
  return ops::std_mean_correction::call(self, std::nullopt, correctionOf(unbiased), false);
}
std::tuple<Tensor, Tensor> std_mean_dim(const Tensor& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return ops::std_mean_correction::call(self, dim, correctionOf(unbiased), keepdim);
}
std::tuple<Tensor, Tensor> std_mean_correction(const Tensor& self, OptionalIntArrayRef dim, Correction correction,
                                               bool keepdim) {
  return momentAndMean<StandardDeviation>("std_mean", self, dim, correction, keepdim);
}

}  // namespace shunt::native
