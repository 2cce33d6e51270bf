// sum and mean, over all dimensions or some: one work item for each result, with Kahan's compensated summation.
#include "operands.h"

#include <shunt/core/wrap_dim.h>

namespace opencl {
namespace {

using namespace shunt;

const std::string kSource = kLayoutSource + R"(
__kernel void reduce(Layout kept, Layout reduced, long count, float divisor, __global float* out, __global const float* in) {
  long i = get_global_id(0);
  long first = at(&kept, 1, i);
  float sum = 0, lost = 0;
  for (long j = 0; j < count; ++j) {
    float term = in[first + at(&reduced, 0, j)] - lost, next = sum + term;
    lost = isfinite(next) ? next - sum - term : 0;
    sum = next;
  }
  out[at(&kept, 0, i)] = sum / divisor;
})";

Tensor reduce(const Tensor& self, OptionalIntArrayRef dims, bool keepdim, bool mean) {
  std::vector<bool> is_reduced(static_cast<size_t>(self.dim()), !dims || dims->empty());
  if (dims)
    for (int64_t d : *dims) is_reduced[static_cast<size_t>(maybe_wrap_dim(d, self.dim()))] = true;
  Layout kept, reduced;
  std::vector<int64_t> sizes;
  int64_t count = 1;
  for (size_t d = 0; d < is_reduced.size(); ++d) {
    const int64_t size = self.sizes()[d], stride = self.strides()[d];
    Layout& to = is_reduced[d] ? reduced : kept;
    to.sizes[to.ndim] = size;
    to.strides[is_reduced[d] ? 0 : 1][to.ndim++] = stride;
    if (is_reduced[d]) count *= size;
    if (!is_reduced[d] || keepdim) sizes.push_back(is_reduced[d] ? 1 : size);
  }
  kept.offsets[1] = self.storage_offset();
  const Tensor out = empty(sizes, TensorOptions(kFloat).device(self.device()));
  for (int64_t d = kept.ndim, stride = 1; d-- > 0; stride *= kept.sizes[d]) kept.strides[0][d] = stride;
  if (self.numel() == 0) return Tensor(out).fill_(mean ? NAN : 0.0);
  Runtime::get().run(self.device(), kSource, "reduce", {static_cast<size_t>(out.numel())}, kept, reduced,
                     static_cast<cl_long>(count), mean ? static_cast<float>(count) : 1.0f, bufferOf(out),
                     bufferOf(self));
  return out;
}

bool isServedHere(const Tensor& self, std::optional<ScalarType> dtype) {
  return isServed(self) && dtype.value_or(kFloat) == kFloat;
}

/// Each dim once and in range: the fallback says what is wrong with others, or, of a tensor without dims, that nothing
/// is.
bool areServed(const Tensor& self, OptionalIntArrayRef dims) {
  std::vector<bool> named(static_cast<size_t>(self.dim()));
  for (int64_t d : dims.value_or(IntArrayRef())) {
    if (d < -self.dim() || d >= self.dim()) return false;
    const size_t i = static_cast<size_t>(maybe_wrap_dim(d, self.dim()));
    if (named[i]) return false;
    named[i] = true;
  }
  return true;
}

template <class Op, bool Mean>
Tensor overAll(const Tensor& self, std::optional<ScalarType> dtype) {
  return isServedHere(self, dtype) ? reduce(self, {}, false, Mean)
                                   : call_fallback_fn<&cpu_fallback, Op>::call(self, dtype);
}

template <class Op, bool Mean>
Tensor overDims(const Tensor& self, OptionalIntArrayRef dims, bool keepdim, std::optional<ScalarType> dtype) {
  if (!isServedHere(self, dtype) || !areServed(self, dims))
    return call_fallback_fn<&cpu_fallback, Op>::call(self, dims, keepdim, dtype);
  return reduce(self, dims, keepdim, Mean);
}

}  // namespace

SHUNT_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("sum", &overAll<ops::sum, false>);
  m.impl("mean", &overAll<ops::mean, true>);
  m.impl("sum.dim_IntList", &overDims<ops::sum_dim_IntList, false>);
  m.impl("mean.dim", &overDims<ops::mean_dim, true>);
}

}  // namespace opencl
