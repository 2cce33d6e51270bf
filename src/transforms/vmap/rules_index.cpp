// Rules of index and index_put. Where all samples have the same indices, the batch is a dimension in front that no
// index stands for.
#include "src/transforms/vmap/call.h"

#include <shunt/ops.h>

namespace shunt::levels::rules {
namespace {

using Indices = std::vector<std::optional<Tensor>>;

bool isGiven(const std::optional<Tensor>& index) { return index && index->defined(); }
bool isMask(const Tensor& t) { return t.dtype() == kBool || t.dtype() == kByte; }

/// The call's indices for the batch; none where samples have different ones.
std::optional<Indices> indicesOfBatch(const BatchedCall& call) {
  Indices indices = call.args[1].toOptionalTensorVector();
  for (const auto& index : indices)
    if (isGiven(index) && call.isBatched(*index)) return std::nullopt;
  indices.insert(indices.begin(), std::nullopt);
  return indices;
}

/// Whether the dimensions of the index take the place of those that they index.
bool areNeighbours(const Indices& indices) {
  int runs = 0;
  for (size_t i = 1; i < indices.size(); ++i) runs += isGiven(indices[i]) && !isGiven(indices[i - 1]);
  return runs <= 1;
}

int64_t numIndexed(const Indices& indices) {
  int64_t n = 0;
  for (const auto& index : indices)
    if (isGiven(index)) n += isMask(*index) ? index->dim() : 1;
  return n;
}

}  // namespace

void indexTensors(BatchedCall& call) {
  const auto indices = indicesOfBatch(call);
  if (!indices) return loopSilently(call);
  const Tensor self = call.front(call.tensor(0));
  Tensor result = ops::index_Tensor::call(self, *indices);
  if (!areNeighbours(*indices)) {  // the index's dimensions are in front of the batch
    const int64_t batch = result.dim() - (self.dim() - numIndexed(*indices));
    std::vector<int64_t> order{batch};
    for (int64_t d = 0; d < result.dim(); ++d)
      if (d != batch) order.push_back(d);
    result = ops::permute::call(result, order);
  }
  call.setResult(result);
}

void indexPut(BatchedCall& call) {
  const auto indices = indicesOfBatch(call);
  const Tensor& values = call.tensor(2);
  if (!indices || !areNeighbours(*indices)) return loopSilently(call);
  Tensor value = call.front(values);
  int64_t dims = 0;
  for (const auto& index : *indices)
    if (isGiven(index)) dims = std::max(dims, isMask(*index) ? int64_t{1} : index->dim());
  dims += call.tensor(0).dim() - numIndexed(*indices);
  if (values.dim() > dims) return loopSilently(call);  // an error that names one sample's shapes
  if (call.isBatched(values)) {
    // Between the batch and what one sample is given there are the dimensions that the value is broadcast along.
    std::vector<int64_t> sizes(static_cast<size_t>(dims - values.dim()), 1);
    sizes.insert(sizes.end(), values.sizes().begin(), values.sizes().end());
    value = ops::reshape::call(value, call.withBatch(sizes));
  }
  call.setResult(ops::index_put::call(call.expanded(call.tensor(0)), *indices, value, call.flag(3)));
}

}  // namespace shunt::levels::rules
