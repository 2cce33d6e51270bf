#include "kernels/common/factory_util.h"

#include "generated/native_functions.h"
#include "kernels/common/overlap.h"
#include "kernels/common/view_util.h"

#include <shunt/core/annotate.h>
#include <shunt/core/tls.h>
#include <shunt/ops.h>

namespace shunt::native {

void checkOptions(const char* op, ScalarType dtype, std::optional<Layout> layout, std::optional<bool> pin_memory) {
  if (isComplexType(dtype))
    throw NotImplementedError(
        detail::str(op, "(): dtype ", dtype, " is not supported: there are no complex kernels here"));
  SHUNT_CHECK(isSupportedType(dtype), op, "(): dtype ", dtype, " is not supported");
  SHUNT_CHECK(layout.value_or(kStrided) == kStrided, op, "(): layout ", *layout,
              " is not supported: only Strided tensors exist here");
  SHUNT_CHECK(!pin_memory.value_or(false), op,
              "(): pin_memory=true needs an accelerator: Cannot access accelerator device when none is available.");
}

int64_t checkedSizes(const char* op, IntArrayRef sizes, ScalarType dtype) {
  const int64_t numel = detail::checkedNumel(op, sizes);
  int64_t bytes = 0;
  SHUNT_CHECK(!__builtin_mul_overflow(numel, elementSize(dtype), &bytes), op,
              "(): Storage size calculation overflowed with sizes=", sizes, " and dtype ", dtype);
  return numel;
}

void stridesFor(const char* op, MemoryFormat format, IntArrayRef sizes, int64_t* strides) {
  if (format == MemoryFormat::Contiguous) return contiguousStrides(sizes, strides);
  SHUNT_CHECK(format != MemoryFormat::Preserve, op, "(): unsupported memory format option ", format);
  const bool is_3d = format == MemoryFormat::ChannelsLast3d;
  const int64_t rank = is_3d ? 5 : 4;
  SHUNT_CHECK(static_cast<int64_t>(sizes.size()) == rank, op, "(): required rank ", rank,
              " tensor to use channels_last", is_3d ? "_3d" : "", " format");
  int64_t step = 1;
  strides[1] = step;
  step *= std::max<int64_t>(sizes[1], 1);
  for (int64_t i = rank - 1; i >= 0; --i) {
    if (i == 1) continue;
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
}

Tensor makeEmpty(const char* op, IntArrayRef sizes, ScalarType dtype, std::optional<Layout> layout,
                 std::optional<Device> device, std::optional<bool> pin_memory,
                 std::optional<MemoryFormat> memory_format) {
  const Device where = device.value_or(Device(kCPU));
  if (!where.is_cpu() && !where.is_meta()) [[unlikely]]
    return ops::empty_memory_format::call(sizes, dtype, layout, where, pin_memory, memory_format);
  checkOptions(op, dtype, layout, pin_memory);
  checkedSizes(op, sizes, dtype);
  SizesAndStrides dims;
  IntArrayRef strides;
  if (memory_format.value_or(MemoryFormat::Contiguous) != MemoryFormat::Contiguous) [[unlikely]] {
    dims.resize(sizes.size());
    stridesFor(op, *memory_format, sizes, dims.stridesData());
    strides = dims.strides();
  }
  return Tensor(where.is_cpu() ? detail::makeCpuTensor(sizes, strides, dtype)
                               : detail::makeTensor(sizes, strides, dtype, where));
}

Tensor makeEmptyStrided(const char* op, IntArrayRef sizes, IntArrayRef strides, ScalarType dtype,
                        std::optional<Layout> layout, std::optional<Device> device, std::optional<bool> pin_memory) {
  const Device where = device.value_or(Device(kCPU));
  if (!where.is_cpu() && !where.is_meta()) [[unlikely]]
    return ops::empty_strided::call(sizes, strides, dtype, layout, where, pin_memory);
  checkOptions(op, dtype, layout, pin_memory);
  SHUNT_CHECK(sizes.size() == strides.size(), op, "(): mismatch in length of strides and shape: size ", sizes,
              ", stride ", strides);
  for (int64_t s : strides) SHUNT_CHECK(s >= 0, op, "(): Negative strides are not supported, got strides ", strides);
  checkedSizes(op, sizes, dtype);
  detail::storageBytes(op, sizes, strides, elementSize(dtype));
  // No dimensions: empty strides would mean "contiguous", which is the same.
  return Tensor(where.is_cpu() ? detail::makeCpuTensor(sizes, strides, dtype)
                               : detail::makeTensor(sizes, strides, dtype, where));
}

SHUNT_ANNOTATE("runtime")
void resizeOutput(const Tensor& out, IntArrayRef sizes, MemoryFormat format) {
  if (out.sizes() == sizes) return;
  AutoDispatchBelowAutograd guard;
  Tensor handle = out;
  handle.resize_(sizes, format);
}

void resizeOutputApart(const char* op, const Tensor& out, IntArrayRef sizes,
                       std::initializer_list<const Tensor*> read) {
  if (out.sizes() == sizes) return;
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  for (const Tensor* t : read)
    elementwise::assertGrowsApart(op, *out.unsafeGetTensorImpl(), numel, *t->unsafeGetTensorImpl());
  resizeOutput(out, sizes);
}

}  // namespace shunt::native
