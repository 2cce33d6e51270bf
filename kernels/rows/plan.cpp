#include "kernels/rows/plan.h"

#include <shunt/core/wrap_dim.h>

namespace shunt::reduce {

DimSet dimSet(OptionalIntArrayRef dims, int64_t ndim) {
  SHUNT_CHECK(ndim <= kMaxDims, "only tensors with up to ", kMaxDims, " dims are supported");
  DimSet set;
  if (!dims.has_value() || dims->empty()) return set.set();
  for (const int64_t d : *dims) {
    const auto dim = static_cast<size_t>(maybe_wrap_dim(d, ndim));
    SHUNT_CHECK(!set[dim], "dim ", dim, " appears multiple times in the list of dims");
    set.set(dim);
  }
  return set;
}

OutputSizes::OutputSizes(IntArrayRef input, const DimSet& dims, bool keepdim) {
  for (size_t d = 0; d < input.size(); ++d)
    if (!dims[d])
      sizes[ndim++] = input[d];
    else if (keepdim)
      sizes[ndim++] = 1;
}

void Axes::push(Axis a) {
  numel *= a.size;
  if (a.size != 1) axis[count++] = a;
}

void Axes::sortByStride() {
  // Insertion sort: stable, and nearly always there is nothing to do.
  for (int64_t i = 1; i < count; ++i)
    for (int64_t j = i; j > 0 && axis[j - 1].stride < axis[j].stride; --j) std::swap(axis[j - 1], axis[j]);
}

void Axes::join() {
  int64_t kept = 0;
  for (int64_t i = 1; i < count; ++i) {
    Axis& outer = axis[kept];
    const Axis& next = axis[i];
    if (outer.stride == next.stride * next.size && outer.out_stride == next.out_stride * next.size)
      outer = {outer.size * next.size, next.stride, next.out_stride};
    else
      axis[++kept] = next;
  }
  if (count > 0) count = kept + 1;
}

Plan::Plan(const TensorImpl& self, const DimSet& dims, bool in_order) {
  const IntArrayRef sizes = self.sizes(), strides = self.strides();
  int64_t out_stride = 1;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (!dims[d]) out_stride *= sizes[d];
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (dims[d]) {
      reduced.push({sizes[d], strides[d], 0});
    } else {
      if (sizes[d] != 0) out_stride /= sizes[d];
      kept.push({sizes[d], strides[d], out_stride});
    }
  }
  kept.sortByStride();
  if (!in_order) reduced.sortByStride();
  kept.join();
  reduced.join();
}

Cursor::Cursor(const Axis* axes, int64_t count, int64_t start) : axes_(axes), count_(count) {
  for (int64_t i = count; i-- > 0;) {
    index_[i] = start % axes[i].size;
    start /= axes[i].size;
    offset_ += index_[i] * axes[i].stride;
    out_offset_ += index_[i] * axes[i].out_stride;
  }
}

void Cursor::advance(int64_t n) {
  for (int64_t i = count_; i-- > 0; n = 1) {
    index_[i] += n;
    offset_ += n * axes_[i].stride;
    out_offset_ += n * axes_[i].out_stride;
    if (index_[i] < axes_[i].size) return;
    offset_ -= axes_[i].size * axes_[i].stride;
    out_offset_ -= axes_[i].size * axes_[i].out_stride;
    index_[i] = 0;
  }
}

}  // namespace shunt::reduce
