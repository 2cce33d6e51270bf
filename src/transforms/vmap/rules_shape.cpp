// Rules of views and of operators that arrange elements, whose arguments are sizes, strides or positions.
#include "src/transforms/vmap/call.h"
#include "src/transforms/vmap/elements.h"

#include <shunt/core/wrap_dim.h>
#include <shunt/ops.h>

#include <algorithm>
#include <utility>

namespace shunt::levels::rules {
namespace {

/// Sizes with -1 worked out, where the batch is empty and nothing else could.
std::vector<int64_t> inferred(const BatchedCall& call, std::vector<int64_t> sizes) {
  if (call.size != 0) return sizes;
  int64_t known = 1;
  for (const int64_t s : sizes)
    if (s != -1) known *= s;
  for (int64_t& s : sizes)
    if (s == -1) s = known == 0 ? 0 : call.tensor(0).numel() / known;
  return sizes;
}

std::vector<int64_t> batchStrideAnd(const Tensor& value, const std::vector<int64_t>& strides) {
  std::vector<int64_t> all = {value.stride(0)};
  all.insert(all.end(), strides.begin(), strides.end());
  return all;
}

/// Elements from the first to behind the last of one sample. As many strides as sizes.
int64_t span(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t n = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    n += (sizes[d] - 1) * strides[d];
  }
  return n;
}

/// Whether no two elements surely share memory, were there `batch` samples (dimension 0).
bool areApart(const Tensor& t, int64_t batch) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (int64_t d = 0; d < t.dim(); ++d)
    if (const int64_t size = d == 0 ? batch : t.size(d); size > 1) dims.emplace_back(t.stride(d), size);
  std::sort(dims.begin(), dims.end());
  int64_t reached = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reached) return false;
    reached += (size - 1) * stride;
  }
  return true;
}

/// Whether what a window shows, from `offset` behind the first element of `t`, are elements of `t`.
bool liesWithin(const Tensor& t, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                int64_t offset) {
  const int64_t reach = span(sizes, strides);
  if (reach == 0) return true;
  if (offset < 0) return false;
  if (t.is_non_overlapping_and_dense()) return offset + reach <= t.numel();
  std::vector<bool> own(static_cast<size_t>(std::max(span(t.sizes().vec(), t.strides().vec()), offset + reach)));
  everyElement(t.sizes(), t.strides(), 0, [&](int64_t at) { return own[static_cast<size_t>(at)] = true; });
  return everyElement(sizes, strides, offset, [&](int64_t at) { return own[static_cast<size_t>(at)]; });
}

}  // namespace

void view(BatchedCall& call) {
  Stack values = {IValue(call.front(call.tensor(0))), IValue(call.withBatch(inferred(call, call.integers(1))))};
  call.op.callBoxed(&values);
  call.results = std::move(values);
}

namespace {

/// Whether every sample has sizes, strides and a place in memory that whole elements of the dtype have.
bool isViewable(const Tensor& value, ScalarType dtype) {
  const int64_t from = value.itemsize(), to = elementSize(dtype), last = value.dim() - 1;
  if (from == to) return true;
  if (value.stride(last) != 1) return false;
  if (from > to) return true;
  const int64_t ratio = to / from;
  bool whole = value.size(last) % ratio == 0 && value.storage_offset() % ratio == 0;
  for (int64_t d = 0; d < last; ++d) whole = whole && value.stride(d) % ratio == 0;
  return whole;
}

/// A batch of one has any stride: one that doesn't count against it.
Tensor withStrideOfBatch(const Tensor& value, int64_t stride) {
  std::vector<int64_t> strides = value.strides().vec();
  strides[0] = stride;
  return ops::as_strided::call(value, value.sizes(), strides, std::nullopt);
}

}  // namespace

