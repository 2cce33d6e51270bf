// Rules of factors, determinants, inverses and solutions, whose operators take batches of matrices: one call for all.
#include "src/transforms/vmap/call.h"

#include <shunt/ops.h>

#include <algorithm>

namespace shunt::levels::rules {
namespace {

/// The tensor with the batch in front, of size 1 where all samples share it, of `dims` dimensions after that.
Tensor padded(const BatchedCall& call, const Tensor& t, bool vectors, int64_t dims) {
  Tensor value = call.isBatched(t) ? call.front(t) : ops::unsqueeze::call(t, 0);
  if (vectors) value = ops::unsqueeze::call(value, -1);
  while (value.dim() < dims + 1) value = ops::unsqueeze::call(value, 1);
  return value;
}

/// LU factors and what comes with them, of the padded matrices, as they are of each sample's: without the last `dims`
/// of its dimensions.
Tensor ofMatrices(const BatchedCall& call, const Tensor& t, size_t dims) {
  const IntArrayRef sizes = call.tensor(0).sizes();
  const std::vector<int64_t> sample(sizes.begin(), sizes.end() - static_cast<std::ptrdiff_t>(dims));
  std::vector<int64_t> own = sample;
  own.insert(own.begin(), t.size(0));
  return ops::expand::call(ops::reshape::call(t, own), call.withBatch(sample), false);
}

/// As linalg_solve sees it: a vector, or a batch of them as A is one of matrices.
bool isOfVectors(IntArrayRef a, IntArrayRef b) {
  return b.size() == 1 || (b.size() + 1 == a.size() && b == IntArrayRef(a.data(), a.size() - 1));
}

}  // namespace

void factors(BatchedCall& call) {
  if (call.tensor(0).dim() < 2) return loopSilently(call);  // refused
  Stack values = call.args;
  values[0] = IValue(call.front(call.tensor(0)));
  call.op.callBoxed(&values);
  call.results = std::move(values);
}

void solutions(BatchedCall& call) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  const bool triangular = call.schema.returns().size() == 1;
  if (a.dim() < 2 || b.dim() < 1) return loopSilently(call);  // refused
  const bool vectors = !triangular && isOfVectors(a.sizes(), b.sizes());
  // Refused, too: what padding would turn into something else.
  if (vectors ? !call.flag(call.position("left")) : b.dim() < 2) return loopSilently(call);
  const int64_t dims = std::max(a.dim(), b.dim() + (vectors ? 1 : 0));
  Stack values = call.args;
  values[0] = IValue(padded(call, a, false, dims));
  values[1] = IValue(padded(call, b, vectors, dims));
  call.op.callBoxed(&values);
  const Tensor x = values[0].toTensor();
  call.setResult(vectors ? ops::squeeze_dim::call(x, -1) : x);
  if (triangular) return;
  for (size_t i = 1; i < values.size(); ++i) call.addResult(ofMatrices(call, values[i].toTensor(), i - 1));
}

}  // namespace shunt::levels::rules
