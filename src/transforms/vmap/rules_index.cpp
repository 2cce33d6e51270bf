// Rules of index and index_put. Where all samples have the same indices, the batch is a dimension in front that no
// index stands for; else an index in front says which sample, and the dimensions of the indices come next to it.
#include "src/transforms/vmap/aligned.h"

#include <shunt/ops.h>

#include <algorithm>

namespace shunt::levels::rules {
namespace {

using Indices = std::vector<std::optional<Tensor>>;

bool isGiven(const std::optional<Tensor>& index) { return index && index->defined(); }
bool isMask(const Tensor& t) { return t.dtype() == kBool || t.dtype() == kByte; }

/// One sample's index tensors.
struct SampleIndices {
  explicit SampleIndices(const BatchedCall& call) : all(call.args[1].toOptionalTensorVector()) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (!isGiven(all[i])) continue;
      const Tensor& t = *all[i];
      if (runs == 0) before = static_cast<int64_t>(i);
      runs += i == 0 || !isGiven(all[i - 1]);
      indexed += isMask(t) ? t.dim() : 1;
      dims = std::max(dims, isMask(t) ? int64_t{1} : t.dim());
      any_mask = any_mask || isMask(t);
      any_batched = any_batched || call.isBatched(t);
    }
  }
  /// Whether the dimensions of the index take the place of those that they index; else they come first.
  bool areNeighbours() const { return runs <= 1; }
  /// Where the dimensions of the index are among the result's.
  int64_t place() const { return areNeighbours() ? before : 0; }

  Indices all;
  int runs = 0;         // of given ones
  int64_t before = 0;   // dimensions in front of the first given one
  int64_t indexed = 0;  // dimensions that they stand for
  int64_t dims = 0;     // of the index
  bool any_mask = false, any_batched = false;
};

/// Whether the operator has nothing to say against one sample's indices, but that they may be out of range.
bool areGood(const SampleIndices& indices, const Tensor& self) {
  std::vector<int64_t> sizes(static_cast<size_t>(indices.dims), 1);
  for (const auto& index : indices.all) {
    if (!isGiven(index)) continue;
    if (index->dtype() != kLong) return false;
    const auto first = sizes.end() - static_cast<ptrdiff_t>(index->dim());
    for (size_t d = 0; d < static_cast<size_t>(index->dim()); ++d) {
      int64_t& size = first[static_cast<ptrdiff_t>(d)];
      const int64_t own = index->sizes()[d];
      if (size != own && size != 1 && own != 1) return false;
      if (size == 1) size = own;
    }
  }
  return static_cast<int64_t>(indices.all.size()) <= self.dim();
}

/// The indices that all samples share, beside a batch in front.
Indices behindBatch(const SampleIndices& indices) {
  Indices all = indices.all;
  all.insert(all.begin(), std::nullopt);
  return all;
}

/// The indices of all samples, each with the batch in front.
Indices ofSamples(const BatchedCall& call, const SampleIndices& indices) {
  Indices all = indices.all;
  for (auto& index : all)
    if (isGiven(index)) index = aligned(call, *index, indices.dims);
  return all;
}

/// The same after one that says which sample.
Indices withSamples(const BatchedCall& call, const SampleIndices& indices) {
  Indices all = ofSamples(call, indices);
  std::vector<int64_t> shape(static_cast<size_t>(indices.dims) + 1, 1);
  shape[0] = call.size;
  const Tensor samples = ops::arange::call(call.size, kLong, std::nullopt, call.tensor(0).device(), std::nullopt);
  all.insert(all.begin(), ops::reshape::call(samples, shape));
  return all;
}

/// `count` dimensions from `from` on moved to `to`, where the others keep their order.
Tensor movedDims(const Tensor& t, int64_t from, int64_t count, int64_t to) {
  if (from == to || count == 0) return t;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < t.dim(); ++d)
    if (d < from || d >= from + count) order.push_back(d);
  for (int64_t d = 0; d < count; ++d) order.insert(order.begin() + to + d, from + d);
  return ops::permute::call(t, order);
}

}  // namespace

void indexTensors(BatchedCall& call) {
  const SampleIndices indices(call);
  const Tensor& self = call.tensor(0);
  if (!indices.any_batched) {
    const Tensor result = ops::index_Tensor::call(call.front(self), behindBatch(indices));
    // Dimensions of the index that come first do so in front of the batch.
    return call.setResult(indices.areNeighbours() ? result : movedDims(result, indices.dims, 1, 0));
  }
  if (indices.any_mask || !areGood(indices, self)) return loopSilently(call);
  if (!call.isBatched(self))
    return call.setResult(movedDims(ops::index_Tensor::call(self, ofSamples(call, indices)), indices.place(), 1, 0));
  const Tensor result = ops::index_Tensor::call(call.front(self), withSamples(call, indices));
  call.setResult(movedDims(result, 1, indices.dims, 1 + indices.place()));
}

void indexPut(BatchedCall& call) {
  const SampleIndices indices(call);
  const Tensor &self = call.tensor(0), &values = call.tensor(2);
  const bool shared = !indices.any_batched && indices.areNeighbours();
  const int64_t dims = indices.dims + self.dim() - indices.indexed;
  if (values.dim() > dims) return loopSilently(call);  // an error that names one sample's shapes
  if (!shared && (indices.any_mask || !areGood(indices, self))) return loopSilently(call);
  Tensor value = values;
  // Between the batch and what one sample is given there are the dimensions that the value is broadcast along.
  const bool in_place = shared || indices.place() == 0;
  if (call.isBatched(values) || !in_place) {
    std::vector<int64_t> sizes(static_cast<size_t>(dims - values.dim()), 1);
    sizes.insert(sizes.end(), values.sizes().begin(), values.sizes().end());
    const bool batched = call.isBatched(values);
    if (!batched) sizes.insert(sizes.begin(), 1);
    value = ops::reshape::call(call.front(values), batched ? call.withBatch(sizes) : sizes);
  }
  if (!in_place) value = movedDims(value, 1 + indices.place(), indices.dims, 1);
  const Indices all = shared ? behindBatch(indices) : withSamples(call, indices);
  call.setResult(ops::index_put::call(call.expanded(self), all, value, call.flag(3)));
}

}  // namespace shunt::levels::rules