void viewDtype(BatchedCall& call) {
  const Tensor& self = call.tensor(0);
  const auto dtype = static_cast<ScalarType>(call.integer(1));
  const int64_t to = elementSize(dtype);
  SHUNT_CHECK(self.dim() > 0 || to == self.itemsize(), "self.dim() cannot be 0 to view ", self.dtype(), " as ", dtype,
              " (different element sizes)");
  Tensor value = call.front(self);
  if (call.size <= 1 && to > self.itemsize() && value.stride(0) % to != 0) value = withStrideOfBatch(value, to);
  if (!isViewable(value, dtype)) return loopSilently(call);  // which refuses it
  call.setResult(ops::view_dtype::call(value, dtype));
}

void reshapeAlias(BatchedCall& call) {
  const Tensor value = call.front(call.tensor(0));
  call.setResult(
      ops::_reshape_alias::call(value, call.withBatch(call.integers(1)), batchStrideAnd(value, call.integers(2))));
}

namespace {

/// Whether this is a window that as_strided refuses.
bool isNoWindow(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  const auto negative = [](int64_t n) { return n < 0; };
  return sizes.size() != strides.size() || std::any_of(sizes.begin(), sizes.end(), negative) ||
         std::any_of(strides.begin(), strides.end(), negative);
}

/// An offset counts from where the memory of all samples starts. In a chunk that is known of what lies in its first
/// sample, where no two samples share memory: no other sample has it.
void checkOffset(const BatchedCall& call, const char* name, const std::vector<int64_t>& sizes,
                 const std::vector<int64_t>& strides, std::optional<int64_t> offset) {
  if (!offset || !call.level.isChunk() || isNoWindow(sizes, strides)) return;
  const Tensor& self = call.tensor(0);
  const Tensor value = call.front(self);
  SHUNT_CHECK(value.stride(0) == 0 || (areApart(value, call.level.whole_size) &&
                                       liesWithin(self, sizes, strides, *offset - self.storage_offset())),
              name,
              ": a storage_offset counts from the start of all samples, and vmap runs them in chunks; leave it out, or "
              "call vmap without chunk_size");
}

}  // namespace

void asStrided(BatchedCall& call) {
  const std::vector<int64_t> sizes = call.integers(1), strides = call.integers(2);
  const std::optional<int64_t> offset = call.optionalInteger(3);
  checkOffset(call, "as_strided", sizes, strides, offset);
  const Tensor value = call.front(call.tensor(0));
  // Where none is given there is none in the level outside either, which may be a chunk.
  call.setResult(ops::as_strided::call(value, call.withBatch(sizes), batchStrideAnd(value, strides), offset));
}

