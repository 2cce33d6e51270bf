// mm and addmm: one work item for each element of the result.
#include "operands.h"

namespace opencl {
namespace {

using namespace shunt;

const std::string kSource = kLayoutSource + R"(
__kernel void product(Layout l, long depth, long step_a, long step_b, float beta, float alpha, __global float* out, __global const float* a,
                      __global const float* b, __global const float* bias) {
  long i = get_global_id(0);
  long at_a = at(&l, 1, i), at_b = at(&l, 2, i);
  float sum = 0;
  for (long k = 0; k < depth; ++k) sum += a[at_a + k * step_a] * b[at_b + k * step_b];
  sum *= alpha;
  out[at(&l, 0, i)] = beta == 0 ? sum : sum + beta * bias[at(&l, 3, i)];
})";

/// [n, k] x [k, m]; null where the fallback shall say what is wrong, or serve other dtypes.
bool areServed(const Tensor& a, const Tensor& b) {
  return isServed(a) && isServed(b) && a.device() == b.device() && a.dim() == 2 && b.dim() == 2 &&
         a.size(1) == b.size(0) && a.size(1) != 0;
}

Tensor product(const Tensor& bias, const Tensor& a, const Tensor& b, float beta, float alpha) {
  const int64_t n = a.size(0), m = b.size(1);
  const Tensor out = empty({n, m}, TensorOptions(kFloat).device(a.device()));
  // Rows of a, and columns of b, for every element of the result.
  const Tensor rows = a.narrow(1, 0, 1).expand({n, m}), columns = b.narrow(0, 0, 1).expand({n, m});
  const Layout layout = layoutOf({out, rows, columns, beta == 0 ? out : bias});
  Runtime::get().run(a.device(), kSource, "product", {static_cast<size_t>(n * m)}, layout,
                     static_cast<cl_long>(a.size(1)), static_cast<cl_long>(a.stride(1)),
                     static_cast<cl_long>(b.stride(0)), beta, alpha, bufferOf(out), bufferOf(a), bufferOf(b),
                     bufferOf(beta == 0 ? out : bias));
  return out;
}

Tensor mm(const Tensor& self, const Tensor& mat2) {
  if (!areServed(self, mat2)) return call_fallback_fn<&cpu_fallback, ops::mm>::call(self, mat2);
  return product({}, self, mat2, 0, 1);
}

bool fits(const Tensor& bias, int64_t n, int64_t m) {
  const int64_t last = bias.dim() > 0 ? bias.size(-1) : 1, first = bias.dim() == 2 ? bias.size(0) : 1;
  return bias.dim() <= 2 && (last == m || last == 1) && (first == n || first == 1);
}

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  const bool served = areServed(mat1, mat2) && isServed(self) && self.device() == mat1.device() &&
                      fits(self, mat1.size(0), mat2.size(1));
  if (!served) return call_fallback_fn<&cpu_fallback, ops::addmm>::call(self, mat1, mat2, beta, alpha);
  return product(self, mat1, mat2, beta.to<float>(), alpha.to<float>());
}

}  // namespace

SHUNT_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("mm", &mm);
  m.impl("addmm", &addmm);
}

}  // namespace opencl
