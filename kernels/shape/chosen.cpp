#include "kernels/shape/chosen.h"

#include "generated/native_functions.h"
#include "kernels/common/strided_loop.h"
#include "kernels/common/view_util.h"

#include <shunt/core/log.h>
#include <shunt/tensor/expand_utils.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace shunt::native {

void checkIndices(const char* op, const TensorImpl& self, TensorOptList indices) {
  SHUNT_CHECK_INDEX(indices.size() <= static_cast<size_t>(self.dim()), "too many indices for tensor of dimension ",
                    self.dim(), " (got ", indices.size(), ")");
  int64_t dims = 0;  // that the indices stand for: a mask for each of its own
  for (const std::optional<Tensor>& index : indices) {
    dims += index && index->defined() && isMask(*index) ? index->dim() : 1;
    if (!index || !index->defined()) continue;
    SHUNT_CHECK_INDEX(index->dtype() == kLong || index->dtype() == kInt || isMask(*index),
                      "tensors used as indices must be long, int, byte or bool tensors, but ", op, "() got ",
                      index->dtype());
    if (index->dtype() == kByte)
      detail::logWarning("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
    SHUNT_CHECK(index->device().is_cpu() || index->device() == self.device(), op,
                "(): indices should be either on cpu or on the same device as the indexed tensor (", self.device(),
                "), but got ", index->device());
  }
  SHUNT_CHECK_INDEX(dims <= self.dim(), "too many indices for tensor of dimension ", self.dim(), " (got indices for ",
                    dims, " dimensions)");
}

void checkMask(const Tensor& self, const Tensor& mask, int64_t first) {
  for (int64_t d = 0; d < mask.dim(); ++d)
    SHUNT_CHECK_INDEX(mask.size(d) == self.size(first + d), "The shape of the mask ", mask.sizes(), " at index ", d,
                      " does not match the shape of the indexed tensor ", self.sizes(), " at index ", first + d);
}

namespace {

/// Integer tensors alone: of each mask, the coordinates of its elements that are true. Undefined where there is none.
std::vector<Tensor> withoutMasks(const Tensor& self, TensorOptList indices) {
  std::vector<Tensor> out;
  for (const std::optional<Tensor>& index : indices) {
    if (!index || !index->defined() || !isMask(*index)) {
      out.push_back(index.value_or(Tensor()));
      continue;
    }
    checkMask(self, *index, static_cast<int64_t>(out.size()));
    const Tensor places = native::nonzero(*index);
    for (int64_t d = 0; d < index->dim(); ++d) out.push_back(native::select(places, 1, d));
  }
  out.resize(std::max(out.size(), static_cast<size_t>(self.dim())));
  return out;
}

/// The shape that all index tensors broadcast to.
std::vector<int64_t> sizesOfIndex(const std::vector<Tensor>& indices) {
  std::vector<int64_t> sizes;
  try {
    for (const Tensor& index : indices)
      if (index.defined()) sizes = infer_size(sizes, index.sizes());
  } catch (const Error&) {
    std::string shapes;
    for (const Tensor& index : indices)
      if (index.defined()) shapes += (shapes.empty() ? "" : ", ") + detail::str(index.sizes());
    throw IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes " + shapes);
  }
  return sizes;
}

/// Whether the tensors stand for dimensions in a row.
bool areNeighbours(const std::vector<Tensor>& indices) {
  int changes = 0;
  for (size_t d = 0; d < indices.size(); ++d) changes += indices[d].defined() && (d == 0 || !indices[d - 1].defined());
  return changes <= 1;
}

/// The strides of an index tensor that has one dimension for each of the result's: 0 where it is broadcast.
std::vector<int64_t> stridesInResult(const Chosen& chosen, const TensorImpl& positions) {
  std::vector<int64_t> sizes(chosen.sizes.size(), 1), strides(chosen.sizes.size(), 0);
  std::copy(chosen.index_sizes.begin(), chosen.index_sizes.end(), sizes.begin() + static_cast<ptrdiff_t>(chosen.first));
  if (!computeViewStrides(positions.sizes(), positions.strides(), positions.numel(), sizes, strides.data()))
    contiguousStrides(sizes, strides.data());
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != chosen.sizes[d]) strides[d] = 0;
  return strides;
}

}  // namespace

