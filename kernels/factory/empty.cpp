// empty and its relatives: tensors whose contents are not set.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>

namespace shunt::native {

Tensor empty_cpu(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout> layout, std::optional<Device>,
                 std::optional<bool> pin_memory, std::optional<MemoryFormat> memory_format) {
  return makeEmpty("empty", size, dtype ? *dtype : get_default_dtype(), layout, Device(kCPU), pin_memory,
                   memory_format);
}

Tensor empty_meta(IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                  std::optional<Device>, std::optional<bool> pin_memory, std::optional<MemoryFormat> memory_format) {
  return makeEmpty("empty", size, dtype ? *dtype : get_default_dtype(), layout, Device(kMeta), pin_memory,
                   memory_format);
}

Tensor& empty_out(IntArrayRef size, std::optional<MemoryFormat> memory_format, Tensor& out) {
  SHUNT_CHECK(!memory_format, "'memory_format' argument is incompatible with 'out' tensor argument");
  detail::checkedNumel("empty", size);
  resizeOutput(out, size);
  return out;
}

Tensor empty_strided_cpu(IntArrayRef size, IntArrayRef stride, std::optional<ScalarType> dtype,
                         std::optional<Layout> layout, std::optional<Device>, std::optional<bool> pin_memory) {
  return makeEmptyStrided("empty_strided", size, stride, dtype ? *dtype : get_default_dtype(), layout, Device(kCPU),
                          pin_memory);
}

Tensor empty_strided_meta(IntArrayRef size, IntArrayRef stride, std::optional<ScalarType> dtype,
                          std::optional<Layout> layout, std::optional<Device>, std::optional<bool> pin_memory) {
  return makeEmptyStrided("empty_strided", size, stride, dtype ? *dtype : get_default_dtype(), layout, Device(kMeta),
                          pin_memory);
}

namespace {

/// Dimensions of one element count too: their strides are kept, and have a say in the layout of what is computed later.
bool hasRowMajorStrides(const TensorImpl& t) {
  if (t.numel() == 0) return true;
  int64_t step = 1;
  for (size_t d = t.sizes().size(); d-- > 0; step *= t.sizes()[d])
    if (t.strides()[d] != step) return false;
  return true;
}

}  // namespace

Tensor empty_like(const Tensor& self, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                  std::optional<Device> device, std::optional<bool> pin_memory,
                  std::optional<MemoryFormat> memory_format) {
  const TensorImpl& like = implOf(self, "empty_like");
  // What most callers ask for, without checks: sizes and dtype are a tensor's already. They were a third of the call.
  if (!dtype && !layout && !device && !pin_memory && !memory_format && like.device().is_cpu() && like.is_contiguous() &&
      hasRowMajorStrides(like))
    return Tensor(detail::makeCpuTensor(like.sizes(), {}, like.dtype()));
  const ScalarType type = dtype.value_or(like.dtype());
  const Device where = device.value_or(like.device());
  if (memory_format.value_or(MemoryFormat::Preserve) != MemoryFormat::Preserve)
    return makeEmpty("empty_like", like.sizes(), type, layout, where, pin_memory, memory_format);
  if (like.is_contiguous() && hasRowMajorStrides(like))
    return makeEmpty("empty_like", like.sizes(), type, layout, where, pin_memory);
  SizesAndStrides dims = dimsOf(like);
  if (!like.is_non_overlapping_and_dense()) denseStridesLike(like.sizes(), like.strides(), dims.stridesData());
  return makeEmptyStrided("empty_like", dims.sizes(), dims.strides(), type, layout, where, pin_memory);
}

Tensor new_empty(const Tensor& self, IntArrayRef size, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                 std::optional<Device> device, std::optional<bool> pin_memory) {
  const TensorImpl& like = implOf(self, "new_empty");
  return makeEmpty("new_empty", size, dtype.value_or(like.dtype()), layout, device.value_or(like.device()), pin_memory);
}

Tensor new_empty_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<ScalarType> dtype,
                         std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  const TensorImpl& like = implOf(self, "new_empty_strided");
  return makeEmptyStrided("new_empty_strided", size, stride, dtype.value_or(like.dtype()), layout,
                          device.value_or(like.device()), pin_memory);
}

}  // namespace shunt::native
