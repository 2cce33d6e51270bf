// The plan's output: its layout, its allocation or resizing, and the iteration over all operands.
#include "kernels/pointwise/plan.h"

#include <shunt/core/log.h>

namespace shunt::elementwise {
namespace {

/// Whether the dimensions lie in the given order, last one fastest; those of size 1 may lie anywhere.
bool isDenseIn(std::initializer_list<int> order, IntArrayRef sizes, IntArrayRef strides) {
  int64_t step = 1;
  for (const int* d = order.end(); d-- != order.begin();) {
    if (sizes[*d] != 1 && strides[*d] != step) return false;
    step *= sizes[*d];
  }
  return true;
}

bool isRowMajor(IntArrayRef sizes, IntArrayRef strides) {
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

}  // namespace

/// Strides of a new output, in elements; false means contiguous. Inputs of one shape that share a dense layout hand it
/// on; otherwise the output is dense in the order of dimensions that was found.
bool Plan::layoutOfInputs(int64_t* strides) const {
  if (request_.op.contiguous_output) return false;
  bool contiguous = same_shapes_, channels_last = same_shapes_, equal = same_shapes_;
  int first = -1;
  for (int i = 0; i < request_.op.num_inputs; ++i) {
    const TensorImpl* t = request_.inputs[i].tensor;
    if (t == nullptr) continue;
    const bool copied = copied_[i];
    contiguous = contiguous && (copied ? isRowMajor(t->sizes(), layoutOf(i)) : t->is_contiguous());
    channels_last = channels_last && (copied ? t->dim() == 4 && isDenseIn({0, 2, 3, 1}, t->sizes(), layoutOf(i))
                                             : t->is_contiguous(MemoryFormat::ChannelsLast));
    equal = equal && (copied || t->is_non_overlapping_and_dense()) && (first < 0 || layoutOf(first) == layoutOf(i));
    if (first < 0) first = i;
  }
  if (contiguous) return false;
  if (channels_last) {
    const int64_t channels = shape_[1], row = channels * shape_[3];
    const int64_t values[] = {row * shape_[2], 1, row, channels};
    std::copy_n(values, 4, strides);
    return true;
  }
  if (equal && first >= 0) {
    std::copy_n(layoutOf(first).data(), ndim_, strides);
    return true;
  }
  bool inverted = true;
  for (int d = 0; d < ndim_; ++d) inverted &= perm_[d] == ndim_ - 1 - d;
  if (inverted) return false;
  int64_t step = 1;
  for (int d = 0; d < ndim_; ++d) {
    strides[perm_[d]] = step;
    step *= shape_[perm_[d]];
  }
  return true;
}

void Plan::makeOutput() {
  if (outputGiven() && !will_resize_) return;
  int64_t strides[kMaxDims];
  const IntArrayRef layout = layoutOfInputs(strides) ? IntArrayRef(strides, static_cast<size_t>(ndim_)) : IntArrayRef();
  if (outputGiven())
    resizeOutput(layout);
  else
    out_ = Tensor(::shunt::detail::makeTensor(shape(), layout, result_, device_));
  setStrides(0, out_.sizes(), out_.strides(), out_.itemsize());
}

void Plan::resizeOutput(IntArrayRef strides) {
  TensorImpl& out = *out_.unsafeGetTensorImpl();
  if (out.numel() != 0) {
    ::shunt::detail::logWarning(::shunt::detail::str(
        request_.name, "(): an output with one or more elements was resized from shape ", out.sizes(), " to ", shape(),
        ", which does not match. Reuse it by resizing it to 0 elements first: out.resize_(0)."));
  }
  const int64_t bytes = ::shunt::detail::storageBytes(request_.name, shape(), strides, out.itemsize());
  const int64_t needed = out.storage_offset() * out.itemsize() + bytes;
  if (bytes > 0 && needed > static_cast<int64_t>(out.storage()->nbytes()))
    out.storage()->resize(static_cast<size_t>(needed));
  if (!strides.empty()) return out.set_sizes_and_strides(shape(), strides, out.storage_offset());
  int64_t contiguous[kMaxDims];
  int64_t step = 1;
  for (int d = ndim_ - 1; d >= 0; --d) {
    contiguous[d] = step;
    step *= std::max<int64_t>(shape_[d], 1);
  }
  out.set_sizes_and_strides(shape(), {contiguous, static_cast<size_t>(ndim_)}, out.storage_offset());
}

void Plan::buildIteration() {
  Iteration& it = iteration_;
  const int operands = numOperands();
  it.num_operands = operands;
  it.numel = 1;
  for (int d = 0; d < ndim_; ++d) it.numel *= shape_[d];
  if (it.numel == 0 || device_.is_meta()) return;
  it.loop = loop_;
  it.scalars = scalars_;
  it.is_copy = request_.op.is_copy;
  for (int k = 0; k < operands; ++k) {
    const TensorImpl* t = k == 0 ? out_.unsafeGetTensorImpl() : request_.inputs[k - 1].tensor;
    it.data[k] = t != nullptr ? t->data() : numbers_[k - 1].bytes;
    it.dtypes[k] = dtypes_[k];
    it.loop_dtypes[k] = k == 0 ? result_ : request_.op.loopInput(k - 1, common_);
  }
  it.ndim = 0;
  for (int i = 0; i < ndim_; ++i) {
    const int d = perm_[i];
    if (shape_[d] == 1) continue;
    const int last = it.ndim - 1;
    bool merge = last >= 0;
    for (int k = 0; k < operands && merge; ++k) merge = it.strides[k][last] * it.shape[last] == strides_[k][d];
    if (merge) {
      it.shape[last] *= shape_[d];
      continue;
    }
    it.shape[it.ndim] = shape_[d];
    for (int k = 0; k < operands; ++k) it.strides[k][it.ndim] = strides_[k][d];
    ++it.ndim;
  }
  if (it.ndim > 0) return;
  it.ndim = 1;
  it.shape[0] = 1;
  for (int k = 0; k < operands; ++k) it.strides[k][0] = elementSize(it.dtypes[k]);
}

}  // namespace shunt::elementwise
