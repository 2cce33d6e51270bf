// Rules of products: one product for the whole batch. A batched matrix times one that all samples share becomes one
// taller matrix; where the right one is batched it takes a product for each, in one operator.
#include "src/transforms/vmap/call.h"

#include <shunt/ops.h>

namespace shunt::levels::rules {
namespace {

void checkDims(const BatchedCall& call, size_t i, int64_t dims, const char* text) {
  SHUNT_CHECK(call.tensor(i).dim() == dims, text, call.tensor(i).dim(), "D");
}

/// [batch, m, k] as [batch * m, k].
Tensor tall(const Tensor& value) { return ops::reshape::call(value, {value.size(0) * value.size(1), value.size(2)}); }

Tensor untall(const Tensor& product, const BatchedCall& call, int64_t rows) {
  return ops::view::call(product, {call.size, rows, product.size(1)});
}

/// Matrices of all samples: [batch, m, k], of an argument that may be the same for all.
Tensor matrices(const BatchedCall& call, size_t i) { return call.expanded(call.tensor(i)); }

Tensor productOf(const BatchedCall& call, size_t a, size_t b) {
  const Tensor &left = call.tensor(a), &right = call.tensor(b);
  SHUNT_CHECK(left.size(1) == right.size(0), "mat1 and mat2 shapes cannot be multiplied (", left.size(0), "x",
              left.size(1), " and ", right.size(0), "x", right.size(1), ")");
  if (!call.isBatched(right)) return untall(ops::mm::call(tall(call.front(left)), right), call, left.size(0));
  return ops::bmm::call(matrices(call, a), matrices(call, b));
}

/// Batches of matrices, the batch of all samples first: [batch * n, m, k].
Tensor manyMatrices(const BatchedCall& call, size_t i) {
  const Tensor value = call.expanded(call.tensor(i));
  return ops::reshape::call(value, {value.size(0) * value.size(1), value.size(2), value.size(3)});
}

Tensor ofSamples(const BatchedCall& call, const Tensor& product) {
  const int64_t n = call.tensor(1).size(0);
  return ops::view::call(product, {call.size, n, product.size(1), product.size(2)});
}

void checkBatches(const BatchedCall& call, size_t a, size_t b) {
  checkDims(call, a, 3, "batch1 must be a 3D tensor, got ");
  checkDims(call, b, 3, "batch2 must be a 3D tensor, got ");
  const IntArrayRef x = call.tensor(a).sizes(), y = call.tensor(b).sizes();
  SHUNT_CHECK(y[0] == x[0] && y[1] == x[2], "Expected size for first two dimensions of batch2 tensor to be: [", x[0],
              ", ", x[2], "] but got: [", y[0], ", ", y[1], "].");
}

}  // namespace

void mm(BatchedCall& call) {
  checkDims(call, 0, 2, "self must be a matrix, got ");
  checkDims(call, 1, 2, "mat2 must be a matrix, got ");
  call.setResult(productOf(call, 0, 1));
}

void addmm(BatchedCall& call) {
  checkDims(call, 1, 2, "mat1 must be a matrix, got ");
  checkDims(call, 2, 2, "mat2 must be a matrix, got ");
  const Tensor &self = call.tensor(0), &left = call.tensor(1), &right = call.tensor(2);
  const Scalar beta = call.args[3].toScalar(), alpha = call.args[4].toScalar();
  // Without a product a batched sum has other rules for beta than one of matrices.
  if (left.size(1) == 0) return loopSilently(call);
  const bool row = !call.isBatched(self) && (self.dim() < 2 || self.size(0) == 1);
  if (row && call.isBatched(left) && !call.isBatched(right)) {
    const Tensor sum = ops::addmm::call(self, tall(call.front(left)), right, beta, alpha);
    return call.setResult(untall(sum, call, left.size(0)));
  }
  Tensor added = call.front(self);
  if (call.isBatched(self))
    for (int64_t d = self.dim(); d < 2; ++d) added = ops::unsqueeze::call(added, 1);
  call.setResult(ops::baddbmm::call(added, matrices(call, 1), matrices(call, 2), beta, alpha));
}

void bmm(BatchedCall& call) {
  checkBatches(call, 0, 1);
  call.setResult(ofSamples(call, ops::bmm::call(manyMatrices(call, 0), manyMatrices(call, 1))));
}

void baddbmm(BatchedCall& call) {
  checkBatches(call, 1, 2);
  const Tensor product = ops::bmm::call(manyMatrices(call, 1), manyMatrices(call, 2));
  const std::vector<int64_t> shape = {call.size, call.tensor(1).size(0), product.size(1), product.size(2)};
  Tensor added = call.front(call.tensor(0));
  if (call.isBatched(size_t{0}))
    for (int64_t d = call.tensor(0).dim(); d < 3; ++d) added = ops::unsqueeze::call(added, 1);
  const Tensor all = ops::reshape::call(ops::expand::call(added, shape, false), product.sizes());
  call.setResult(ofSamples(call, ops::baddbmm::call(all, manyMatrices(call, 1), manyMatrices(call, 2),
                                                    call.args[3].toScalar(), call.args[4].toScalar())));
}

void mv(BatchedCall& call) {
  checkDims(call, 0, 2, "vector + matrix @ vector expected, got matrix of ");
  checkDims(call, 1, 1, "vector + matrix @ vector expected, got vector of ");
  const Tensor &matrix = call.tensor(0), &vec = call.tensor(1);
  SHUNT_CHECK(matrix.size(1) == vec.size(0), "size mismatch, got input (", matrix.size(0), "x", matrix.size(1),
              "), vec (", vec.size(0), ")");
  if (!call.isBatched(matrix)) return call.setResult(ops::mm::call(call.front(vec), ops::t::call(matrix)));
  if (!call.isBatched(vec)) {
    const Tensor product = ops::mv::call(tall(call.front(matrix)), vec);
    return call.setResult(ops::view::call(product, {call.size, matrix.size(0)}));
  }
  const Tensor columns = ops::unsqueeze::call(call.front(vec), 2);
  call.setResult(ops::squeeze_dim::call(ops::bmm::call(call.front(matrix), columns), 2));
}

void dot(BatchedCall& call) {
  for (const size_t i : {size_t{0}, size_t{1}}) checkDims(call, i, 1, "1D tensors expected, but got a tensor of ");
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  SHUNT_CHECK(a.size(0) == b.size(0), "inconsistent tensor size, expected tensor [", a.size(0), "] and src [",
              b.size(0), "] to have the same number of elements, but got ", a.size(0), " and ", b.size(0),
              " elements respectively");
  if (!call.isBatched(b)) return call.setResult(ops::mv::call(call.front(a), b));
  if (!call.isBatched(a)) return call.setResult(ops::mv::call(call.front(b), a));
  const Tensor product = ops::bmm::call(ops::unsqueeze::call(call.front(a), 1), ops::unsqueeze::call(call.front(b), 2));
  call.setResult(ops::view::call(product, {call.size}));
}

}  // namespace shunt::levels::rules