Chosen choose(const Tensor& self, TensorOptList given) {
  const std::vector<Tensor> indices = withoutMasks(self, given);
  const TensorImpl& from = *self.unsafeGetTensorImpl();
  Chosen out;
  out.index_sizes = sizesOfIndex(indices);
  const bool some =
      std::accumulate(out.index_sizes.begin(), out.index_sizes.end(), int64_t{1}, std::multiplies<>()) != 0;
  const auto putIndex = [&] {
    out.first = out.sizes.size();
    out.sizes.insert(out.sizes.end(), out.index_sizes.begin(), out.index_sizes.end());
    out.self_strides.resize(out.sizes.size(), 0);
  };
  const bool in_place = areNeighbours(indices);
  bool put = false;
  if (!in_place) putIndex(), put = true;
  for (size_t d = 0; d < indices.size(); ++d) {
    const int64_t size = from.sizes()[d];
    if (!indices[d].defined()) {
      out.sizes.push_back(size);
      out.self_strides.push_back(from.strides()[d] * from.itemsize());
      continue;
    }
    SHUNT_CHECK_INDEX(size != 0 || !some, "index is out of bounds for dimension with size 0");
    if (!put) putIndex(), put = true;
    out.indices.push_back({native::expand(indices[d], out.index_sizes, false), static_cast<int64_t>(d)});
  }
  return out;
}

std::vector<int64_t> offsetsOf(const Chosen& chosen, const TensorImpl& self) {
  int64_t n = 1;
  for (const int64_t s : chosen.index_sizes) n *= s;
  std::vector<int64_t> offsets(static_cast<size_t>(n), 0);
  for (const Chosen::Index& index : chosen.indices) {
    const auto d = static_cast<size_t>(index.dim);
    const int64_t size = self.sizes()[d], stride = self.strides()[d] * self.itemsize();
    int64_t* at = offsets.data();
    const auto add = [&](int64_t i) {
      SHUNT_CHECK_INDEX(i >= -size && i < size, "index ", i, " is out of bounds for dimension ", index.dim,
                        " with size ", size);
      *at++ += (i < 0 ? i + size : i) * stride;
    };
    if (index.positions.dtype() == kInt)
      forEachElement<int32_t>(*index.positions.unsafeGetTensorImpl(), add);
    else
      forEachElement<int64_t>(*index.positions.unsafeGetTensorImpl(), add);
  }
  return offsets;
}

std::vector<int64_t> layoutOf(const Chosen& chosen) {
  const size_t dims = chosen.sizes.size();
  std::vector<std::vector<int64_t>> operands{chosen.self_strides};
  for (const Chosen::Index& index : chosen.indices)
    operands.push_back(stridesInResult(chosen, *index.positions.unsafeGetTensorImpl()));
  // Whether `a`, that should be the faster one, is the slower one: 1; -1: it is not; 0: nobody knows.
  const auto compare = [&](size_t a, size_t b) {
    for (const std::vector<int64_t>& strides : operands) {
      if (strides[a] == 0 || strides[b] == 0) continue;
      if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
      if (chosen.sizes[a] > chosen.sizes[b]) return 1;
    }
    return 0;
  };
  std::vector<size_t> order(dims);  // the fastest first
  for (size_t i = 0; i < dims; ++i) order[i] = dims - 1 - i;
  for (size_t i = 1; i < dims; ++i)
    for (size_t at = i, before = i; before-- > 0;) {
      const int swap = compare(order[before], order[at]);
      if (swap < 0) break;
      if (swap > 0) std::swap(order[before], order[at]), at = before;
    }
  std::vector<int64_t> layout(dims);
  int64_t step = 1;
  for (const size_t d : order) {
    layout[d] = step;
    step *= std::max<int64_t>(chosen.sizes[d], 1);
  }
  return layout;
}

}  // namespace shunt::native