void asStridedScatter(BatchedCall& call) {
  const Tensor& self = call.tensor(0);
  const std::vector<int64_t> sizes = call.integers(2), strides = call.integers(3);
  if (isNoWindow(sizes, strides)) return loopSilently(call);  // which refuses it
  const std::optional<int64_t> given = call.optionalInteger(4);
  if (call.isBatched(self)) checkOffset(call, "as_strided_scatter", sizes, strides, given);
  const int64_t offset = given.value_or(self.storage_offset());
  const bool within = liesWithin(self, sizes, strides, offset - self.storage_offset());
  if (within && call.isBatched(self)) {
    // As as_strided, from the start of all samples; the result keeps their places.
    const Tensor value = call.front(self);
    if (areApart(value, call.size))
      return call.setResult(ops::as_strided_scatter::call(value, call.expanded(call.tensor(1)), call.withBatch(sizes),
                                                          batchStrideAnd(value, strides), given));
  }
  if (!within || !self.is_non_overlapping_and_dense()) return loopSilently(call);
  // Samples one after the other, each laid out as self is.
  const auto apart = [&](std::vector<int64_t> strides) {
    strides.insert(strides.begin(), self.numel());
    return strides;
  };
  const Tensor repeated = call.expanded(self);
  Tensor value = ops::new_empty_strided::call(repeated, call.withBatch(self.sizes()), apart(self.strides().vec()),
                                              std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  ops::copy_::call(value, repeated, false);
  call.setResult(ops::as_strided_scatter::call(value, call.expanded(call.tensor(1)), call.withBatch(sizes),
                                               apart(strides), offset - self.storage_offset()));
}

void newEmptyStrided(BatchedCall& call) {
  Stack values = call.args;
  const std::vector<int64_t> sizes = call.integers(1), strides = call.integers(2);
  values[0] = call.front(call.tensor(0));
  if (sizes.size() != strides.size()) return call.op.callBoxed(&values);  // which refuses them
  std::vector<int64_t> all = {span(sizes, strides)};
  all.insert(all.end(), strides.begin(), strides.end());
  values[1] = IValue(call.withBatch(sizes));
  values[2] = IValue(std::move(all));
  call.op.callBoxed(&values);
  call.results = std::move(values);
}

void expand(BatchedCall& call) {
  const std::vector<int64_t> sizes = call.integers(1);
  Tensor value = call.front(call.tensor(0));
  const auto added = static_cast<ptrdiff_t>(sizes.size()) - static_cast<ptrdiff_t>(call.tensor(0).dim());
  if (added > 0 && std::find(sizes.begin(), sizes.begin() + added, -1) != sizes.begin() + added)
    return loopSilently(call);  // which refuses them
  for (size_t d = static_cast<size_t>(call.tensor(0).dim()); d < sizes.size(); ++d)
    value = ops::unsqueeze::call(value, 1);
  call.setResult(ops::expand::call(value, call.withBatch(sizes), call.flag(2)));
}

void t(BatchedCall& call) {
  const int64_t dims = call.tensor(0).dim();
  SHUNT_CHECK(dims <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", dims, "D");
  const Tensor value = call.front(call.tensor(0));
  call.setResult(dims < 2 ? ops::alias::call(value) : ops::transpose_int::call(value, 1, 2));
}

void squeeze(BatchedCall& call) {
  Tensor value = ops::alias::call(call.front(call.tensor(0)));
  for (int64_t d = value.dim() - 1; d > 0; --d)
    if (value.size(d) == 1) value = ops::squeeze_dim::call(value, d);
  call.setResult(std::move(value));
}

void detachInPlace(BatchedCall& call) {
  call.replaced = ops::detach::call(call.front(call.tensor(0)));
  call.results = {IValue()};
}

void cat(BatchedCall& call) {
  const std::vector<Tensor>& given = call.args[0].toTensorVector();
  // cat skips empty tensors of one dimension, whatever the shape of the others.
  const auto counts = [](const Tensor& t) { return t.dim() != 1 || t.numel() > 0; };
  const bool any = std::any_of(given.begin(), given.end(), counts);
  if (!any && call.size > 0) return loopSilently(call);  // takes any dimension
  std::vector<Tensor> values;
  int64_t dims = -1;
  for (const Tensor& t : given) {
    if (any && !counts(t)) continue;
    if (dims < 0) dims = t.dim();
    SHUNT_CHECK(t.dim() > 0, "zero-dimensional tensor (at position ", &t - given.data(), ") cannot be concatenated");
    values.push_back(call.expanded(t));
  }
  ScalarType dtype = given.front().scalar_type();  // skipped tensors have a say in it
  for (const Tensor& t : given) dtype = promoteTypes(dtype, t.scalar_type());
  const Tensor joined = ops::cat::call(values, maybe_wrap_dim(call.integer(1), dims) + 1);
  call.setResult(joined.scalar_type() == dtype ? joined
                                               : ops::to_dtype::call(joined, dtype, false, false, std::nullopt));
}

namespace {

/// Samples one after the other along `dim` of their own: [n, batch * size, rest].
Tensor rowsOfBatch(const Tensor& value, int64_t dim) {
  const Tensor moved = ops::transpose_int::call(value, 1, dim + 1);
  std::vector<int64_t> sizes = moved.sizes().vec();
  sizes[1] *= sizes[0];
  sizes.erase(sizes.begin());
  return ops::reshape::call(moved, sizes);
}

/// The other way round, where each sample has `count` rows.
Tensor rowsOfSamples(const Tensor& rows, int64_t batch, int64_t count, int64_t dim) {
  std::vector<int64_t> sizes = rows.sizes().vec();
  sizes[0] = count;
  sizes.insert(sizes.begin(), batch);
  return ops::transpose_int::call(ops::reshape::call(rows, sizes), 1, dim + 1);
}

/// Where a sample's index points to among the rows of the batch. What is out of the sample's range is out of all.
Tensor indexOfBatch(const Tensor& index, int64_t rows) {
  const int64_t batch = index.size(0);
  const Tensor flat = index.dim() == 1 ? index.unsqueeze(1) : index;
  const Tensor first =
      ops::arange::call(batch, kLong, std::nullopt, index.device(), std::nullopt).mul(Scalar(rows)).unsqueeze(1);
  const Tensor bad = flat.lt(Scalar(0)).logical_or(flat.ge(Scalar(rows)));
  const Tensor all = ops::masked_fill_Scalar::call(flat.add(first), bad, Scalar(batch * rows));
  return ops::reshape::call(all, {all.numel()});
}

}  // namespace

/// Whether index_select and its kin have nothing to say against the dtype.
static bool isIndex(const Tensor& index) { return index.dtype() == kLong || index.dtype() == kInt; }

void indexSelect(BatchedCall& call) {
  const Tensor &self = call.tensor(0), &index = call.tensor(2);
  const int64_t dims = self.dim(), dim = maybe_wrap_dim(call.integer(1), dims);
  if (dims == 0 || index.dim() > 1 || !isIndex(index)) return loopSilently(call);
  if (!call.isBatched(index)) return call.setResult(ops::index_select::call(call.front(self), dim + 1, index));
  const Tensor rows = rowsOfBatch(call.expanded(self), dim);
  const Tensor chosen = ops::index_select::call(rows, 0, indexOfBatch(call.front(index), self.size(dim)));
  call.setResult(rowsOfSamples(chosen, call.size, index.numel(), dim));
}

void indexAdd(BatchedCall& call) {
  const Tensor &self = call.tensor(0), &index = call.tensor(2), &source = call.tensor(3);
  const int64_t dims = self.dim(), dim = maybe_wrap_dim(call.integer(1), dims);
  if (dims == 0 || index.dim() > 1 || !isIndex(index) || source.dim() != dims) return loopSilently(call);
  const Scalar alpha = call.args[4].toScalar();
  if (!call.isBatched(index))
    return call.setResult(ops::index_add::call(call.expanded(self), dim + 1, index, call.expanded(source), alpha));
  const Tensor rows = rowsOfBatch(call.expanded(self), dim), added = rowsOfBatch(call.expanded(source), dim);
  const Tensor all = ops::index_add::call(rows, 0, indexOfBatch(call.front(index), self.size(dim)), added, alpha);
  call.setResult(rowsOfSamples(all, call.size, self.size(dim), dim));
}

/// gather and the scatters: all tensors have the batch in front. An index may have a dimension where `self` has none.
void alongIndex(BatchedCall& call) {
  const int64_t dims = call.tensor(0).dim();
  bool same = dims > 0;
  for (const IValue& v : call.args) same = same && (!v.isTensor() || v.toTensor().dim() == dims);
  if (!same) return loopSilently(call);
  Stack values = call.args;
  mapTensors(values, values.size(), [&](const Tensor& t) { return call.expanded(t); });
  values[1] = IValue(maybe_wrap_dim(call.integer(1), dims) + 1);
  call.op.callBoxed(&values);
  call.results = std::move(values);
}

/// A tensor without dimensions is one element, which stays whatever k is.
void topk(BatchedCall& call) {
  const int64_t dims = call.tensor(0).dim();
  if (dims == 0) return loopSilently(call);
  Stack values = call.args;
  values[0] = IValue(call.front(call.tensor(0)));
  values[2] = IValue(maybe_wrap_dim(call.integer(2), dims) + 1);
  call.op.callBoxed(&values);
  call.results = std::move(values);
}

}  // namespace shunt::levels::rules
