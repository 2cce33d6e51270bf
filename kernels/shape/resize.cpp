// resize_ and resize_as_: new sizes in place; the storage grows when it must and never shrinks.
#include "generated/native_functions.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/view_util.h"

#include <shunt/core/tls.h>

namespace shunt::native {

Tensor& resize_(Tensor& self, IntArrayRef size, std::optional<MemoryFormat> memory_format) {
  implOf(self, "resize_");
  TensorImpl& impl = *self.unsafeGetTensorImpl();
  SHUNT_CHECK(!impl.requires_grad(), "cannot resize variables that require grad");
  SHUNT_CHECK(memory_format != MemoryFormat::Preserve, "Unsupported memory format Preserve");
  if (!memory_format && impl.sizes() == size) return self;
  checkedSizes("resize_", size, impl.dtype());
  SizesAndStrides dims;
  dims.resize(size.size());
  std::copy(size.begin(), size.end(), dims.sizesData());
  stridesFor("resize_", memory_format.value_or(MemoryFormat::Contiguous), dims.sizes(), dims.stridesData());
  const int64_t bytes = detail::storageBytes("resize_", dims.sizes(), dims.strides(), impl.itemsize());
  int64_t needed = 0;
  SHUNT_CHECK(!__builtin_mul_overflow(impl.storage_offset(), impl.itemsize(), &needed) &&
                  !__builtin_add_overflow(needed, bytes, &needed),
              "resize_(): Storage size calculation overflowed with sizes=", size);
  if (bytes > 0 && needed > static_cast<int64_t>(impl.storage()->nbytes()))
    impl.storage()->resize(static_cast<size_t>(needed));
  impl.set_sizes_and_strides(dims.sizes(), dims.strides(), impl.storage_offset());
  return self;
}

Tensor& resize_as_(Tensor& self, const Tensor& the_template, std::optional<MemoryFormat> memory_format) {
  implOf(self, "resize_as_");
  const TensorImpl& like = implOf(the_template, "resize_as_", "the_template");
  if (memory_format.value_or(MemoryFormat::Contiguous) == MemoryFormat::Preserve)
    memory_format = the_template.suggest_memory_format();
  AutoDispatchBelowAutograd guard;
  return self.resize_(like.sizes(), memory_format);
}

}  // namespace shunt::native
