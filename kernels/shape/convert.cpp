// contiguous, clone and the conversions between dtypes, devices and memory formats.
#include "generated/native_functions.h"
#include "kernels/common/copy.h"
#include "kernels/common/factory_util.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>
#include <shunt/tensor/device_guard.h>

namespace shunt::native {

namespace {

// An index is only told apart where a device type has several devices.
bool sameDevice(Device wanted, Device device) {
  if (wanted == device) return true;
  if (wanted.type() != device.type()) return false;
  if (device.is_cpu() || device.is_meta()) return true;
  wanted = ensure_has_index(wanted);
  return wanted == device || (!wanted.has_index() && device.index() == 0);  // no guard tells the current one: the first
}

bool isPreserve(std::optional<MemoryFormat> format) {
  return format.value_or(MemoryFormat::Preserve) == MemoryFormat::Preserve;
}

struct Target {
  std::optional<ScalarType> dtype;
  std::optional<Layout> layout;
  std::optional<Device> device;
  std::optional<bool> pin_memory;
};

Tensor convert(const char* op, const Tensor& self, const Target& to, bool non_blocking, bool copy,
               std::optional<MemoryFormat> format) {
  const TensorImpl& from = implOf(self, op);
  const bool same = (!to.dtype || *to.dtype == from.dtype()) && (!to.device || sameDevice(*to.device, from.device())) &&
                    to.layout.value_or(from.layout()) == from.layout() && !to.pin_memory.value_or(false);
  if (same && !copy && (isPreserve(format) || self.suggest_memory_format() == *format)) return self;
  return shunt::_to_copy(self, to.dtype, to.layout, to.device, to.pin_memory, non_blocking, format);
}

}  // namespace

Tensor contiguous(const Tensor& self, MemoryFormat memory_format) {
  const TensorImpl& impl = implOf(self, "contiguous");
  if (impl.is_contiguous(memory_format)) return self;
  SHUNT_CHECK(memory_format != MemoryFormat::Preserve,
              "preserve memory format is unsupported by the contiguous operator");
  return self.clone(memory_format);
}

Tensor clone(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  implOf(self, "clone");
  Tensor result = native::empty_like(self, std::nullopt, std::nullopt, std::nullopt, std::nullopt, memory_format);
  copyBelowAutograd(result, self);
  return result;
}

Tensor _to_copy(const Tensor& self, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                std::optional<Device> device, std::optional<bool> pin_memory, bool,
                std::optional<MemoryFormat> memory_format) {
  implOf(self, "_to_copy");
  const Tensor result = native::empty_like(self, dtype, layout, device, pin_memory, memory_format);
  copyBelowAutograd(result, self);
  return result;
}

Tensor to_dtype_layout(const Tensor& self, std::optional<ScalarType> dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin_memory, bool non_blocking, bool copy,
                       std::optional<MemoryFormat> memory_format) {
  return convert("to", self, {dtype, layout, device, pin_memory}, non_blocking, copy, memory_format);
}

Tensor to_device(const Tensor& self, Device device, ScalarType dtype, bool non_blocking, bool copy,
                 std::optional<MemoryFormat> memory_format) {
  return convert("to", self, {dtype, {}, device, {}}, non_blocking, copy, memory_format);
}

Tensor to_dtype(const Tensor& self, ScalarType dtype, bool non_blocking, bool copy,
                std::optional<MemoryFormat> memory_format) {
  return convert("to", self, {dtype, {}, {}, {}}, non_blocking, copy, memory_format);
}

Tensor to_other(const Tensor& self, const Tensor& other, bool non_blocking, bool copy,
                std::optional<MemoryFormat> memory_format) {
  const TensorImpl& like = implOf(other, "to", "other");
  return convert("to", self, {like.dtype(), like.layout(), like.device(), {}}, non_blocking, copy, memory_format);
}

Tensor type_as(const Tensor& self, const Tensor& other) {
  const TensorImpl& like = implOf(other, "type_as", "other");
  return convert("type_as", self, {like.dtype(), like.layout(), like.device(), {}}, false, false, std::nullopt);
}

}  // namespace shunt::native
